/** The last attempts of records (`attempt`), and failing records grouped by cause. Reads only. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { OffsetRange } from '../../../domain/batch.ts';
import { BATCH_RECORDS_MAX } from '../../../domain/limits.ts';
import type { WebhookState } from '../../../domain/webhook.ts';
import type { Database, Row } from '../../port/database.ts';
import type { FailureGroup, Failures, FailuresBound, LastAttempt, RecordPlace } from '../../port/deliveries.ts';
import { FAILURES_EXAMINED_MAX } from '../../port/limits.ts';
import { readRow } from '../table.ts';
import { isAttemptOf, isBatchOf } from './covering.ts';

/** Batches of one webhook that are read at a time. */
const FAILURES_EXAMINED_AT_ONCE = 250;
/** On SQLite this is one turn of the event loop: 2,000 batches at worst, which take some 5 ms. */
const WEBHOOKS_EXAMINED_AT_ONCE = 8;

/**
 * The key of the last attempt that carried a record of a batch. Index: attempt_record. Attempts of a batch begin at its first record,
 * unless a replay or a refused content has split it since: then every attempt that may reach the record is examined.
 */
function lastAttemptKey(webhook: string, batchFirst: string, offset: string): string {
  return `coalesce(
    (SELECT max(key) FROM attempt INDEXED BY attempt_record
      WHERE webhook_number = ${webhook} AND first_offset = ${batchFirst} AND last_offset >= ${offset}),
    (SELECT max(a.key) FROM attempt AS a INDEXED BY attempt_record WHERE a.webhook_number = ${webhook} AND ${isAttemptOf(offset)}))`;
}

/** The cause of a failed attempt: the status of the response, for example 503, or the error class. */
function causeOf(attempt: string): string {
  return `CASE WHEN ${attempt}.error_class = 'http_status' THEN CAST(${attempt}.response_status AS TEXT) ELSE ${attempt}.error_class END`;
}

/** An expression for a row of `batch`: the cause of its last failure. */
export const BATCH_CAUSE = `
  (SELECT ${causeOf('attempt')} FROM attempt WHERE key =
    ${lastAttemptKey('batch.webhook_number', 'batch.first_offset', 'batch.first_offset')})`;

// A batch has had no attempt since its last replay while `attempt_count` is 0, or 1 with the attempt in progress.
const WAS_TRIED = 'b.attempt_count > CASE WHEN b.lease_owner IS NULL THEN 0 ELSE 1 END';
const LAST_ATTEMPTS = `
  SELECT CAST(place.value ->> 2 AS BIGINT) AS position, a.id, a.response_status, a.error_class, a.error_message, a.started_at
  FROM tuples(@places) AS place CROSS JOIN outbox AS o CROSS JOIN event AS e CROSS JOIN batch AS b CROSS JOIN attempt AS a
  WHERE o.webhook_number = CAST(place.value ->> 0 AS BIGINT) AND o.record_offset = CAST(place.value ->> 1 AS BIGINT)
    AND e.key = o.event_key AND e.erased_at IS NULL
    AND ${isBatchOf('o.webhook_number', 'o.record_offset')}
    AND a.key = ${lastAttemptKey('o.webhook_number', 'b.first_offset', 'o.record_offset')}
    AND ${WAS_TRIED}`;

/** The last attempt of each record, at the same position; null: not tried since the last replay, or erased. */
export async function lastAttempts(db: Database, records: readonly RecordPlace[]): Promise<(LastAttempt | null)[]> {
  const found: (LastAttempt | null)[] = records.map(() => null);
  if (records.length === 0) return found;
  const places = JSON.stringify(records.map(({ webhookNumber, offset }, at) => [webhookNumber, offset, at]));
  for (const { position, ...row } of await db.all(LAST_ATTEMPTS, { places })) found[Number(position)] = readRow(row);
  return found;
}

// Indexes: batch_dead and batch_pending, newest batch first. The first batch may begin before @first, by less than the longest batch has.
function failedBatchesSql(state: 'dead' | 'pending'): string {
  return `
    SELECT b.first_offset, b.last_offset, ${causeOf('a')} AS cause, a.started_at
    FROM batch AS b INDEXED BY batch_${state}
    LEFT JOIN attempt AS a ON ${WAS_TRIED} AND a.key = ${lastAttemptKey('b.webhook_number', 'b.first_offset', 'b.first_offset')}
    WHERE b.webhook_number = @webhookNumber AND b.state = '${state}' AND b.first_offset < @below
      AND b.first_offset > CAST(@first AS BIGINT) - ${BATCH_RECORDS_MAX} AND b.last_offset >= @first
    ORDER BY b.first_offset DESC LIMIT @limit`;
}

const FAILED_BATCHES = { dead: failedBatchesSql('dead'), pending: failedBatchesSql('pending') } as const;
// There are thousands of webhooks at most. A webhook without dead batches costs one look into batch_dead.
const webhooksWith = (condition: string): string => `
  SELECT w.number, w.id, w.name, s.state FROM webhook AS w CROSS JOIN webhook_position AS p CROSS JOIN webhook_progress AS s
  WHERE p.webhook_number = w.number AND s.webhook_number = w.number ${condition}
    AND (p.pending_records > 0 OR EXISTS (SELECT 1 FROM batch INDEXED BY batch_dead WHERE webhook_number = w.number AND state = 'dead'))
  ORDER BY w.number LIMIT @limit`;

const AMONG = 'AND w.number IN (SELECT n.value FROM numbers(@webhookNumbers) AS n)';

