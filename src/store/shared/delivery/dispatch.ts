/** The reads of the dispatcher: the positions of webhooks in their logs, what a delivery needs, due batches, and the records in them. */
import type { Batch, DeliveryTarget, LogPosition, LogRecord, OffsetRange } from '../../../domain/batch.ts';
import type { Endpoint } from '../../../domain/endpoint.ts';
import type { PgpKey, Webhook, WebhookConfiguration } from '../../../domain/webhook.ts';
import { createLru } from '../../../kernel/lru.ts';
import type { Vault } from '../../../kernel/vault.ts';
import type { Answer, Database, Row } from '../../port/database.ts';
import { type DispatchStore, NEVER, type PendingBatch, type ReadRecords } from '../../port/dispatch.ts';
import { IS_RUNNABLE } from '../changes.ts';
import { IS_UNDER_ERASURE } from '../erasure.ts';
import { customer, readOne, readRow } from '../table.ts';
import { endpointTable } from '../webhooks/endpoints.ts';
import { PGP_KEY } from '../webhooks/keys.ts';
import { PROGRESS, WEBHOOK } from '../webhooks/webhooks.ts';
import { FOUND_KEYS } from './waiting-keys.ts';

/** The most that a record adds to a batch besides its data: ids, names and punctuation. */
export const RECORD_OVERHEAD_BYTES = 1024;

/** Webhooks whose settings are cached with their secrets unsealed. */
const TARGETS_CACHED = 1000;

const STOPPED_AMONG = `
  SELECT asked.value AS number FROM numbers(@webhookNumbers) AS asked
  WHERE NOT EXISTS (
    SELECT 1 FROM webhook_progress
    WHERE webhook_number = asked.value AND NOT (state = 'stopped' AND state_reason = 'stopped_by_administrator'))`;
// `data_bytes` saves reading the events: those of many webhooks alternate, so each would take a page. Erased records count with their
// former size.
const BYTES = `data_bytes + ${RECORD_OVERHEAD_BYTES}`;
/** The columns of a `Batch` from `batch`. */
const BATCH = `webhook_number, id, first_offset, last_offset, attempt_count + 1 AS attempt_number, content_refusals, order_key, (
    SELECT coalesce(sum(${BYTES}), 0) FROM outbox
    WHERE outbox.webhook_number = batch.webhook_number AND record_offset BETWEEN first_offset AND last_offset) AS bytes`;
// A replay of an ordered webhook makes many batches pending. Without INDEXED BY, SQLite would scan the primary key past every settled
// batch.
const FIRST_PENDING = `
  SELECT ${BATCH}, coalesce(next_attempt_at, 0) AS due_at FROM batch INDEXED BY batch_pending
  WHERE webhook_number = @webhookNumber AND state = 'pending'
    AND first_offset NOT IN (SELECT held.value FROM numbers(@held) AS held) ORDER BY first_offset LIMIT 1`;
/** The columns of a `WaitingRecord` from `outbox`. The first eleven bits of a key are a counter. */
export const WAITING_RECORD = `record_offset AS "offset", ${BYTES} AS bytes, event_key / 2048 AS created_at`;
// Keys are read from the events: records of webhooks that need no key do not pay for them.
const WAITING_KEYS = `
  SELECT o.record_offset AS "offset", o.${BYTES} AS bytes, o.event_key / 2048 AS created_at, e.ordering_key AS "key"
  FROM (
    SELECT record_offset, data_bytes, event_key FROM outbox
    WHERE webhook_number = @webhookNumber AND record_offset >= @from ORDER BY record_offset LIMIT @limit) AS o
  CROSS JOIN event AS e WHERE e.key = o.event_key ORDER BY o.record_offset`;
// Index: batch_due, and batch_order_key for each that is found.
const DUE_BY_KEY = `
  SELECT ${BATCH} FROM batch
  WHERE webhook_number = @webhookNumber AND state = 'pending' AND next_attempt_at <= @now AND order_key IS NOT NULL
    AND first_offset NOT IN (SELECT held.value FROM numbers(@held) AS held)
    AND (order_key = '' OR NOT EXISTS (
      SELECT 1 FROM batch AS b WHERE b.webhook_number = batch.webhook_number AND b.state = 'pending' AND b.order_key = batch.order_key
        AND b.first_offset < batch.first_offset))
  ORDER BY next_attempt_at LIMIT @limit`;
