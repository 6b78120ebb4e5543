/**
 * Partitions of the large tables. Each holds the rows of some days by their row keys, which are ordered by time. Old rows go with their
 * partition, which takes no time and leaves no free space to reuse.
 */
import { TOKEN_VALIDITY_MAX_SECONDS } from '../../domain/application.ts';
import { firstRowKeyAt, rowKeyTime } from '../../kernel/ids.ts';
import type { Database } from '../port/database.ts';
import { DatabaseUnavailable } from '../port/errors.ts';
import type { KeptSince, PartitionsByAge } from '../port/housekeeping.ts';
import { NO_TIME } from '../port/steps.ts';

/** How long dropping a partition waits for its lock, while all other statements on the table wait too. */
const PARTITION_LOCK_MS = 300;

/**
 * Makes changes of the schema come one after another. The number is any that every Sallyport uses. The lock ends with the transaction, so
 * it also works behind PgBouncer.
 */
export const LOCK_SCHEMA = 'SELECT pg_advisory_xact_lock(CAST(7365161907 AS bigint))';
const DAY_MS = 86_400_000;

/** How far ahead a start and housekeeping make partitions. A statement locks every partition that it might read, so more would cost. */
export const PARTITIONS_AHEAD_MS: number = 14 * DAY_MS;
/** Nobody has made partitions for a week. */
export const PARTITIONS_AHEAD_MIN_MS: number = 7 * DAY_MS;

type Table = 'access_token' | 'event' | 'outbox' | 'attempt';

/** Tokens live for a day at most; the others for weeks. */
const DAYS: Readonly<Record<Table, number>> = { access_token: 1, event: 7, outbox: 7, attempt: 7 };
const TABLES = Object.keys(DAYS) as Table[];

/** Holds rows from key `from`, before key `to`. `from` is null for the first one. */
type Partition = {
  readonly name: string;
  readonly table: string;
  readonly from: number | null;
  readonly to: number;
};

type Runner = Pick<Database, 'all' | 'get'> & {
  /** Runs statements as one transaction, without a time limit. */
  run(sql: string): Promise<void>;
};

// A bound reads FOR VALUES FROM ('1') TO ('2').
const PARTITIONS = `
  SELECT c.relname AS name, p.relname AS table, pg_get_expr(c.relpartbound, c.oid) AS bound
  FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid JOIN pg_class AS p ON p.oid = i.inhparent
  WHERE p.relkind = 'p' AND p.relnamespace = CAST(quote_ident(current_schema()) AS regnamespace)`;
const BOUND = /FROM \((?:MINVALUE|'(\d+)')\) TO \('(\d+)'\)/;

/** All partitions, the oldest of each table first. */
export async function listPartitions(db: Pick<Database, 'all'>): Promise<Partition[]> {
  const rows = await db.all(PARTITIONS, {});
  const found = rows.flatMap(({ name, table, bound }) => {
    const [, from, to] = BOUND.exec(String(bound)) ?? [];
    if (to === undefined) return [];
    return [
      { name: String(name), table: String(table), from: from === undefined ? null : Number(from), to: Number(to) },
    ];
  });
  return found.sort((one, other) => one.to - other.to);
}

/** When each table runs out of partitions, in milliseconds since 1970. */
export function partitionsEndAt(partitions: readonly Partition[]): Record<string, number> {
  const ends = TABLES.map((table) => {
    const last = partitions.findLast((one) => one.table === table);
    return [table, last === undefined ? 0 : rowKeyTime(last.to)];
  });
  return Object.fromEntries(ends) as Record<string, number>;
}

/** The partitions of a table for rows from `now` until `aheadMs` later, and one for all rows before `oldest`. */
function partitionsOf(table: Table, oldest: number | null, now: number, aheadMs: number): Partition[] {
  const span = DAYS[table] * DAY_MS;
  const first = Math.floor(now / span) * span;
  const partitions: Partition[] = [{ name: `${table}_p0`, table, from: null, to: oldest ?? firstRowKeyAt(first) }];
  for (let at = first; at <= now + aheadMs; at += span) {
    const day = new Date(at).toISOString().slice(0, 10).replaceAll('-', '');
    partitions.push({ name: `${table}_p${day}`, table, from: firstRowKeyAt(at), to: firstRowKeyAt(at + span) });
  }
  return partitions;
}

/**
 * Makes the partitions for rows from now until `aheadMs` later, if they are missing. `hasPast`: also for all earlier rows, which a new
 * table always takes. Several instances may do this at the same time.
 */
export async function ensurePartitions(
  db: Pick<Runner, 'all' | 'run'>,
  { now, aheadMs, hasPast = false }: { readonly now: number; readonly aheadMs: number; readonly hasPast?: boolean },
): Promise<void> {
  const known = await listPartitions(db);
  const names = new Set(known.map(({ name }) => name));
  const missing = TABLES.flatMap((table) => {
    const first = known.find((one) => one.table === table);
    const isPastMissing = first === undefined || (hasPast && first.from !== null);
    return partitionsOf(table, first?.from ?? null, now, aheadMs).filter(
      ({ name, from }) => !names.has(name) && (from !== null || isPastMissing),
    );
  });
  if (missing.length === 0) return;
  const create = missing.map(createStatement);
  await db.run([LOCK_SCHEMA, ...create].join(';\n'));
}

