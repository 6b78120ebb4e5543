/** Portal accounts (`user_account`). */
import type { Ids } from '../ids.ts';
import { endTokensOfUser } from './applications.ts';
import type { Database, Statement } from './database.ts';
import { type ResourceStore, readOne, resourceStore } from './resource.ts';
import { endSessions } from './sessions.ts';
import { flag, json, number, oneOf, type Table, table, text, textOrNull } from './table.ts';

export type Role = 'administrator' | 'operator' | 'viewer' | 'service';
/** What a user is limited to; a name that is absent limits nothing. */
export type Constraints = { readonly divisions?: readonly string[] };

export type User = {
  readonly id: string;
  readonly userName: string;
  readonly displayName: string | null;
  readonly email: string | null;
  readonly active: boolean;
  readonly role: Role;
  readonly permissions: readonly string[];
  readonly constraints: Constraints;
  readonly passwordHash: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
};

export const USER: Table<User> = table<User>('user_account', 'id', {
  id: text,
  userName: text,
  displayName: textOrNull,
  email: textOrNull,
  active: flag,
  role: oneOf<Role>(),
  permissions: json<readonly string[]>(),
  constraints: json<Constraints>(),
  passwordHash: textOrNull,
  createdAt: number,
  updatedAt: number,
});

const GET_BY_NAME = `SELECT ${USER.columns()} FROM user_account WHERE user_name = @userName`;
const IS_EMPTY = 'SELECT NOT EXISTS (SELECT 1 FROM user_account) AS empty';

export type UserStore = ResourceStore<User> & {
  getByName(userName: string): Promise<User | null>;
  isEmpty(): Promise<boolean>;
};

// A user that is switched off takes its tokens, its invitation and its sessions along for good: switching it on again does not
// bring them back.
const END_INVITATION = 'DELETE FROM invitation WHERE user_id = @userId';

export function userStore(db: Database, ids: Ids): UserStore {
  const switchOff = ({ id: userId, updatedAt }: User, before: User): Statement[] => [
    // Of one that was off already nothing can have been issued since.
    ...(before.active ? [endTokensOfUser(userId, ids.rowKey(), updatedAt)] : []),
    { sql: END_INVITATION, params: { userId } },
    endSessions(userId),
  ];
  return {
    ...resourceStore(db, 'user_account', USER, {
      onUpdate: (user, before) => [
        ...(user.active ? [] : switchOff(user, before)),
        // It was made for an account of the old role: whoever has the link may not take over one of a higher role.
        ...(user.role === before.role ? [] : [{ sql: END_INVITATION, params: { userId: user.id } }]),
      ],
    }),
    getByName: async (userName) => readOne(USER, await db.get(GET_BY_NAME, { userName })),
    isEmpty: async () => (await db.get(IS_EMPTY, {}))?.empty === 1,
  };
}
