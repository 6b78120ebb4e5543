/** Portal accounts (`user_account`) and the links with which they set their passwords (`invitation`). */
import {
  type Constraints,
  GIVING_RIGHTS,
  type LostAdministration,
  lostAdministration,
  type Role,
  type User,
} from '../../../domain/user.ts';
import { userNameKey } from '../../../domain/user-name.ts';
import type { Ids } from '../../../kernel/ids.ts';
import type { InvitationStore, UserStore } from '../../port/access.ts';
import type { Database, Statement } from '../../port/database.ts';
import { auditStatement } from '../audit.ts';
import { type ListColumns, resourceStore } from '../resource.ts';
import {
  customer,
  flag,
  json,
  number,
  oneOf,
  readOne,
  requireActive,
  type Table,
  table,
  text,
  textOrNull,
} from '../table.ts';
import { endTokensOf } from './applications.ts';
import { endSessions, passwordStatements } from './sessions.ts';

const CODECS = {
  id: text,
  customerId: customer,
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

/** The key of the name is written with it and only used for searching. */
export const USER: Table<User> = {
  ...table<User>('user_account', 'id', CODECS),
  insert: (user) => ROW.insert(withKey(user)),
  update: (user) => ROW.update(withKey(user)),
};

const GET_BY_NAME = `SELECT ${USER.columns()} FROM user_account WHERE customer_id = @customerId AND user_name_key = @key`;
const IS_EMPTY = "SELECT NOT EXISTS (SELECT 1 FROM user_account WHERE customer_id = '') AS empty";

// If permissions are lost, another administrator must have them; otherwise the role is enough. There are few users.
const ANOTHER = `
  EXISTS (
    SELECT 1 FROM user_account AS other WHERE other.customer_id = '' AND other.id <> @id AND other.active AND other.role = 'administrator'
    AND NOT EXISTS (
      SELECT 1 FROM texts(@needed) AS needed
      WHERE needed.value NOT IN (SELECT had.value FROM texts(other.permissions) AS had)))`;
const HAS_ANOTHER = `SELECT ${ANOTHER} AS found`;
// Checked again in the transaction: two administrators may take the rights from each other at the same time.
const REQUIRE_ANOTHER = `UPDATE user_account SET updated_at = updated_at WHERE id = @id AND ${ANOTHER}`;
const REQUIRE_ANOTHER_OF_ADMINISTRATOR = `
  UPDATE user_account SET updated_at = updated_at
  WHERE id = @id AND (NOT active OR role <> 'administrator' OR customer_id <> '' OR ${ANOTHER})`;

function anotherThan(id: string, lost: LostAdministration): { readonly id: string; readonly needed: string } {
  return { id, needed: JSON.stringify(lost === 'all' ? [] : GIVING_RIGHTS) };
}

// Deactivating a user permanently ends its tokens, its invitation and its sessions.
const END_INVITATION = 'DELETE FROM invitation WHERE user_id = @userId';

function requireAnother(user: User, before: User): Statement[] {
  const lost = lostAdministration(before, user);
  return lost === null ? [] : [{ sql: REQUIRE_ANOTHER, params: anotherThan(user.id, lost), expectChanges: 1 }];
}

// There are thousands of users at most, so filters and sorts scan them.
const LIST: ListColumns = {
  filters: {
    customerId: 'customer_id = @customerId',
    userName: 'user_name = @userName',
    role: 'role = @role',
    active: "active = (@active = 'true')",
  },
  sorts: { userName: 'lower(user_name)' },
};

export function userStore(db: Database, ids: Ids): UserStore {
  const switchOff = ({ id: userId, updatedAt }: User, before: User): Statement[] => [
    // An inactive user cannot have received new tokens.
    ...(before.active ? endTokensOf('user', userId, { through: ids.rowKey(), now: updatedAt }) : []),
    { sql: END_INVITATION, params: { userId } },
    endSessions(userId),
  ];
  return {
    ...resourceStore(db, 'user_account', USER, {
      list: LIST,
      onUpdate: (user, before) => [
        ...requireAnother(user, before),
        ...(user.active ? [] : switchOff(user, before)),
        // The invitation was for the old role. Its holder must not take over an account with a higher one. Sessions are of the old role
        // too, and would count again if the user got it back.
        ...(user.role === before.role
          ? []
          : [{ sql: END_INVITATION, params: { userId: user.id } }, endSessions(user.id)]),
      ],
      beforeRemove: (id) => [
        { sql: REQUIRE_ANOTHER_OF_ADMINISTRATOR, params: anotherThan(id, 'all'), expectChanges: 1 },
      ],
    }),
    hasOtherAdministrator: async (id, lost) => (await db.get(HAS_ANOTHER, anotherThan(id, lost)))?.found === 1,
    getByName: async (customerId, userName) =>
      readOne(
        USER,
        await db.get(GET_BY_NAME, { customerId: customer.write(customerId, ''), key: userNameKey(userName) }),
      ),
    isEmpty: async () => (await db.get(IS_EMPTY, {}))?.empty === 1,
  };
}

// Only for an active user, so that a deactivated one keeps no usable link.
const PUT = `
  INSERT INTO invitation (user_id, token_hash, created_at, expires_at, used_at)
  SELECT id, @tokenHash, @createdAt, @expiresAt, NULL FROM user_account
  WHERE id = @userId AND active AND updated_at = @userUpdatedAt
  ON CONFLICT (user_id) DO UPDATE SET token_hash = excluded.token_hash, created_at = excluded.created_at,
    expires_at = excluded.expires_at, used_at = NULL`;
const USABLE = 'token_hash = @tokenHash AND used_at IS NULL AND expires_at > @now';
const FIND = `
  SELECT ${USER.columns('u')} FROM invitation AS i JOIN user_account AS u ON u.id = i.user_id JOIN customer AS c ON c.id = u.customer_id
  WHERE i.user_id = (SELECT user_id FROM invitation WHERE ${USABLE}) AND u.active AND c.active`;
const OWNER_OF = `
  SELECT u.customer_id FROM user_account AS u WHERE u.id = (SELECT user_id FROM invitation WHERE token_hash = @tokenHash)`;
// By the primary key, once for each user.
const EXPIRIES = `
  SELECT i.user_id, i.expires_at FROM texts(@userIds) AS wanted CROSS JOIN invitation AS i
  WHERE i.user_id = wanted.value AND i.used_at IS NULL`;
const USE = `UPDATE invitation SET used_at = @now WHERE ${USABLE} AND user_id = @userId`;

export function invitationStore(db: Database): InvitationStore {
  return {
    put: async (invitation, { customerId, updatedAt: userUpdatedAt }, audit, first = []) =>
      void (await db.commit([
        ...first,
        ...requireActive(customerId),
        { sql: PUT, params: { ...invitation, userUpdatedAt }, expectChanges: 1 },
        auditStatement(audit),
      ])),
    expiries: async (userIds) => {
      const rows = userIds.length === 0 ? [] : await db.all(EXPIRIES, { userIds: JSON.stringify(userIds) });
      return new Map(rows.map((row) => [String(row.user_id), Number(row.expires_at)]));
    },
    find: async (tokenHash, now) => readOne(USER, await db.get(FIND, { tokenHash, now })),
    ownerOf: async (tokenHash) => {
      const row = await db.get(OWNER_OF, { tokenHash });
      return row === undefined ? undefined : customer.read(row.customer_id ?? '', '');
    },
    use: async (invitation, change, audit) =>
      void (await db.commit([
        ...requireActive(change.before.customerId),
        { sql: USE, params: { ...invitation, userId: change.before.id }, expectChanges: 1 },
        ...passwordStatements(change),
        auditStatement(audit),
      ])),
  };
}
