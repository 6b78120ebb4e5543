/** One-time links by which users set their passwords (`invitation`). */
import type { InvitationStore } from '../../access.ts';
import { auditStatement } from '../audit.ts';
import type { Database } from '../driver/database.ts';
import { readOne } from '../resource.ts';
import { endSessions } from './sessions.ts';
import { USER } from './users.ts';

// Of an active user only: one that is switched off meanwhile leaves nothing behind that could be used later.
const PUT = `
  INSERT INTO invitation (user_id, token_hash, created_at, expires_at, used_at)
  SELECT id, @tokenHash, @createdAt, @expiresAt, NULL FROM user_account
  WHERE id = @userId AND active = 1 AND updated_at = @userUpdatedAt
  ON CONFLICT (user_id) DO UPDATE SET token_hash = excluded.token_hash, created_at = excluded.created_at,
    expires_at = excluded.expires_at, used_at = NULL`;
const USABLE = 'token_hash = @tokenHash AND used_at IS NULL AND expires_at > @now';
const FIND = `
  SELECT ${USER.columns('u')} FROM invitation AS i JOIN user_account AS u ON u.id = i.user_id
  WHERE i.user_id = (SELECT user_id FROM invitation WHERE ${USABLE}) AND u.active = 1`;
const USE = `UPDATE invitation SET used_at = @now WHERE ${USABLE} AND user_id = @userId`;
const SET_PASSWORD = `
  UPDATE user_account SET password_hash = @passwordHash, updated_at = @updatedAt
  WHERE id = @userId AND updated_at = @before AND active = 1`;

export function invitationStore(db: Database): InvitationStore {
  return {
    put: async (invitation, { updatedAt: userUpdatedAt }, audit, first = []) =>
      void (await db.commit([
        ...first,
        { sql: PUT, params: { ...invitation, userUpdatedAt }, expectChanges: 1 },
        auditStatement(audit),
      ])),
    find: async (tokenHash, now) => readOne(USER, await db.get(FIND, { tokenHash, now })),
    use: async ({ tokenHash, now }, { before, passwordHash, updatedAt }, audit) => {
      const userId = before.id;
      await db.commit([
        { sql: USE, params: { tokenHash, now, userId }, expectChanges: 1 },
        {
          sql: SET_PASSWORD,
          params: { userId, passwordHash, updatedAt, before: before.updatedAt },
          expectChanges: 1,
        },
        endSessions(userId),
        auditStatement(audit),
      ]);
    },
  };
}
