/** Partitions of the large tables. Each holds the rows of some days by their row keys, which are ordered by time. */
import { firstRowKeyAt } from '../../kernel/ids.ts';
import type { Database } from '../database.ts';

/**
 * Makes changes of the schema come one after another. The number is any that every Sallyport uses. The lock ends with the transaction, so it
 * also works behind PgBouncer.
 */
export const LOCK_SCHEMA = 'SELECT pg_advisory_xact_lock(CAST(7365161907 AS bigint))';

const DAY_MS = 86_400_000;

/** How far ahead a start and housekeeping make partitions. */
export const PARTITIONS_AHEAD_MS: number = 30 * DAY_MS;

type Partitioned = { readonly table: string; readonly days: number };

/** Tokens live for a day at most; the others for weeks. */
const PARTITIONED: readonly Partitioned[] = [
  { table: 'access_token', days: 1 },
  { table: 'event', days: 7 },
  { table: 'outbox', days: 7 },
  { table: 'attempt', days: 7 },
];

/** Rows from `from`, before `to`, by their keys; null: no bound. */
type Partition = { readonly name: string; readonly table: string; readonly from: number | null; readonly to: number };

/** The partitions of a table for rows from `now` until `aheadMs` later, and the one before them, which has no beginning. */
function partitionsOf({ table, days }: Partitioned, now: number, aheadMs: number): Partition[] {
  const span = days * DAY_MS;
  const first = Math.floor(now / span) * span;
  const partitions: Partition[] = [{ name: `${table}_p0`, table, from: null, to: firstRowKeyAt(first) }];
  for (let at = first; at <= now + aheadMs; at += span) {
    const day = new Date(at).toISOString().slice(0, 10).replaceAll('-', '');
    partitions.push({ name: `${table}_p${day}`, table, from: firstRowKeyAt(at), to: firstRowKeyAt(at + span) });
  }
  return partitions;
}

/** Makes the partitions for rows from now until `aheadMs` later, if they are missing. Several instances may do this at once. */
export async function ensurePartitions(
  db: Pick<Database, 'all'> & { run(sql: string): Promise<void> },
  { now, aheadMs }: { readonly now: number; readonly aheadMs: number },
): Promise<void> {
  const rows = await db.all("SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r'", {});
  const known = new Set(rows.map(({ relname }) => String(relname)));
  const missing = PARTITIONED.flatMap((one) => {
    const isNew = ![...known].some((name) => name.startsWith(`${one.table}_p`));
    return partitionsOf(one, now, aheadMs).filter(({ name, from }) => !known.has(name) && (isNew || from !== null));
  });
  if (missing.length === 0) return;
  const create = missing.map(
    ({ name, table, from, to }) =>
      `CREATE TABLE IF NOT EXISTS ${name} PARTITION OF ${table} FOR VALUES FROM (${from ?? 'MINVALUE'}) TO (${to})`,
  );
  await db.run([LOCK_SCHEMA, ...create].join(';\n'));
}
