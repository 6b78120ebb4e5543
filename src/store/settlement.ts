/** What becomes of a batch and of its webhook after an attempt, written in one transaction with the attempt itself. */
import { type AttemptRecord, attemptStatement } from './attempts.ts';
import type { Database, Statement } from './database.ts';
import type { Batch } from './dispatch.ts';
import { type StateChange, stateStatements, type WebhookState } from './webhooks.ts';

/** What becomes of a batch. A released one was not tried after all: the attempt is not counted. */
export type BatchFate =
  | { readonly kind: 'delivered' | 'dead' | 'discarded'; readonly at: number }
  | { readonly kind: 'retry'; readonly at: number; readonly contentRefusals: number }
  | { readonly kind: 'release'; readonly at: number }
  | { readonly kind: 'halve'; readonly at: number; readonly halfIds: readonly [string, string] };

/** The part of a webhook's progress that every outcome may change. */
export type Health = {
  readonly stateReason: string | null;
  readonly stateDetail: string | null;
  readonly sentAt: number | null;
  readonly failingSinceAt: number | null;
  readonly failureStreak: number;
  readonly probeAt: number | null;
  readonly deadStreak: number;
  /** When the dispatcher looks next; an earlier time that was set already stays. */
  readonly wakeAt: number;
};

export type Settlement = {
  readonly webhookNumber: number;
  /** Who holds the lease on the batch. */
  readonly owner: string;
  readonly attempt: AttemptRecord | null;
  readonly batch: Batch | null;
  readonly fate: BatchFate | null;
  readonly health: Health;
  /** The state that was decided on. */
  readonly stateBefore: WebhookState;
  readonly change: StateChange | null;
};

const HELD = 'webhook_number = @webhookNumber AND first_offset = @firstOffset AND id = @id AND lease_owner = @owner';
const SETTLE = `
  UPDATE batch SET state = @state, next_attempt_at = NULL, lease_owner = NULL, settled_at = @at WHERE ${HELD}`;
const RETRY = `
  UPDATE batch SET next_attempt_at = @at, lease_owner = NULL, content_refusals = @contentRefusals WHERE ${HELD}`;
const RELEASE = `
  UPDATE batch SET next_attempt_at = @at, lease_owner = NULL, attempt_count = attempt_count - 1 WHERE ${HELD}`;
const TAKE_APART = `DELETE FROM batch WHERE ${HELD}`;
// A half goes on where the whole stopped: the next answer that speaks of its content halves it again.
const ADD_HALF = `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at)
  VALUES (@webhookNumber, @firstOffset, @lastOffset, @id, 'pending', 0, 1, @at)`;
const HEALTH = `
  UPDATE webhook_progress
  SET state_reason = @stateReason, state_detail = @stateDetail, sent_at = @sentAt, failing_since_at = @failingSinceAt,
      failure_streak = @failureStreak, probe_at = @probeAt, dead_streak = @deadStreak,
      wake_at = min(coalesce(wake_at, @wakeAt), @wakeAt)
  WHERE webhook_number = @webhookNumber AND state = @stateBefore AND state IN ('started', 'running', 'failing')`;

export type SettlementStore = {
  /**
   * Writes what became of an attempt. Throws `StaleWrite` if the lease was lost or the webhook's state is another by now;
   * nothing is written then.
   */
  settle(settlement: Settlement): Promise<void>;
  /** For a webhook that was stopped meanwhile: the batch and the attempt, nothing of the webhook itself. */
  settleStopped(settlement: Omit<Settlement, 'health' | 'stateBefore' | 'change'>): Promise<void>;
};

export function settlementStore(db: Database): SettlementStore {
  return {
    settle: async (settlement) => {
      const { webhookNumber, health, stateBefore, change } = settlement;
      await db.commit([
        ...batchStatements(settlement),
        { sql: HEALTH, params: { ...health, webhookNumber, stateBefore }, expectChanges: 1 },
        ...(change === null ? [] : stateStatements(change)),
      ]);
    },
    settleStopped: async (settlement) => void (await db.commit(batchStatements(settlement))),
  };
}

function batchStatements({
  batch,
  fate,
  owner,
  attempt,
}: Pick<Settlement, 'batch' | 'fate' | 'owner' | 'attempt'>): Statement[] {
  return [
    ...(batch === null || fate === null ? [] : fateStatements(batch, fate, owner)),
    ...(attempt === null ? [] : [attemptStatement(attempt)]),
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
