/** Removes the versions of rows that an erasure has replaced. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../port/database.ts';

/** How often, and with which pause, the end of an erasure looks whether older transactions have ended. Most take milliseconds. */
const ERASURE_SNAPSHOT_LOOKS = 20;
const ERASURE_SNAPSHOT_LOOK_MS = 50;

type Runner = Pick<Database, 'get'> & { vacuum(table: string): Promise<void> };

// The transaction that replaced the rows has a lower number.
const NUMBER = 'SELECT CAST(CAST(pg_current_xact_id() AS xid) AS text) AS number';
// These may still see the replaced rows if they began before transaction @number: a transaction, a standby with feedback, a prepared
// transaction, or a replication slot. `age` counts back from the newest transaction.
const HOLDER = `
  SELECT 1 FROM (
    SELECT backend_xmin AS oldest FROM pg_stat_activity
    WHERE (datname = current_database() OR backend_type = 'walsender') AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'
    UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()
    UNION ALL SELECT xmin FROM pg_replication_slots) AS holding
  WHERE oldest IS NOT NULL AND age(oldest) >= age(CAST(@number AS xid)) LIMIT 1`;

/**
 * Makes the place of replaced versions free for new rows, which overwrite them. Until then their bytes remain in the files of the server,
 * as they do in its write-ahead log and in its backups. Returns false, and does nothing, while an older transaction can still read them.
 */
export async function vacuumErased(db: Runner): Promise<boolean> {
  const row = await db.get(NUMBER, {});
  const number = String(row?.number);
  for (let looks = 1; (await db.get(HOLDER, { number })) !== undefined; looks += 1) {
    if (looks === ERASURE_SNAPSHOT_LOOKS) return false;
    await sleep(ERASURE_SNAPSHOT_LOOK_MS);
  }
  for (const table of ['event', 'attempt', 'batch']) await db.vacuum(table);
  return true;
}