// Attaching an empty table does not block reads and writes of the partitioned one. CREATE TABLE … PARTITION OF would wait for all of
// them, for example for pg_dump, and keep everyone else waiting.
function createStatement({ name, table, from, to }: Partition): string {
  return `DO $create$ BEGIN IF to_regclass('${name}') IS NULL THEN
    CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL);
    ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM (${from ?? 'MINVALUE'}) TO (${to});
  END IF; END $create$`;
}

export function partitionsByAge(db: Runner & Pick<Database, 'commit'>): PartitionsByAge {
  return {
    kind: 'partitions',
    step: async (kept, now) => {
      await preparePartitions(db, now);
      await moveBases(db, now);
      return { done: true, rows: await dropPartitions(db, kept, now), took: NO_TIME };
    },
  };
}

/** Makes the partitions of the next weeks. If that fails for a week, the error says how long the rest will last. */
async function preparePartitions(db: Runner, now: number): Promise<void> {
  try {
    await ensurePartitions(db, { now, aheadMs: PARTITIONS_AHEAD_MS });
  } catch (error) {
    const endAt = Math.min(...Object.values(partitionsEndAt(await listPartitions(db))));
    if (endAt - now >= PARTITIONS_AHEAD_MIN_MS) throw error;
    const days = Math.max(0, Math.floor((endAt - now) / DAY_MS));
    throw new Error(`there are partitions for ${days} more days, and no new ones can be made: see sallyport doctor`, {
      cause: error,
    });
  }
}

/** Webhooks whose publishers wait together while their bases move. */
const BASES_AT_ONCE = 100;
const OTHER_BASES = `
  SELECT webhook_number FROM webhook_progress WHERE base_key <> @key ORDER BY webhook_number LIMIT ${BASES_AT_ONCE}`;
const LOCK_LOGS = `
  SELECT 1 FROM webhook_progress WHERE webhook_number IN (SELECT n.value FROM numbers(@numbers) AS n)
  ORDER BY webhook_number FOR NO KEY UPDATE`;
const MOVE_BASES = `
  UPDATE webhook_progress
  SET base_key = @key, base_offset = greatest(base_offset, coalesce((
    SELECT max(o.record_offset) + 1 FROM outbox AS o WHERE o.webhook_number = webhook_progress.webhook_number AND o.event_key < @key), 0))
  WHERE webhook_number IN (SELECT n.value FROM numbers(@numbers) AS n)`;

/**
 * Publishers look for the newest record of a log from the partition before the current one on: clocks may differ by days. The locks take
 * a statement, so that the next one sees the records of the publishers that held them.
 */
async function moveBases(db: Runner & Pick<Database, 'commit'>, now: number): Promise<void> {
  const outbox = (await listPartitions(db)).filter(({ table }) => table === 'outbox');
  const current = outbox.findIndex(({ to }) => to > firstRowKeyAt(now));
  const key = outbox[current - 1]?.from ?? 0;
  for (;;) {
    const rows = await db.all(OTHER_BASES, { key });
    if (rows.length === 0) return;
    const numbers = JSON.stringify(rows.map(({ webhook_number }) => Number(webhook_number)));
    await db.commit([LOCK_LOGS, MOVE_BASES].map((sql) => ({ sql, params: { key, numbers } })));
  }
}

/**
 * Drops the partitions whose rows have all passed their retention, and returns how many. Those of a table that someone reads, for example
 * pg_dump, are left for the next run: a process that waits for the lock makes all others wait too.
 */
async function dropPartitions(db: Runner, kept: KeptSince, now: number): Promise<number> {
  const partitions = await listPartitions(db);
  let dropped = 0;
  for (const table of TABLES) {
    const over: string[] = [];
    for (const one of partitions) if (one.table === table && (await isOver(db, one, kept, now))) over.push(one.name);
    if (over.length === 0) continue;
    const drop = `DROP TABLE IF EXISTS ${over.join(', ')}`;
    try {
      await db.run([`SET LOCAL lock_timeout = ${PARTITION_LOCK_MS}`, LOCK_SCHEMA, drop].join(';\n'));
      dropped += over.length;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable && error.reason === 'locked')) throw error;
    }
  }
  return dropped;
}

// Index: outbox_event. Records of old events are only deleted, never added.
const RECORD_WITHIN = 'SELECT 1 FROM outbox WHERE event_key >= @from AND event_key < @to LIMIT 1';
const BASE_BELOW = 'SELECT 1 FROM webhook_progress WHERE base_key < @to LIMIT 1';

async function isOver(db: Runner, { table, from, to }: Partition, kept: KeptSince, now: number): Promise<boolean> {
  const endedAt = rowKeyTime(to);
  const isEmptied = async (first: number | null): Promise<boolean> =>
    (await db.get(RECORD_WITHIN, { from: first ?? 0, to })) === undefined;
  switch (table as Table) {
    case 'access_token':
      return endedAt + TOKEN_VALIDITY_MAX_SECONDS * 1000 <= now;
    case 'event':
      return kept.deliveredSince !== null && endedAt <= kept.deliveredSince && (await isEmptied(from));
    case 'outbox':
      return endedAt + DAY_MS <= now && (await db.get(BASE_BELOW, { to })) === undefined && (await isEmptied(from));
    case 'attempt':
      if (kept.attemptsSince !== null && endedAt <= kept.attemptsSince) return true;
      // Attempts are deleted with their records at the latest, and an attempt comes after the events of its records.
      return kept.recordsSince !== null && endedAt <= kept.recordsSince && (await isEmptied(null));
  }
}