// Index: batch_due, twice. A row that waited for its key has no time; another order has no use for it.
const DUE_BATCHES = `
  SELECT * FROM (
    SELECT ${BATCH} FROM batch INDEXED BY batch_due
    WHERE webhook_number = @webhookNumber AND state = 'pending' AND next_attempt_at <= @now
      AND first_offset NOT IN (SELECT held.value FROM numbers(@held) AS held)
    ORDER BY next_attempt_at LIMIT @limit) AS timed
  UNION ALL
  SELECT * FROM (
    SELECT ${BATCH} FROM batch INDEXED BY batch_due
    WHERE webhook_number = @webhookNumber AND state = 'pending' AND next_attempt_at IS NULL
      AND first_offset NOT IN (SELECT held.value FROM numbers(@held) AS held)
    LIMIT @limit) AS untimed
  LIMIT @limit`;
const NEXT_DUE = `
  SELECT min(next_attempt_at) AS at FROM batch WHERE webhook_number = @webhookNumber AND state = 'pending' AND next_attempt_at > @now`;
// Index: batch_order_key.
const UNLABELLED = `
  SELECT ${BATCH}, next_attempt_at AS due_at FROM batch
  WHERE webhook_number = @webhookNumber AND state = 'pending' AND order_key IS NULL ORDER BY first_offset LIMIT @limit`;
const FIRST_OF_KEYS = `
  SELECT ${BATCH}, next_attempt_at AS due_at
  FROM (
    SELECT (
      SELECT min(b.first_offset) FROM batch AS b
      WHERE b.webhook_number = @webhookNumber AND b.state = 'pending' AND b.order_key = named.value
    ) AS found_offset
    FROM texts(@orderKeys) AS named) AS asked
  CROSS JOIN batch WHERE webhook_number = @webhookNumber AND first_offset = asked.found_offset`;
const KEYS_AFTER = `${FOUND_KEYS} SELECT order_key FROM found WHERE order_key IS NOT NULL LIMIT @limit`;
const BEGIN_SESSION = `
  UPDATE webhook_progress SET session_id = @id, session_at = @at WHERE webhook_number = @webhookNumber AND ${IS_RUNNABLE}`;
// Index: batch_due, whose first entry of a webhook is its earliest. Rows that wait for their keys are looked at.
const POSITIONS = `
  SELECT p.webhook_number, p.cursor_offset AS covered_offset, p.sent_at, p.next_offset AS "end", CASE
    WHEN EXISTS (
      SELECT 1 FROM batch AS b WHERE b.webhook_number = p.webhook_number AND b.state = 'pending' AND b.next_attempt_at IS NULL) THEN 0
    ELSE coalesce((
      SELECT min(b.next_attempt_at) FROM batch AS b WHERE b.webhook_number = p.webhook_number AND b.state = 'pending'), ${NEVER})
    END AS due_at
  FROM numbers(@webhookNumbers) AS asked CROSS JOIN webhook_status AS p
  WHERE p.webhook_number = asked.value AND ${IS_RUNNABLE}`;
// Batches of the last seconds: positions are written every few seconds. From the positions as they were read: if one moved in between, the
// batches that it passed would look like a gap.
const COVERING = `
  SELECT b.webhook_number, b.first_offset, b.last_offset
  FROM tuples(@covered) AS asked CROSS JOIN batch AS b
  WHERE b.webhook_number = CAST(asked.value ->> 0 AS BIGINT) AND b.first_offset >= CAST(asked.value ->> 1 AS BIGINT)`;

/** The reads that both databases do in the same way. */
export function dispatchStore(
  db: Database,
): Pick<DispatchStore, 'positions' | 'stoppedAmong' | 'firstPending' | 'dueBatches' | 'beginSession' | ByKeyReads> {
  const due = async (
    sql: string,
    webhookNumber: number,
    now: number,
    limit: number,
    held: readonly number[],
  ): Promise<{ readonly batches: readonly Batch[]; readonly nextAt: number }> => {
    const [rows, next] = await Promise.all([
      db.all(sql, { webhookNumber, now, limit, held: JSON.stringify(held) }),
      db.get(NEXT_DUE, { webhookNumber, now }),
    ]);
    return { batches: rows.map((row) => readBatch(row)), nextAt: Number(next?.at ?? NEVER) };
  };
  return {
    ...byKeyReads(db),
    positions: (webhookNumbers) => positions(db, webhookNumbers),
    stoppedAmong: async (webhookNumbers) =>
      (await db.all(STOPPED_AMONG, { webhookNumbers: JSON.stringify(webhookNumbers) })).map((row) =>
        Number(row.number),
      ),
    firstPending: async (webhookNumber, held) => {
      const row = await db.get(FIRST_PENDING, { webhookNumber, held: JSON.stringify(held) });
      if (row === undefined) return null;
      const { dueAt, ...batch } = readBatch<Batch & { readonly dueAt: number }>(row);
      return { batch, dueAt };
    },
    dueBatches: (...asked) => due(DUE_BATCHES, ...asked),
    dueByKey: (...asked) => due(DUE_BY_KEY, ...asked),
    beginSession: async (webhookNumber, { id, at }) =>
      void (await db.commit([{ sql: BEGIN_SESSION, params: { webhookNumber, id, at } }])),
  };
}

