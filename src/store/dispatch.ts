/** What the dispatcher reads and writes: due webhooks, claims of batches, and the outcomes of attempts. */
import type { EnvelopeRecord } from '../wire/envelope.ts';
import { type AttemptRecord, attemptStatement } from './attempts.ts';
import type { Database, Row, Statement } from './database.ts';
import { type Endpoint, endpointTable } from './endpoints.ts';
import { PGP_KEY, type PgpKey } from './keys.ts';
import type { Vault } from './vault.ts';
import { readWebhook, type StateChange, stateStatements, type Webhook, type WebhookState } from './webhooks.ts';

/** A webhook with all that a delivery needs to know of it. */
export type Route = { readonly webhook: Webhook; readonly endpoint: Endpoint; readonly key: PgpKey | null };

/** Records that travel together, claimed or about to be. `attemptNumber` is the attempt that the claim begins. */
export type Batch = {
  readonly webhookNumber: number;
  readonly id: string;
  readonly firstOffset: number;
  readonly lastOffset: number;
  readonly attemptNumber: number;
  readonly contentRefusals: number;
};

/** A record of the log with its payload. `dataJson` is null once erased. */
export type LogRecord = Omit<EnvelopeRecord, 'dataJson'> & { readonly dataJson: string | null };

export type Claim = {
  readonly webhookNumber: number;
  readonly owner: string;
  readonly leaseExpiresAt: number;
  readonly now: number;
  /** Batches that existed and are due; their attempt numbers are already counted up. */
  readonly retries: readonly Batch[];
  /** New ones, cut from the log between `cursorBefore` and `cursorAfter`. */
  readonly fresh: readonly Batch[];
  readonly cursorBefore: number;
  readonly cursorAfter: number;
  /** The webhook is not looked at again before this, whatever waits. */
  readonly notBefore: number;
  /** When it is next looked at though no record waits: a heartbeat or the session's renewal. */
  readonly idleAt: number;
  readonly session: { readonly id: string; readonly at: number };
};

/** What becomes of a batch after an attempt. */
export type BatchFate =
  | { readonly kind: 'delivered' | 'dead'; readonly at: number }
  | { readonly kind: 'retry'; readonly at: number; readonly contentRefusals: number }
  | { readonly kind: 'release'; readonly at: number }
  | { readonly kind: 'halve'; readonly at: number; readonly halfIds: readonly [string, string] };

export type Settlement = {
  readonly webhookNumber: number;
  readonly owner: string;
  readonly attempt: AttemptRecord | null;
  readonly batch: Batch | null;
  readonly fate: BatchFate | null;
  readonly health: Health;
  /** The state that the decision was made on; `StaleWrite` if it is another by now. */
  readonly stateBefore: WebhookState;
  readonly change: StateChange | null;
};

/** The part of a webhook's progress that every outcome may change. */
export type Health = {
  readonly sentAt: number | null;
  readonly failingSinceAt: number | null;
  readonly failureStreak: number;
  readonly probeAt: number | null;
  readonly deadStreak: number;
  readonly wakeAt: number;
};

/** Later than any instant: what never comes. */
export const NEVER = 9_000_000_000_000;

// Served by webhook_progress_wake: what is stopped or idle is never looked at.
const DUE_WEBHOOKS = `
  SELECT webhook_number FROM webhook_progress WHERE wake_at <= @now ORDER BY wake_at LIMIT @limit`;
const NEXT_WAKE = 'SELECT min(wake_at) AS wake_at FROM webhook_progress WHERE wake_at IS NOT NULL';
// Served by batch_due.
const DUE_BATCHES = `
  SELECT id, first_offset, last_offset, attempt_count, content_refusals FROM batch
  WHERE webhook_number = @webhookNumber AND state = 'pending' AND next_attempt_at <= @now
  ORDER BY next_attempt_at LIMIT @limit`;
const FIRST_PENDING = `
  SELECT id, first_offset, last_offset, attempt_count, content_refusals, next_attempt_at FROM batch INDEXED BY batch_due
  WHERE webhook_number = @webhookNumber AND state = 'pending' ORDER BY first_offset LIMIT 1`;
const RECORDS = `
  SELECT o.record_offset, e.id, e.type, e.data, e.correlation_id, e.actor_id, e.created_at
  FROM outbox AS o CROSS JOIN event AS e ON e.key = o.event_key
  WHERE o.webhook_number = @webhookNumber AND o.record_offset BETWEEN @first AND @last
  ORDER BY o.record_offset`;
const CLAIM_RETRY = `
  UPDATE batch SET lease_owner = @owner, next_attempt_at = @leaseExpiresAt, attempt_count = @attemptNumber
  WHERE webhook_number = @webhookNumber AND first_offset = @firstOffset AND id = @id
    AND state = 'pending' AND next_attempt_at <= @now`;
