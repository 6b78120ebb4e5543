/** Portal accounts as resources, with the rights of their applications (contract §3.3, §4.2). */

import { z } from 'zod';
import { offeredScopes, PERMISSION_NAME } from '../domain/catalogue.ts';
import { PERMISSIONS_MAX, USER_NAME_MAX_LENGTH } from '../domain/limits.ts';
import { lostAdministration, type User } from '../domain/user.ts';
import { userNameProblem } from '../domain/user-name.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import { Refusal, refuseFields } from '../kernel/refusal.ts';
import {
  customerIdInput,
  customerIdView,
  displayName,
  distinct,
  emailAddress,
  id,
  instant,
  isoInstant,
  textSchema,
  word,
} from '../kernel/schemas.ts';
import { type Administration, administer } from '../resources/administration.ts';
import { type BodyOf, inputReader } from '../resources/input.ts';
import { CUSTOMER_FILTER, choiceFilter, type ListRules, TRUE_OR_FALSE, textFilter } from '../resources/list-rules.ts';
import type { AccessVerbs } from '../store/port/access.ts';
import type { CustomerVerbs } from '../store/port/customers.ts';
import type { Store } from '../store/port/store.ts';
import { isForOperatorAlone } from './built-in.ts';
import { requireRightsOfUser } from './containment.ts';

const permission: z.ZodType<string, string> = z
  .string()
  .regex(PERMISSION_NAME, 'must be 1 to 128 letters, digits or . _ : / -');
const role = z.enum(['administrator', 'operator', 'viewer', 'service']);
const constraints = z.strictObject({
  divisions: distinct(textSchema(1, 100), 1000).optional(),
});

const userInput = z
  .strictObject({
    customerId: customerIdInput,
    userName: word(USER_NAME_MAX_LENGTH)
      .superRefine((name, context) => {
        const problem = userNameProblem(name);
        if (problem !== null) context.addIssue({ code: 'custom', message: problem });
      })
      .meta({ description: 'Unique without regard to case. Letters of one script, and no invisible characters.' }),
    displayName: displayName.nullable().default(null),
    email: emailAddress.nullable().default(null),
    active: z.boolean().default(true),
    role: role.default('service'),
    permissions: distinct(permission, PERMISSIONS_MAX)
      .default([])
      .meta({ description: 'The permissions of its applications, whatever their scopes.' }),
    constraints: constraints.default({}).meta({ description: 'Limits to what the permissions reach; none: no limit.' }),
  })
  .meta({ id: 'UserInput', description: 'A portal account.' });
export type UserBody = BodyOf<typeof userInput>;
export type UserInput = z.output<typeof userInput>;

export const userView = z
  .object({
    id,
    customerId: customerIdView,
    userName: z.string(),
    displayName: z.string().nullable(),
    email: z.string().nullable(),
    active: z.boolean(),
    role,
    permissions: z.array(z.string()),
    constraints: z.object({ divisions: z.array(z.string()).optional() }),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'User', description: 'A portal account, and what its applications may do.' });
export type UserView = z.infer<typeof userView>;
export const userReader = inputReader(userInput, userView);

export const USER_LIST: ListRules = {
  name: 'users',
  filters: {
    customerId: CUSTOMER_FILTER,
    userName: textFilter('With this user name.'),
    role: choiceFilter(userView.shape.role.options, 'With this role.'),
    active: choiceFilter(TRUE_OR_FALSE, 'Active, or not.'),
  },
  sorts: { userName: 'text' },
};

export type Users = Administration<User, UserBody, UserInput>;

export function createUsers({
  store,
  clock,
  ids,
}: {
  store: AccessVerbs & CustomerVerbs & Pick<Store, 'customerId'>;
  clock: Clock;
  ids: Ids;
}): Users {
  return administer<User, UserBody, UserInput>(
    {
      name: 'user',
      store: store.users,
      owners: store,
      reader: userReader,
      writable: ({ id, createdAt, updatedAt, passwordHash, ...rest }) => rest,
      shown: viewUser,
      build: async (input, before, stamp) => {
        if (input.customerId !== null) refuseOperatorPermissions(input.permissions);
        const record = {
          ...stamp,
          ...input,
          constraints: definedOnly(input.constraints),
          permissions: input.permissions.toSorted(),
          passwordHash: before?.passwordHash ?? null,
        };
        return { record };
      },
      referrers: async ({ id }) =>
        (await store.applications.ofUser(id)).map(({ id, name }) => `application ${name} (${id})`),
      unique: { 'user_account.user_name_key': 'userName' },
      audited: (user) => user,
      contain: async (acting, before, after) => {
        const offered = offeredScopes(await store.products.all());
        for (const user of [before, after]) if (user !== null) requireRightsOfUser(acting, user, offered);
        if (before !== null) await refuseLastAdministrator(store, before, after);
      },
    },
    { clock, ids },
  );
}

export function viewUser({ passwordHash, createdAt, updatedAt, ...user }: User): UserView {
  const { divisions } = user.constraints;
  return {
    ...user,
    permissions: [...user.permissions],
    constraints: divisions === undefined ? {} : { divisions: [...divisions] },
    createdAt: isoInstant(createdAt),
    updatedAt: isoInstant(updatedAt),
  };
}

/** Throws 400 for permissions that reach further than one customer's resources (contract §8.4). */
function refuseOperatorPermissions(permissions: readonly string[]): void {
  const problems = [...permissions.entries()].flatMap(([at, name]) =>
    isForOperatorAlone(name)
      ? [{ field: `permissions[${at}]`, problem: `${JSON.stringify(name)} is only for users of the operator` }]
      : [],
  );
  if (problems.length > 0) throw refuseFields(problems);
}

/** Throws 409 if no active administrator would remain to give the rights back (contract §4.4). */
async function refuseLastAdministrator(
  store: AccessVerbs & CustomerVerbs & Pick<Store, 'customerId'>,
  before: User,
  after: User | null,
): Promise<void> {
  const lost = lostAdministration(before, after);
  if (lost === null || (await store.users.hasOtherAdministrator(before.id, lost))) return;
  const kept =
    lost === 'all'
      ? 'it stays, active and in this role'
      : 'it keeps the permissions users:manage, applications:manage and catalogue:manage';
  throw new Refusal('last_administrator', `${before.userName} is the last active administrator: ${kept}`);
}

function definedOnly({ divisions }: UserInput['constraints']): User['constraints'] {
  return divisions === undefined ? {} : { divisions };
}