// Few rows: the attempts of the oldest batch of each group. Index: attempt_record.
const FIRST_FAILURES = `
  SELECT CAST(place.value ->> 3 AS BIGINT) AS position, (
    SELECT min(a.started_at) FROM attempt AS a INDEXED BY attempt_record
    WHERE a.webhook_number = CAST(place.value ->> 0 AS BIGINT) AND a.first_offset = CAST(place.value ->> 1 AS BIGINT)
      AND ${causeOf('a')} = place.value ->> 2) AS first_at
  FROM tuples(@places) AS place`;

/** Failures go back further than to the last attempts of records. */
async function beganAt(db: Database, groups: readonly Group[]): Promise<Group[]> {
  const places = JSON.stringify(
    groups.map(({ oldest: { webhookNumber, offset }, cause }, at) => [webhookNumber, offset, cause, at]),
  );
  const rows = groups.length === 0 ? [] : await db.all(FIRST_FAILURES, { places });
  const first = new Map(rows.map((row) => [Number(row.position), Number(row.first_at ?? Number.MAX_SAFE_INTEGER)]));
  return groups.map((group, at) => ({ ...group, firstAt: Math.min(group.firstAt, first.get(at) ?? group.firstAt) }));
}

type Group = { -readonly [Field in keyof FailureGroup]: FailureGroup[Field] };

const ALL_OFFSETS: OffsetRange = { first: 0, last: Number.MAX_SAFE_INTEGER - 1 };

const ALL_WEBHOOKS: FailuresBound = { webhooks: Number.MAX_SAFE_INTEGER - 1, batches: FAILURES_EXAMINED_MAX };

/** Examines the newest batches of each webhook: an equal share of those of `most`, dead ones and pending ones. */
export async function failures(
  db: Database,
  webhookNumbers: readonly number[] | null,
  within: OffsetRange = ALL_OFFSETS,
  most: FailuresBound = ALL_WEBHOOKS,
): Promise<Failures> {
  // One more shows whether there are others.
  const limit = most.webhooks + 1;
  const found =
    webhookNumbers === null
      ? await db.all(webhooksWith(''), { limit })
      : await db.all(webhooksWith(AMONG), { webhookNumbers: JSON.stringify(webhookNumbers), limit });
  const webhooks = found.slice(0, most.webhooks);
  const share = Math.ceil(most.batches / Math.max(2 * webhooks.length, 1));
  const examined: Examined[] = [];
  // Reads that begin together share a round trip to PostgreSQL.
  for (let at = 0; at < webhooks.length; at += WEBHOOKS_EXAMINED_AT_ONCE) {
    const some = webhooks.slice(at, at + WEBHOOKS_EXAMINED_AT_ONCE);
    examined.push(...(await Promise.all(some.map((webhook) => failuresOf(db, webhook, within, share)))));
  }
  const begun = await beganAt(
    db,
    examined.flatMap(({ groups }) => groups),
  );
  return {
    groups: begun.toSorted((one, other) => other.lastAt - one.lastAt),
    dead: examined.reduce((sum, { dead }) => sum + dead, 0),
    isWhole: found.length === webhooks.length && examined.every(({ isWhole }) => isWhole),
  };
}

type Examined = { readonly groups: readonly Group[]; readonly dead: number; readonly isWhole: boolean };

/** The failures of one webhook among so many of its newest dead batches, and so many pending ones. */
async function failuresOf(db: Database, webhook: Row, within: OffsetRange, share: number): Promise<Examined> {
  const groups = new Map<string, Group>();
  let dead = 0;
  let isWhole = true;
  for (const state of ['dead', 'pending'] as const) {
    let below = within.last + 1;
    for (let left = share; left > 0; ) {
      const limit = Math.min(left, FAILURES_EXAMINED_AT_ONCE);
      const asked = { webhookNumber: Number(webhook.number), first: within.first, below, limit };
      const rows = await db.all(FAILED_BATCHES[state], asked);
      for (const row of rows) {
        const part = clipped(row, within);
        if (state === 'dead') dead += recordsIn(part);
        count(groups, webhook, state, part);
      }
      left -= rows.length;
      if (rows.length < limit) break;
      below = Number(rows.at(-1)?.first_offset);
      if (left <= 0) isWhole = false;
      // Each batch takes some look-ups, so other work gets a turn.
      await nextTurn();
    }
  }
  return { groups: [...groups.values()], dead, isWhole };
}

/** The part of a batch that is looked at. */
function clipped(row: Row, { first, last }: OffsetRange): Row {
  const [from, to] = [Math.max(Number(row.first_offset), first), Math.min(Number(row.last_offset), last)];
  return { ...row, first_offset: from, last_offset: to };
}

function recordsIn(batch: Row): number {
  return Number(batch.last_offset) - Number(batch.first_offset) + 1;
}

function count(groups: Map<string, Group>, webhook: Row, state: 'dead' | 'pending', row: Row): void {
  if (row.cause === null || row.cause === undefined) return;
  const cause = String(row.cause);
  const at = Number(row.started_at);
  const group = groups.get(cause) ?? {
    webhookId: String(webhook.id),
    webhookName: String(webhook.name),
    webhookState: webhook.state as WebhookState,
    oldest: { webhookNumber: Number(webhook.number), offset: Number(row.first_offset) },
    cause,
    dead: 0,
    retrying: 0,
    firstAt: at,
    lastAt: at,
  };
  group[state === 'dead' ? 'dead' : 'retrying'] += recordsIn(row);
  const offset = Math.min(group.oldest.offset, Number(row.first_offset));
  group.oldest = { ...group.oldest, offset };
  group.firstAt = Math.min(group.firstAt, at);
  group.lastAt = Math.max(group.lastAt, at);
  groups.set(cause, group);
}