const CLAIM_FRESH = `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, lease_owner)
  VALUES (@webhookNumber, @firstOffset, @lastOffset, @id, 'pending', @attemptNumber, @contentRefusals, @leaseExpiresAt, @owner)`;
// The next look is worked out here, inside the transaction, so that an event published meanwhile is not overlooked.
const MOVE_CURSOR = `
  UPDATE webhook_progress
  SET cursor_offset = @cursorAfter, session_id = @sessionId, session_at = @sessionAt,
      wake_at = nullif(max(@notBefore, CASE WHEN @cursorAfter < next_offset THEN @now ELSE min(@idleAt, coalesce(
        (SELECT min(next_attempt_at) FROM batch WHERE batch.webhook_number = @webhookNumber AND batch.state = 'pending'),
        @idleAt)) END), ${NEVER})
  WHERE webhook_number = @webhookNumber AND cursor_offset = @cursorBefore AND state IN ('started', 'running', 'failing')`;
const SLEEP = `UPDATE webhook_progress SET wake_at = NULL WHERE webhook_number = @webhookNumber AND state NOT IN ('started', 'running', 'failing')`;
const RELEASE_ALL = `UPDATE batch SET lease_owner = NULL, next_attempt_at = min(next_attempt_at, @now) WHERE state = 'pending' AND lease_owner IS NOT NULL`;
const WAKE_ALL = `
  UPDATE webhook_progress SET wake_at = min(coalesce(wake_at, @now), @now) WHERE state IN ('started', 'running', 'failing')`;

const HELD = `webhook_number = @webhookNumber AND first_offset = @firstOffset AND id = @id AND lease_owner = @owner`;
const SETTLE = `
  UPDATE batch SET state = @state, next_attempt_at = NULL, lease_owner = NULL, settled_at = @at WHERE ${HELD}`;
const RETRY = `
  UPDATE batch SET next_attempt_at = @at, lease_owner = NULL, content_refusals = @contentRefusals WHERE ${HELD}`;
const RELEASE = `
  UPDATE batch SET next_attempt_at = @at, lease_owner = NULL, attempt_count = attempt_count - 1 WHERE ${HELD}`;
const TAKE_APART = `DELETE FROM batch WHERE ${HELD}`;
const ADD_HALF = `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at)
  VALUES (@webhookNumber, @firstOffset, @lastOffset, @id, 'pending', 0, 1, @at)`;
const HEALTH = `
  UPDATE webhook_progress
  SET sent_at = @sentAt, failing_since_at = @failingSinceAt, failure_streak = @failureStreak, probe_at = @probeAt,
      dead_streak = @deadStreak,
      wake_at = CASE WHEN state IN ('started', 'running', 'failing') THEN min(coalesce(wake_at, @wakeAt), @wakeAt) END
  WHERE webhook_number = @webhookNumber AND state = @stateBefore`;

export type DispatchStore = {
  dueWebhooks(now: number, limit: number): Promise<number[]>;
  nextWakeAt(): Promise<number | null>;
  route(webhookNumber: number): Promise<Route | null>;
  dueBatches(webhookNumber: number, now: number, limit: number): Promise<Batch[]>;
  /** The pending batch with the lowest offset, and when it is due: all that an ordered webhook may send. */
  firstPending(webhookNumber: number): Promise<{ readonly batch: Batch; readonly dueAt: number } | null>;
  /** Records by offset, both ends included. */
  records(webhookNumber: number, first: number, last: number): Promise<LogRecord[]>;
  /** Takes the batches on lease and moves the cursor. Throws `StaleWrite` if another claim or a stop came first. */
  claim(claim: Claim): Promise<void>;
  /** Forgets the wake-up of a webhook that no longer runs. */
  sleep(webhookNumber: number): Promise<void>;
  /** Writes what became of an attempt. Throws `StaleWrite` if the lease was lost or the webhook's state is another by now. */
  settle(settlement: Settlement): Promise<void>;
  /** At start, when nobody else can hold a lease: gives back whatever a killed process had claimed. */
  releaseAll(now: number): Promise<void>;
};

