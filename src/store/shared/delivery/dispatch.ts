/** What the dispatcher reads, and its claims: due webhooks with what a delivery needs, due batches, and the records in them. */
import type { Batch, Claim, DeliveryTarget, LogRecord } from '../../../domain/batch.ts';
import type { Endpoint } from '../../../domain/endpoint.ts';
import type { PgpKey, Webhook, WebhookConfiguration } from '../../../domain/webhook.ts';
import { createLru } from '../../../kernel/lru.ts';
import type { Vault } from '../../../kernel/vault.ts';
import type { Answer, Database, Row, Statement } from '../../port/database.ts';
import type { DispatchStore, ReadRecords, UnsureClaims } from '../../port/dispatch.ts';
import { customer, readOne, readRow } from '../table.ts';
import { IS_RUNNABLE, WAKE, wakeAfterClaim } from '../wake.ts';
import { endpointTable } from '../webhooks/endpoints.ts';
import { PGP_KEY } from '../webhooks/keys.ts';
import { PROGRESS, WEBHOOK } from '../webhooks/webhooks.ts';

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
export const BATCH = `webhook_number, id, first_offset, last_offset, attempt_count + 1 AS attempt_number, content_refusals, (
    SELECT coalesce(sum(${BYTES}), 0) FROM outbox
    WHERE outbox.webhook_number = batch.webhook_number AND record_offset BETWEEN first_offset AND last_offset) AS bytes`;
// A replay of an ordered webhook makes many batches pending. Without INDEXED BY, SQLite would scan the primary key past every settled
// batch.
const FIRST_PENDING = `
  SELECT ${BATCH}, next_attempt_at AS due_at FROM batch INDEXED BY batch_pending
  WHERE webhook_number = @webhookNumber AND state = 'pending'
    AND first_offset NOT IN (SELECT settling.value FROM numbers(@settling) AS settling) ORDER BY first_offset LIMIT 1`;
/** The columns of a `WaitingRecord` from `outbox`. */
export const WAITING_RECORD = `record_offset AS "offset", ${BYTES} AS bytes`;
const CLAIM_RETRY = `
  UPDATE batch SET lease_owner = @owner, next_attempt_at = @leaseExpiresAt, attempt_count = @attemptNumber, updated_at = @now
  WHERE webhook_number = @webhookNumber AND first_offset = @firstOffset AND id = @id
    AND state = 'pending' AND next_attempt_at <= @now`;
// Measured: 3.1 µs a batch, 4.7 with a statement for each. Inserts nothing if another claim has moved the cursor; `MOVE_CURSOR` then
// reports the race. Otherwise the existing batches would violate the primary key, which is reported as a fault.
const CLAIM_FRESH = `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, lease_owner,
    updated_at)
  SELECT @webhookNumber, CAST(fresh.value ->> 0 AS BIGINT), CAST(fresh.value ->> 1 AS BIGINT), fresh.value ->> 2, 'pending', 1, 0,
    @leaseExpiresAt, @owner, @now
  FROM tuples(@batches) AS fresh
  WHERE (SELECT cursor_offset FROM webhook_progress WHERE webhook_number = @webhookNumber) = @cursorBefore`;
const MOVE_CURSOR = `
  UPDATE webhook_progress
  SET cursor_offset = @cursorAfter, session_id = @sessionId, session_at = @sessionAt,
      pending_records = pending_records + @cursorAfter - @cursorBefore,
      wake_at = ${wakeAfterClaim({
        webhookNumber: '@webhookNumber',
        settingsVersion: '@settingsVersion',
        now: '@now',
        notBefore: '@notBefore',
        cursorAfter: '@cursorAfter',
        idleAt: '@idleAt',
      })}
  WHERE webhook_number = @webhookNumber AND cursor_offset = @cursorBefore AND ${IS_RUNNABLE}`;
const POSTPONE = 'UPDATE webhook_progress SET wake_at = @at WHERE webhook_number = @webhookNumber AND wake_at < @at';
const RELEASE_UNSURE = `
  UPDATE batch SET lease_owner = NULL, next_attempt_at = least(next_attempt_at, @now), attempt_count = attempt_count - 1
  WHERE webhook_number = @webhookNumber AND state = 'pending' AND lease_owner = @owner
    AND first_offset NOT IN (SELECT kept.value FROM numbers(@kept) AS kept)`;
export function releaseStatements({ webhookNumber, owner, kept, now }: UnsureClaims): Statement[] {
  return [
    { sql: RELEASE_UNSURE, params: { webhookNumber, owner, kept: JSON.stringify(kept), now } },
    { sql: WAKE, params: { webhookNumber, at: now } },
  ];
}

