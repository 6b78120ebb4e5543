/** Erasure on SQLite: each step overwrites the copies of erased rows in the file, and the write-ahead log is emptied at the end. */
import type { ErasureStore } from '../port/events.ts';
import { ATTEMPT_COLUMNS, EVENT_COLUMNS, erasureStore as sharedErasureStore } from '../shared/erasure.ts';
import { overwriteLeftovers, type RowLayout } from './driver/leftovers.ts';
import type { SqliteDatabase } from './driver/sqlite.ts';
import { lockNothing } from './retention.ts';

const ATTEMPT: RowLayout = { table: 'attempt', columns: ATTEMPT_COLUMNS.split(/,\s+/) };
const EVENT: RowLayout = { table: 'event', columns: EVENT_COLUMNS.split(', ') };

export function erasureStore(db: SqliteDatabase): ErasureStore {
  return sharedErasureStore(db, {
    first: [],
    // One write at a time.
    barrier: [],
    lockLog: lockNothing,
    last: async ({ events, attempts, at }) => [
      ...(await overwriteLeftovers(db, EVENT, events, {
        data: null,
        content_hash: null,
        ordering_key: null,
        erased_at: at,
      })),
      ...(await overwriteLeftovers(db, ATTEMPT, attempts, { response_headers: null, response_body: null })),
    ],
    forgetCopies: db.forgetOverwritten,
  });
}
