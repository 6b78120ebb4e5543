/** Passkeys of portal accounts (`passkey`). */

import { PASSKEYS_PER_USER_MAX, type Passkey } from '../../../domain/user.ts';
import type { PasskeyStore } from '../../port/access.ts';
import type { Database } from '../../port/database.ts';
import { auditStatement } from '../audit.ts';
import { bytes, number, numberOrNull, readOne, type Table, table, text } from '../table.ts';

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
// Several registrations of a user may have begun before one of them ends.
const HAS_ROOM = 'SELECT 1 WHERE (SELECT count(*) FROM passkey WHERE user_id = @userId) < @max';
const USE = 'UPDATE passkey SET counter = @counter, used_at = @usedAt WHERE id = @id AND counter = @before';
const REMOVE = 'DELETE FROM passkey WHERE id = @id AND user_id = @userId';

export function passkeyStore(db: Database): PasskeyStore {
  return {
    add: async (passkey, audit) => {
      const hasRoom = {
        sql: HAS_ROOM,
        params: { userId: passkey.userId, max: PASSKEYS_PER_USER_MAX },
        expectChanges: 1,
      };
      await db.commit([hasRoom, PASSKEY.insert(passkey), auditStatement(audit)]);
    },
    find: async (credentialId) => readOne(PASSKEY, await db.get(FIND, { credentialId })),
    ofUser: async (userId) => (await db.all(OF_USER, { userId })).map(PASSKEY.read),
    use: async ({ id, counter: before }, counter, usedAt) =>
      void (await db.commit([{ sql: USE, params: { id, before, counter, usedAt }, expectChanges: 1 }])),
    remove: async ({ id, userId }, audit) =>
      void (await db.commit([{ sql: REMOVE, params: { id, userId }, expectChanges: 1 }, auditStatement(audit)])),
  };
}