/** The reads and claims that both databases do in the same way. */
export function dispatchStore(
  db: Database,
): Pick<DispatchStore, 'stoppedAmong' | 'firstPending' | 'wake' | 'postpone'> {
  return {
    stoppedAmong: async (webhookNumbers) =>
      (await db.all(STOPPED_AMONG, { webhookNumbers: JSON.stringify(webhookNumbers) })).map((row) =>
        Number(row.number),
      ),
    firstPending: async (webhookNumber, settling) => {
      const row = await db.get(FIRST_PENDING, { webhookNumber, settling: JSON.stringify(settling) });
      if (row === undefined) return null;
      const { dueAt, ...batch } = readRow<Batch & { readonly dueAt: number }>(row);
      return { batch, dueAt };
    },
    wake: async (webhookNumber, at) => void (await db.commit([{ sql: WAKE, params: { webhookNumber, at } }])),
    postpone: async (webhookNumber, at) => void (await db.commit([{ sql: POSTPONE, params: { webhookNumber, at } }])),
  };
}

/** The statements of a claim, also for the end of a settlement's transaction. */
export function claimStatements(claim: Claim): Statement[] {
  const { webhookNumber, owner, leaseExpiresAt, now, retries, fresh, cursorBefore, cursorAfter, notBefore, idleAt } =
    claim;
  return [
    ...retries.map(({ firstOffset, id, attemptNumber }) => ({
      sql: CLAIM_RETRY,
      params: { webhookNumber, firstOffset, id, attemptNumber, owner, leaseExpiresAt, now },
      expectChanges: 1,
    })),
    ...(fresh.length === 0
      ? []
      : [
          {
            sql: CLAIM_FRESH,
            params: { webhookNumber, owner, leaseExpiresAt, now, cursorBefore, batches: batchesJson(fresh) },
          },
        ]),
    {
      sql: MOVE_CURSOR,
      params: {
        webhookNumber,
        cursorBefore,
        cursorAfter,
        now,
        notBefore,
        idleAt,
        sessionId: claim.session.id,
        sessionAt: claim.session.at,
        settingsVersion: claim.settingsVersion,
      },
      expectChanges: 1,
    },
  ];
}

function batchesJson(fresh: readonly Batch[]): string {
  return JSON.stringify(fresh.map(({ firstOffset, lastOffset, id }) => [firstOffset, lastOffset, id]));
}

/** The settings, with their secrets unsealed. `version` changes with any of them. */
type Settings = {
  readonly version: string;
  readonly configuration: WebhookConfiguration;
  readonly endpoint: Endpoint;
  readonly key: PgpKey | null;
};

/** The progress of webhooks and the version of their settings: look-ups by primary key. */
export function currentTarget(condition: string): string {
  return `
  SELECT ${PROGRESS.columns('p')},
         w.id || ' ' || w.updated_at || ' ' || e.id || ' ' || e.updated_at || ' ' || coalesce(k.id || ' ' || k.updated_at, '') AS version,
         CASE WHEN e.allowed_requests_per_minute IS NOT NULL THEN e.allowed_requests_per_minute / 60.0 /
           (SELECT count(*) FROM webhook AS s WHERE s.endpoint_id = e.id) END AS allowed_per_second
  FROM webhook AS w
  JOIN webhook_progress AS p ON p.webhook_number = w.number
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

/** Whether an event `e` must no longer be sent. Served by erasure_open, and asked only about events that have a subject. */
export const IS_UNDER_ERASURE = `e.subject IS NOT NULL AND EXISTS (SELECT 1 FROM erasure AS r INDEXED BY erasure_open
      WHERE r.subject = e.subject AND r.through_key >= e.key AND r.finished_at IS NULL)`;
/** Whether the type of an event `e` requires encryption. */
export const REQUIRES_ENCRYPTION =
  'EXISTS (SELECT 1 FROM event_type AS t WHERE t.name = e.type AND t.encryption_required)';
// The columns are named like the fields of `LogRecord`, so that a row is a record.
const RECORDS = `
  SELECT o.record_offset AS "offset", e.created_at AS "createdAt", e.correlation_id AS "correlationId", e.id AS "messageId",
    e.type AS "eventType", ${REQUIRES_ENCRYPTION} AS "encryptionRequired", e.actor_id AS "actorId", e.subject,
    CASE WHEN ${IS_UNDER_ERASURE} THEN NULL ELSE e.data END AS "dataJson"
  FROM outbox AS o CROSS JOIN event AS e
  WHERE e.key = o.event_key AND o.webhook_number = @webhookNumber AND o.record_offset BETWEEN @first AND @last
  ORDER BY o.record_offset`;

export function recordReader(db: Pick<Database, 'all'>): ReadRecords {
  return async (webhookNumber, first, last) =>
    (await db.all(RECORDS, { webhookNumber, first, last })) as unknown as LogRecord[];
}