export function dispatchStore(db: Database, vault: Vault): DispatchStore {
  const endpoints = endpointTable(vault);
  const routeSql = `
    SELECT w.*, p.* FROM webhook AS w JOIN webhook_progress AS p ON p.webhook_number = w.number WHERE w.number = @webhookNumber`;
  const endpointSql = `SELECT ${endpoints.columns()} FROM endpoint WHERE id = @id`;
  const keySql = `SELECT ${PGP_KEY.columns()} FROM pgp_key WHERE name = @name`;
  return {
    dueWebhooks: async (now, limit) =>
      (await db.all(DUE_WEBHOOKS, { now, limit })).map((row) => Number(row.webhook_number)),
    nextWakeAt: async () => {
      const row = await db.get(NEXT_WAKE, {});
      return row?.wake_at == null ? null : Number(row.wake_at);
    },
    route: async (webhookNumber) => {
      const row = await db.get(routeSql, { webhookNumber });
      if (row === undefined) return null;
      const webhook = readWebhook(row);
      const endpoint = await db.get(endpointSql, { id: webhook.endpointId });
      const key =
        webhook.encryptionKeyName === null ? undefined : await db.get(keySql, { name: webhook.encryptionKeyName });
      if (endpoint === undefined) return null;
      return { webhook, endpoint: endpoints.read(endpoint), key: key === undefined ? null : PGP_KEY.read(key) };
    },
    dueBatches: async (webhookNumber, now, limit) =>
      (await db.all(DUE_BATCHES, { webhookNumber, now, limit })).map((row) => readBatch(webhookNumber, row)),
    firstPending: async (webhookNumber) => {
      const row = await db.get(FIRST_PENDING, { webhookNumber });
      return row === undefined ? null : { batch: readBatch(webhookNumber, row), dueAt: Number(row.next_attempt_at) };
    },
    records: async (webhookNumber, first, last) =>
      (await db.all(RECORDS, { webhookNumber, first, last })).map(readRecord),
    claim: async (claim) => void (await db.commit(claimStatements(claim))),
    sleep: async (webhookNumber) => void (await db.commit([{ sql: SLEEP, params: { webhookNumber } }])),
    settle: async (settlement) => void (await db.commit(settleStatements(settlement))),
    releaseAll: async (now) =>
      void (await db.commit([
        { sql: RELEASE_ALL, params: { now } },
        { sql: WAKE_ALL, params: { now } },
      ])),
  };
}

function claimStatements(claim: Claim): Statement[] {
  const { webhookNumber, owner, leaseExpiresAt, now, retries, fresh, cursorBefore, cursorAfter, notBefore, idleAt } =
    claim;
  return [
    ...retries.map(({ firstOffset, id, attemptNumber }) => ({
      sql: CLAIM_RETRY,
      params: { webhookNumber, firstOffset, id, attemptNumber, owner, leaseExpiresAt, now },
      expectChanges: 1,
    })),
    ...fresh.map((batch) => ({ sql: CLAIM_FRESH, params: { ...batch, owner, leaseExpiresAt } })),
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
      },
      expectChanges: 1,
    },
  ];
}

function settleStatements({
  webhookNumber,
  owner,
  attempt,
  batch,
  fate,
  health,
  stateBefore,
  change,
}: Settlement): Statement[] {
  return [
    ...(batch === null || fate === null ? [] : fateStatements(batch, fate, owner)),
    ...(attempt === null ? [] : [attemptStatement(attempt)]),
    { sql: HEALTH, params: { ...health, webhookNumber, stateBefore }, expectChanges: 1 },
    ...(change === null ? [] : stateStatements(change)),
  ];
}

function fateStatements(batch: Batch, fate: BatchFate, owner: string): Statement[] {
  const { webhookNumber, firstOffset, lastOffset, id } = batch;
  const held = { webhookNumber, firstOffset, id, owner };
  const at = fate.at;
  switch (fate.kind) {
    case 'retry':
      return [{ sql: RETRY, params: { ...held, at, contentRefusals: fate.contentRefusals }, expectChanges: 1 }];
    case 'release':
      return [{ sql: RELEASE, params: { ...held, at }, expectChanges: 1 }];
    case 'halve': {
      const middle = firstOffset + Math.floor((lastOffset - firstOffset) / 2);
      const [left, right] = fate.halfIds;
      return [
        { sql: TAKE_APART, params: held, expectChanges: 1 },
        { sql: ADD_HALF, params: { webhookNumber, firstOffset, lastOffset: middle, id: left, at } },
        { sql: ADD_HALF, params: { webhookNumber, firstOffset: middle + 1, lastOffset, id: right, at } },
      ];
    }
    default:
      return [{ sql: SETTLE, params: { ...held, state: fate.kind, at }, expectChanges: 1 }];
  }
}

function readBatch(webhookNumber: number, row: Row): Batch {
  return {
    webhookNumber,
    id: String(row.id),
    firstOffset: Number(row.first_offset),
    lastOffset: Number(row.last_offset),
    attemptNumber: Number(row.attempt_count) + 1,
    contentRefusals: Number(row.content_refusals),
  };
}

function readRecord(row: Row): LogRecord {
  return {
    offset: Number(row.record_offset),
    createdAt: Number(row.created_at),
    correlationId: String(row.correlation_id),
    messageId: String(row.id),
    eventType: String(row.type),
    actorId: row.actor_id === null ? null : String(row.actor_id),
    dataJson: row.data === null ? null : String(row.data),
  };
}
