/** The employees API (contract §3): a guarded API whose every change queues its event in the same transaction. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Caller, insufficientPermission } from '../access/gate.ts';
import { makeEvent, type NewEvent } from '../events/event.ts';
import { type Clock, type Ids, isUuidV7 } from '../kernel/ids.ts';
import { Refusal, refuseField } from '../kernel/refusal.ts';
import { emailAddress, id, instant, isoInstant, plainText } from '../kernel/schemas.ts';
import { validate, validatePatch } from '../kernel/validation.ts';
import { refusingDuplicates } from '../resources/administration.ts';
import { type IfMatch, refuseChanged } from '../resources/entity-tag.ts';
import { retryStale } from '../store/errors.ts';
import type { Beside, Filter } from '../store/resource.ts';
import type { Store } from '../store/store.ts';
import type { Employee } from './employee.ts';

const personName = plainText(200);
const reference = plainText(128);

export const employeeInput = z
  .strictObject({
    externalId: reference.nullable().default(null).meta({ description: 'An id of another system; unique.' }),
    userName: reference.meta({ description: 'Unique.' }),
    firstName: personName,
    lastName: personName,
    email: emailAddress,
    division: reference,
    managerId: reference
      .nullable()
      .default(null)
      .meta({ description: 'The `userId` of another employee, whom the caller may see.' }),
    hireDate: z.iso.date('must be a date, as 2026-11-21').nullable().default(null),
    active: z.boolean().default(true),
  })
  .meta({ id: 'EmployeeInput', description: 'An employee as the HR system tells it.' });
type EmployeeInput = z.infer<typeof employeeInput>;

export const employeeView = z
  .object({
    userId: id,
    externalId: z.string().nullable(),
    userName: z.string(),
    firstName: z.string(),
    lastName: z.string(),
    email: z.string(),
    division: z.string(),
    managerId: z.string().nullable(),
    hireDate: z.string().nullable(),
    active: z.boolean(),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Employee', description: 'An employee.' });
export type EmployeeView = z.infer<typeof employeeView>;

export type Employees = {
  create(body: unknown, caller: Caller, beside?: Beside<Employee>): Promise<Employee>;
  get(userId: string, caller: Caller): Promise<Employee>;
  list(
    page: { division: string | undefined; after: string; limit: number; filter?: Filter },
    caller: Caller,
  ): Promise<Employee[]>;
  /** `ifMatch`, here and below, is what the change was decided on: 412 once the employee has none of these tags. */
  replace(userId: string, body: unknown, caller: Caller, ifMatch?: IfMatch): Promise<Employee>;
  patch(userId: string, patch: unknown, caller: Caller, ifMatch?: IfMatch): Promise<Employee>;
};

type Dependencies = { readonly store: Store; readonly clock: Clock; readonly ids: Ids; readonly wake: () => void };

const RESERVED = Object.fromEntries(
  ['userId', 'createdAt', 'updatedAt'].map((field) => [field, 'is set by the service']),
);
const EMPLOYEE = {
  name: 'employee',
  unique: { 'employee.user_name': 'userName', 'employee.external_id': 'externalId' },
};

export function createEmployees({ store, clock, ids, wake }: Dependencies): Employees {
  const eventFor = (type: string, employee: Employee, caller: Caller): NewEvent =>
    makeEvent({ type, data: viewEmployee(employee), actorId: caller.userId }, { ids, now: employee.updatedAt });

  const get = async (userId: string, caller: Caller): Promise<Employee> => {
    const employee = isUuidV7(userId) ? await store.employees.get(userId) : null;
    if (employee === null) throw new Refusal('not_found', `there is no employee ${userId.slice(0, 64)}`);
    refuseDivision(employee.division, caller);
    return employee;
  };

  /** Whoever is limited to divisions is not told of employees elsewhere: they are unknown. */
  const refuseUnknownManager = async (
    managerId: string | null,
    { constraints: { divisions } }: Caller,
  ): Promise<void> => {
    if (managerId === null) return;
    const manager = isUuidV7(managerId) ? await store.employees.get(managerId) : null;
    if (manager !== null && (divisions === undefined || divisions.includes(manager.division))) return;
    throw refuseField('managerId', 'is not the userId of an employee');
  };

  const change = (
    userId: string,
    caller: Caller,
    ifMatch: IfMatch | undefined,
    next: (before: Employee) => EmployeeInput,
  ): Promise<Employee> =>
    retryStale(async () => {
      const before = await get(userId, caller);
      refuseChanged(ifMatch, viewEmployee(before), 'employee');
      const input = next(before);
      refuseDivision(input.division, caller);
      if (isDeepStrictEqual(input, writable(before))) return before;
      if (input.managerId !== before.managerId) await refuseUnknownManager(input.managerId, caller);
      const after = { ...before, ...input, updatedAt: Math.max(clock(), before.updatedAt + 1) };
      await refusingDuplicates(
        EMPLOYEE,
        after,
        store.employees.update(after, before, eventFor('employee.updated', after, caller)),
      );
      wake();
      return after;
    });

  return {
    get,
    create: async (body, caller, beside = () => []) => {
      const input = validate(employeeInput, body, RESERVED);
      refuseDivision(input.division, caller);
      return retryStale(async () => {
        await refuseUnknownManager(input.managerId, caller);
        const now = clock();
        const employee = { userId: ids.uuid(), ...input, createdAt: now, updatedAt: now };
        await refusingDuplicates(
          EMPLOYEE,
          employee,
          store.employees.insert(employee, eventFor('employee.created', employee, caller), beside(employee)),
        );
        wake();
        return employee;
      });
    },
    list: async ({ division, after, limit, filter = {} }, caller) => {
      if (division !== undefined) refuseDivision(division, caller);
      const divisions = division === undefined ? (caller.constraints.divisions ?? null) : [division];
      return store.employees.list({ divisions, after, limit, filter });
    },
    replace: (userId, body, caller, ifMatch) =>
      change(userId, caller, ifMatch, () => validate(employeeInput, body, RESERVED)),
    patch: (userId, patch, caller, ifMatch) =>
      change(userId, caller, ifMatch, (before) => validatePatch(employeeInput, writable(before), patch, RESERVED)),
  };
}

export function viewEmployee(employee: Employee): EmployeeView {
  const { userId, externalId, userName, firstName, lastName, email, division, managerId, hireDate, active } = employee;
  const createdAt = isoInstant(employee.createdAt);
  const updatedAt = isoInstant(employee.updatedAt);
  return {
    userId,
    externalId,
    userName,
    firstName,
    lastName,
    email,
    division,
    managerId,
    hireDate,
    active,
    createdAt,
    updatedAt,
  };
}

function writable({ userId, createdAt, updatedAt, ...employee }: Employee): EmployeeInput {
  return employee;
}

function refuseDivision(division: string, { constraints, userName }: Caller): void {
  if (constraints.divisions !== undefined && !constraints.divisions.includes(division)) {
    throw insufficientPermission(`the user ${userName} is constrained to other divisions`);
  }
}