type ByKeyReads = 'dueByKey' | KeyReads;
type KeyReads = 'waitingKeys' | 'unlabelled' | 'firstOfKeys' | 'keysAfter';

/** The reads of order by key. */
function byKeyReads(db: Database): Pick<DispatchStore, KeyReads> {
  const pending = (row: Row): PendingBatch => {
    const { dueAt, ...batch } = readBatch<Batch & { readonly dueAt: number | null }>(row);
    return { batch, dueAt };
  };
  return {
    waitingKeys: async (webhookNumber, from, limit) =>
      (await db.all(WAITING_KEYS, { webhookNumber, from, limit })).map((row) => readRow(row)),
    unlabelled: async (webhookNumber, limit) => (await db.all(UNLABELLED, { webhookNumber, limit })).map(pending),
    firstOfKeys: async (webhookNumber, orderKeys) =>
      orderKeys.length === 0
        ? []
        : (await db.all(FIRST_OF_KEYS, { webhookNumber, orderKeys: JSON.stringify(orderKeys) })).map(pending),
    keysAfter: async (webhookNumber, after, limit) =>
      (await db.all(KEYS_AFTER, { webhookNumber, after, limit })).map((row) => String(row.order_key)),
  };
}

function readBatch<Found extends Batch = Batch>(row: Row): Found {
  return { ...readRow<Found>(row), isStored: true };
}

async function positions(db: Database, webhookNumbers: readonly number[]): Promise<readonly LogPosition[]> {
  if (webhookNumbers.length === 0) return [];
  // The positions first: a batch that is inserted in between would otherwise look like a gap.
  const rows = await db.all(POSITIONS, { webhookNumbers: JSON.stringify(webhookNumbers) });
  const covered = JSON.stringify(rows.map((row) => [Number(row.webhook_number), Number(row.covered_offset)]));
  const batches = new Map<number, OffsetRange[]>();
  for (const row of await db.all(COVERING, { covered })) {
    const number = Number(row.webhook_number);
    const found = batches.get(number) ?? [];
    batches.set(number, found);
    found.push({ first: Number(row.first_offset), last: Number(row.last_offset) });
  }
  return rows.map((row) => {
    const position = readRow<Omit<LogPosition, 'hold' | 'next' | 'gaps'>>(row);
    const found = batches.get(position.webhookNumber) ?? [];
    const { next, gaps } = beyond(
      position.coveredOffset,
      found.toSorted((one, other) => one.first - other.first),
    );
    return { ...position, hold: null, next, end: Math.max(position.end, next), gaps };
  });
}

/** Returns the gaps between batches from an offset on, and the first offset after all of them. `batches` ascend. */
export function beyond(
  coveredOffset: number,
  batches: readonly OffsetRange[],
): { readonly next: number; readonly gaps: readonly OffsetRange[] } {
  let next = coveredOffset;
  const gaps: OffsetRange[] = [];
  for (const { first, last } of batches) {
    if (first > next) gaps.push({ first: next, last: first - 1 });
    next = Math.max(next, last + 1);
  }
  return { next, gaps };
}

/** The settings, with their secrets unsealed. `version` changes with any of them. */
type Settings = {
  readonly version: string;
  readonly configuration: WebhookConfiguration;
  readonly endpoint: Endpoint;
  readonly key: PgpKey | null;
};

/**
 * The progress of webhooks and the version of their settings: look-ups by primary key. Without the ends of their logs, which the dispatcher
 * remembers.
 */
