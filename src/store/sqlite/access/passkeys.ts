/** Passkeys of portal accounts (`passkey`). */
import type { Passkey } from '../../../access/passkey.ts';
import type { AuditEntry } from '../../../resources/audit.ts';
import { auditStatement } from '../audit.ts';
import type { Database } from '../driver/database.ts';
import { bytes, number, numberOrNull, type Table, table, text } from '../driver/table.ts';
import { readOne } from '../resource.ts';

const PASSKEY: Table<Passkey> = table<Passkey>('passkey', 'id', {
  id: text,
  userId: text,
  credentialId: bytes,
  publicKey: bytes,
  host: text,
  name: text,
  counter: number,
  createdAt: number,
  usedAt: numberOrNull,
});

const FIND = `SELECT ${PASSKEY.columns()} FROM passkey WHERE credential_id = @credentialId`;
const OF_USER = `SELECT ${PASSKEY.columns()} FROM passkey WHERE user_id = @userId ORDER BY id`;
const USE = 'UPDATE passkey SET counter = @counter, used_at = @usedAt WHERE id = @id AND counter = @before';
const REMOVE = 'DELETE FROM passkey WHERE id = @id AND user_id = @userId';

export type PasskeyStore = {
  add(passkey: Passkey, audit: AuditEntry): Promise<void>;
  find(credentialId: Uint8Array): Promise<Passkey | null>;
  ofUser(userId: string): Promise<Passkey[]>;
  /** Notes a signature. Throws `StaleWrite` where another one was noted since `before` was read. */
  use(before: Passkey, counter: number, usedAt: number): Promise<void>;
  /** Throws `StaleWrite` where it is gone. */
  remove(passkey: Pick<Passkey, 'id' | 'userId'>, audit: AuditEntry): Promise<void>;
};

export function passkeyStore(db: Database): PasskeyStore {
  return {
    add: async (passkey, audit) => void (await db.commit([PASSKEY.insert(passkey), auditStatement(audit)])),
    find: async (credentialId) => readOne(PASSKEY, await db.get(FIND, { credentialId })),
    ofUser: async (userId) => (await db.all(OF_USER, { userId })).map(PASSKEY.read),
    use: async ({ id, counter: before }, counter, usedAt) =>
      void (await db.commit([{ sql: USE, params: { id, before, counter, usedAt }, expectChanges: 1 }])),
    remove: async ({ id, userId }, audit) =>
      void (await db.commit([{ sql: REMOVE, params: { id, userId }, expectChanges: 1 }, auditStatement(audit)])),
  };
}
