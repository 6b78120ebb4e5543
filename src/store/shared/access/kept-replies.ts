/** Replies to requests with an Idempotency-Key (`kept_reply`, contract §4.3). They are sealed, because some contain a secret. */

import type { Vault } from '../../../kernel/vault.ts';
import type { Database, Row, Statement } from '../../port/database.ts';
import type { KeptReply, KeptReplyStore, ReplyKey } from '../../port/kept-replies.ts';

const FIND = `
  SELECT application_id, key, reply FROM kept_reply
  WHERE application_id = @applicationId AND key = @key AND expires_at > @now`;
const FORGET_EXPIRED =
  'DELETE FROM kept_reply WHERE application_id = @applicationId AND key = @key AND expires_at <= @now';
const INSERT =
  'INSERT INTO kept_reply (application_id, key, reply, expires_at) VALUES (@applicationId, @key, @reply, @expiresAt)';
const ALL = 'SELECT application_id, key, reply FROM kept_reply';
const RESEAL = 'UPDATE kept_reply SET reply = @reply WHERE application_id = @applicationId AND key = @key';

export function keptReplyStore(db: Database, vault: Vault): KeptReplyStore {
  return {
    find: async (owner, now) => {
      const readSinceMs = performance.now();
      const row = await db.get(FIND, { ...owner, now });
      if (row === undefined) return null;
      await db.confirm(readSinceMs);
      return JSON.parse(unseal(row, vault)) as KeptReply;
    },
    keep: (owner, reply, { now, expiresAt }) => [
      { sql: FORGET_EXPIRED, params: { ...owner, now } },
      { sql: INSERT, params: { ...owner, reply: vault.seal(JSON.stringify(reply), placeOf(owner)), expiresAt } },
    ],
  };
}

/** The statements that seal every reply with another master key. */
export async function resealReplies(db: Database, from: Vault, to: Vault): Promise<Statement[]> {
  return (await db.all(ALL, {})).map((row) => {
    const owner = ownerOf(row);
    const reply = to.seal(unseal(row, from), placeOf(owner));
    return { sql: RESEAL, params: { ...owner, reply }, expectChanges: 1 };
  });
}

function ownerOf(row: Row): ReplyKey {
  return { applicationId: String(row.application_id), key: String(row.key) };
}

function unseal(row: Row, vault: Vault): string {
  return vault.unseal(row.reply as Uint8Array, placeOf(ownerOf(row)));
}

function placeOf({ applicationId, key }: ReplyKey): string {
  return `kept_reply.reply:${applicationId}:${key}`;
}