export function currentTarget(condition: string): string {
  return `
  SELECT p.webhook_number, p.state, p.state_reason, p.state_detail, p.state_at, p.session_id, p.session_at, p.failing_since_at,
         p.failure_streak, p.probe_at, p.dead_streak, q.sent_at, 0 AS next_offset, 0 AS cursor_offset,
         w.id || ' ' || w.updated_at || ' ' || e.id || ' ' || e.updated_at || ' ' || coalesce(k.id || ' ' || k.updated_at, '') AS version,
         CASE WHEN e.allowed_requests_per_minute IS NOT NULL THEN e.allowed_requests_per_minute / 60.0 /
           (SELECT count(*) FROM webhook AS s WHERE s.endpoint_id = e.id) END AS allowed_per_second
  FROM webhook AS w
  JOIN webhook_progress AS p ON p.webhook_number = w.number
  JOIN webhook_position AS q ON q.webhook_number = w.number
  JOIN endpoint AS e ON e.id = w.endpoint_id
  LEFT JOIN pgp_key AS k ON k.customer_id = w.customer_id AND k.name = w.encryption_key_name
  WHERE ${condition}`;
}

const CONFIGURATION = `SELECT ${WEBHOOK.columns()} FROM webhook WHERE number = @webhookNumber`;
const KEY = `SELECT ${PGP_KEY.columns()} FROM pgp_key WHERE customer_id = @customerId AND name = @name`;

/**
 * Returns the current target of a webhook, or null if there is none. Unsealing the secrets takes 40 µs, so settings are cached until the
 * version of a row changes: every write changes its `updated_at`. `current` reads the row of `currentTarget`.
 */
export function targetReader(
  db: Database,
  vault: Vault,
  current: (webhookNumber: number) => Answer<Row | undefined>,
): (webhookNumber: number) => Promise<DeliveryTarget | null> {
  const endpoints = endpointTable(vault);
  const endpointSql = `SELECT ${endpoints.columns()} FROM endpoint WHERE id = @id`;
  const cached = createLru<number, Settings>({ max: TARGETS_CACHED });

  const readSettings = async (webhookNumber: number, version: string): Promise<Settings | null> => {
    const row = await db.get(CONFIGURATION, { webhookNumber });
    if (row === undefined) return null;
    const configuration = WEBHOOK.read(row);
    const { customerId, encryptionKeyName: name } = configuration;
    // Joined by `currentTarget`, so a webhook in mode `pull` does not come here.
    const endpoint = await db.get(endpointSql, { id: configuration.endpointId });
    const key = name === null ? undefined : await db.get(KEY, { customerId: customer.write(customerId, ''), name });
    if (endpoint === undefined) return null;
    const settings = {
      version,
      configuration,
      endpoint: endpoints.read(endpoint),
      key: readOne(PGP_KEY, key),
    };
    cached.set(webhookNumber, settings);
    return settings;
  };

  return async (webhookNumber) => {
    const row = await current(webhookNumber);
    if (row === undefined) return null;
    const version = String(row.version);
    const known = cached.get(webhookNumber);
    const settings = known?.version === version ? known : await readSettings(webhookNumber, version);
    if (settings === null) return null;
    const { configuration, endpoint, key } = settings;
    const webhook = { ...configuration, progress: PROGRESS.read(row) };
    return {
      webhook: row.allowed_per_second === null ? webhook : bounded(webhook, Number(row.allowed_per_second)),
      endpoint,
      key,
    };
  };
}

/**
 * With the share of the requests that the receiver allows its endpoint. Several webhooks share them evenly, so that their instances need
 * not agree. A batch counts as its records, which is never too much.
 */
function bounded(webhook: Webhook, perSecond: number): Webhook {
  return { ...webhook, maxRecordsPerSecond: Math.min(webhook.maxRecordsPerSecond ?? perSecond, perSecond) };
}

/** Whether the type of an event `e` requires encryption. */
const REQUIRES_ENCRYPTION = 'EXISTS (SELECT 1 FROM event_type AS t WHERE t.name = e.type AND t.encryption_required)';
/** The columns of a record `o` with its event `e`, named like the fields of `LogRecord`, so that a row is a record. */
export const RECORD_COLUMNS: string = `o.record_offset AS "offset", e.created_at AS "createdAt", e.correlation_id AS "correlationId",
    e.id AS "messageId", e.type AS "eventType", ${REQUIRES_ENCRYPTION} AS "encryptionRequired", e.actor_id AS "actorId", e.subject,
    CASE WHEN ${IS_UNDER_ERASURE} THEN NULL ELSE e.data END AS "dataJson"`;
const RECORDS = `
  SELECT ${RECORD_COLUMNS}
  FROM outbox AS o CROSS JOIN event AS e
  WHERE e.key = o.event_key AND o.webhook_number = @webhookNumber AND o.record_offset BETWEEN @first AND @last
  ORDER BY o.record_offset`;

export function recordReader(db: Pick<Database, 'all'>): ReadRecords {
  return async (webhookNumber, first, last) =>
    (await db.all(RECORDS, { webhookNumber, first, last })) as unknown as LogRecord[];
}
