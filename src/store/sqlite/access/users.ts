/** Portal accounts (`user_account`). */

import {
  type Constraints,
  GIVING_RIGHTS,
  type LostAdministration,
  lostAdministration,
  type Role,
  type User,
} from '../../../access/user.ts';
import { userNameKey } from '../../../access/user-name-key.ts';
import type { Ids } from '../../../kernel/ids.ts';
import type { UserStore } from '../../access.ts';
import type { ListColumns } from '../delivery/conditions.ts';
import type { Database, Statement } from '../driver/database.ts';
import { flag, json, number, oneOf, type Table, table, text, textOrNull } from '../driver/table.ts';
import { readOne, resourceStore } from '../resource.ts';
import { endTokensOfUser } from './applications.ts';
import { endSessions } from './sessions.ts';

const CODECS = {
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
} as const;
const ROW = table<User & { readonly userNameKey: string }>('user_account', 'id', { ...CODECS, userNameKey: text });
const withKey = (user: User): User & { readonly userNameKey: string } => ({
  ...user,
  userNameKey: userNameKey(user.userName),
});

/** Its key is written with the name, and never read. */
export const USER: Table<User> = {
  ...table<User>('user_account', 'id', CODECS),
  insert: (user) => ROW.insert(withKey(user)),
  update: (user) => ROW.update(withKey(user)),
};

const GET_BY_NAME = `SELECT ${USER.columns()} FROM user_account WHERE user_name_key = @key`;
const IS_EMPTY = 'SELECT NOT EXISTS (SELECT 1 FROM user_account) AS empty';

// Of permissions another administrator must have them; else the role is enough. One seek per administrator: there are few users.
const ANOTHER = `
  EXISTS (
    SELECT 1 FROM user_account AS other WHERE other.id <> @id AND other.active = 1 AND other.role = 'administrator'
    AND NOT EXISTS (
      SELECT 1 FROM json_each(@needed) AS needed WHERE needed.value NOT IN (SELECT value FROM json_each(other.permissions))))`;
const HAS_ANOTHER = `SELECT ${ANOTHER} AS found`;
// What was decided on may have changed since: two administrators may take the rights from each other at once.
const REQUIRE_ANOTHER = `UPDATE user_account SET updated_at = updated_at WHERE id = @id AND ${ANOTHER}`;
const REQUIRE_ANOTHER_OF_ADMINISTRATOR = `
  UPDATE user_account SET updated_at = updated_at
  WHERE id = @id AND (active = 0 OR role <> 'administrator' OR ${ANOTHER})`;

function anotherThan(id: string, lost: LostAdministration): { readonly id: string; readonly needed: string } {
  return { id, needed: JSON.stringify(lost === 'all' ? [] : GIVING_RIGHTS) };
}

// A user that is switched off takes its tokens, its invitation and its sessions along for good: switching it on again does not
// bring them back.
const END_INVITATION = 'DELETE FROM invitation WHERE user_id = @userId';

function requireAnother(user: User, before: User): Statement[] {
  const lost = lostAdministration(before, user);
  return lost === null ? [] : [{ sql: REQUIRE_ANOTHER, params: anotherThan(user.id, lost), expectChanges: 1 }];
}

// The unique index on user_name_key does not serve the first; users are thousands at most: filters and sorts go through them.
const LIST: ListColumns = {
  filters: {
    userName: 'user_name = @userName',
    role: 'role = @role',
    active: "active = (@active = 'true')",
  },
  sorts: { userName: 'user_name COLLATE NOCASE' },
};

export function userStore(db: Database, ids: Ids): UserStore {
  const switchOff = ({ id: userId, updatedAt }: User, before: User): Statement[] => [
    // Of one that was off already nothing can have been issued since.
    ...(before.active ? [endTokensOfUser(userId, ids.rowKey(), updatedAt)] : []),
    { sql: END_INVITATION, params: { userId } },
    endSessions(userId),
  ];
  return {
    ...resourceStore(db, 'user_account', USER, {
      list: LIST,
      onUpdate: (user, before) => [
        ...requireAnother(user, before),
        ...(user.active ? [] : switchOff(user, before)),
        // It was made for an account of the old role: whoever has the link may not take over one of a higher role.
        ...(user.role === before.role ? [] : [{ sql: END_INVITATION, params: { userId: user.id } }]),
      ],
      beforeRemove: (id) => [
        { sql: REQUIRE_ANOTHER_OF_ADMINISTRATOR, params: anotherThan(id, 'all'), expectChanges: 1 },
      ],
    }),
    hasOtherAdministrator: async (id, lost) => (await db.get(HAS_ANOTHER, anotherThan(id, lost)))?.found === 1,
    getByName: async (userName) => readOne(USER, await db.get(GET_BY_NAME, { key: userNameKey(userName) })),
    isEmpty: async () => (await db.get(IS_EMPTY, {}))?.empty === 1,
  };
}
