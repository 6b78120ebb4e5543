/**
 * Erasure on PostgreSQL. An erased value stays in the old version of its row until VACUUM, which `forgetCopies` runs: the erasure counts as
 * finished after it. VACUUM frees the space of old versions but does not overwrite it, and keeps versions that a transaction older than the
 * erasure may still read. The write-ahead log, replicas and backups have their own life.
 */
import type { Statement } from '../port/database.ts';
import type { ErasureStore } from '../port/events.ts';
import { erasureStore as sharedErasureStore } from '../shared/erasure.ts';
import type { PostgresDatabase } from './driver/postgres.ts';
import { lockLog } from './instances.ts';

// An attempt may be written at the same time as its event is erased. Neither transaction would see the rows of the other, and the response,
// which may repeat the data, would stay. So a step waits for the attempts that are being written, and later ones wait for the step.
const LOCK_ATTEMPTS: Statement = { sql: 'LOCK TABLE attempt IN SHARE ROW EXCLUSIVE MODE', params: {} };
// A settlement that began before the events were erased writes the row of a waiting batch with its key. This lock is the only one of its
// transaction, because a settlement locks the batches first and the attempts last.
const AWAIT_SETTLEMENTS: Statement = { sql: 'LOCK TABLE batch IN SHARE MODE', params: {} };

export function erasureStore(db: PostgresDatabase): ErasureStore {
  return sharedErasureStore(db, {
    first: [LOCK_ATTEMPTS],
    barrier: [AWAIT_SETTLEMENTS],
    lockLog,
    last: async () => [],
    forgetCopies: db.forgetOverwritten,
  });
}
