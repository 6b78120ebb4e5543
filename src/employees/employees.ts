/** Employees (contract §3.4): each change queues its event in the same transaction. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Caller, insufficientPermission } from '../access/gate.ts';
import type { IfMatch } from '../domain/acting.ts';
import type { Employee } from '../domain/employee.ts';
import { makeEvent, type NewEvent, OPERATOR_ONLY } from '../domain/event.ts';
import { type Clock, type Ids, isUuidV7 } from '../kernel/ids.ts';
import { Refusal, refuseField } from '../kernel/refusal.ts';
import { emailAddress, id, instant, isoInstant, plainText } from '../kernel/schemas.ts';
import { refusingDuplicates } from '../resources/administration.ts';
import { refuseOtherTag, versionTags } from '../resources/entity-tag.ts';
import { inputReader } from '../resources/input.ts';
import { retryStale } from '../store/port/errors.ts';
import type { Beside, Filter } from '../store/port/resource.ts';
import type { Store } from '../store/port/store.ts';

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
  .meta({ id: 'EmployeeInput', description: 'An employee as the HR system sends it.' });
type EmployeeInput = z.output<typeof employeeInput>;

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
export const employeeReader = inputReader(employeeInput, employeeView);

export type Employees = {
  create(input: EmployeeInput, caller: Caller, beside?: Beside<Employee>): Promise<Employee>;
  /**
   * Throws 404 for an unknown employee, and 401 `insufficient_permission` if the caller's divisions exclude it, or if it has any and there
   * is none.
   */
  get(userId: string, caller: Caller): Promise<Employee>;
  list(
    page: { division: string | undefined; after: string; limit: number; filter?: Filter },
    caller: Caller,
  ): Promise<Employee[]>;
  /**
   * Replaces the employee with the result of `next`, which gets the present one. `next` may be called again if the employee changes in
   * between. Throws 404 and 401 as `get`, and 412 if the employee has none of the tags in `ifMatch`; `next` is called only after these.
   */
  change(
    userId: string,
    next: (before: EmployeeInput) => EmployeeInput,
    caller: Caller,
    ifMatch?: IfMatch,
  ): Promise<Employee>;
};

type Dependencies = {
  readonly store: Pick<Store, 'employees'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly wake: () => void;
};

const EMPLOYEE = {
  name: 'employee',
  unique: { 'employee.user_name': 'userName', 'employee.external_id': 'externalId' },
};

export function createEmployees({ store, clock, ids, wake }: Dependencies): Employees {
  const eventFor = (type: string, employee: Employee, caller: Caller): NewEvent =>
    makeEvent(
      { type, audience: OPERATOR_ONLY, data: viewEmployee(employee), actorId: caller.userId },
      { ids, now: employee.updatedAt },
    );

  const get = async (userId: string, caller: Caller): Promise<Employee> => {
    const employee = isUuidV7(userId) ? await store.employees.get(userId) : null;
    // The same for a caller with limited divisions, so that the answer does not reveal whether others exist.
    if (employee === null) refuseDivision(null, caller);
    if (employee === null) throw new Refusal('not_found', `there is no employee ${userId.slice(0, 64)}`);
    refuseDivision(employee.division, caller);
    return employee;
  };

  /** For a caller with limited divisions, employees of other divisions do not exist. */
  const refuseUnknownManager = async (
    managerId: string | null,
    { constraints: { divisions } }: Caller,
  ): Promise<void> => {
    if (managerId === null) return;
    const manager = isUuidV7(managerId) ? await store.employees.get(managerId) : null;
    if (manager !== null && (divisions === undefined || divisions.includes(manager.division))) return;
    throw refuseField('managerId', 'is not the userId of an employee');
  };

  const change: Employees['change'] = (userId, next, caller, ifMatch) =>
    retryStale(async () => {
      const before = await get(userId, caller);
      refuseOtherTag(ifMatch, employeeTag(before), 'employee');
      const input = next(writable(before));
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
    change,
    create: async (input, caller, beside = () => []) => {
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

const tagOf = versionTags(employeeView.shape);

/** The entity tag: each change of an employee makes its `updatedAt` larger. */
export function employeeTag({ userId, updatedAt }: Employee): string {
  return tagOf(userId, updatedAt);
}

function writable({ userId, createdAt, updatedAt, ...employee }: Employee): EmployeeInput {
  return employee;
}

/** Null: the division of nobody. */
function refuseDivision(division: string | null, { constraints, userName }: Caller): void {
  const { divisions } = constraints;
  if (divisions !== undefined && (division === null || !divisions.includes(division))) {
    throw insufficientPermission(`the user ${userName} is constrained to other divisions`);
  }
}
