/** Writes what an attempt brought, against a store that others write too and that may be unwell for a while. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock, Ids } from '../ids.ts';
import type { Log } from '../log.ts';
import { StaleWrite } from '../store/database.ts';
import type { BatchFate } from '../store/settlement.ts';
import type { Store } from '../store/store.ts';
import type { StateChange, Webhook } from '../store/webhooks.ts';
import { isRunnable, nextState, stoppedProgress } from '../webhooks/lifecycle.ts';
import { stateChange } from '../webhooks/status-event.ts';
import type { Job } from './claim.ts';
import { type Judgement, judge } from './judge.ts';
import { attemptRecord, type Sent } from './send.ts';

export type Settle = {
  /** Never throws. What cannot be written before the lease ends is given up: the batch is due again then. */
  settle(job: Job, sent: Sent, owner: string): Promise<void>;
  /** Gives a batch back untried, due at once. */
  release(job: Job, owner: string): Promise<void>;
  /** Closes a batch whose records were all erased. */
  discard(job: Job, owner: string): Promise<void>;
};

type Dependencies = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly jitter: () => number;
  readonly log: Log;
};

const STALE_ROUNDS = 20;
const UNWELL_PAUSE_MS = 500;

export function createSettle({ store, clock, ids, jitter, log }: Dependencies): Settle {
  /** One try at writing: on the webhook's state as it is now. */
  const write = async ({ route, batch }: Job, sent: Sent, owner: string): Promise<void> => {
    const { webhookNumber } = route.webhook.progress;
    const current = await store.dispatch.route(webhookNumber);
    if (current === null) return;
    const { webhook } = current;
    const now = clock();
    const { progress } = webhook;
    const halfIds = [ids.uuid(), ids.uuid()] as const;
    const { outcome, startedAt } = sent;
    const judgement = judge({ outcome, batch, webhook, progress, startedAt, now, jitter, halfIds });
    const attempt = attemptRecord(
      {
        id: ids.uuid(),
        webhookNumber,
        kind: batch === null ? 'heartbeat' : 'delivery',
        batchId: batch?.id ?? null,
        firstOffset: batch?.firstOffset ?? null,
        lastOffset: batch?.lastOffset ?? null,
        attemptNumber: batch?.attemptNumber ?? 1,
      },
      sent,
    );
    const settled = { webhookNumber, owner, attempt, batch, fate: judgement.fate };
    if (isRunnable(progress.state)) {
      const change = changeOf(webhook, judgement, now, ids);
      await store.settlements.settle({ ...settled, health: judgement.health, stateBefore: progress.state, change });
      if (change !== null) logChange(log, webhook.id, change);
    } else {
      await store.settlements.settleStopped(settled);
    }
    const { kind, batchId, firstOffset, lastOffset, attemptNumber, responseStatus, errorClass } = attempt;
    log.debug(
      {
        webhookId: webhook.id,
        kind,
        batchId,
        firstOffset,
        lastOffset,
        attemptNumber,
        responseStatus,
        errorClass,
        fate: judgement.fate?.kind,
      },
      'attempt',
    );
  };

  const untilWritten = async (job: Job, attempt: () => Promise<void>): Promise<void> => {
    for (let stale = 0; ; ) {
      try {
        return await attempt();
      } catch (error) {
        const isStale = error instanceof StaleWrite;
        stale += isStale ? 1 : 0;
        if (stale >= STALE_ROUNDS || clock() >= job.leaseExpiresAt) {
          const { webhook } = job.route;
          log.warn(
            { webhookId: webhook.id, batchId: job.batch?.id, err: error },
            'the outcome of an attempt could not be written',
          );
          return;
        }
        if (!isStale) await pause(UNWELL_PAUSE_MS);
      }
    }
  };

  const close = (job: Job, owner: string, fate: BatchFate): Promise<void> =>
    untilWritten(job, async () => {
      const { batch, route } = job;
      if (batch === null) return;
      await store.settlements.settleStopped({ webhookNumber: batch.webhookNumber, owner, attempt: null, batch, fate });
      await store.dispatch.wake(route.webhook.progress.webhookNumber, fate.at);
    });

  return {
    settle: (job, sent, owner) => untilWritten(job, () => write(job, sent, owner)),
    release: (job, owner) => close(job, owner, { kind: 'release', at: clock() }),
    discard: (job, owner) => close(job, owner, { kind: 'discarded', at: clock() }),
  };
}

/** What an operator should look at is a warning; that a webhook runs again is not. */
function logChange(log: Log, webhookId: string, { progress: { state, stateReason } }: StateChange): void {
  if (state === 'running') log.info({ webhookId }, 'webhook running');
  else log.warn({ webhookId, reason: stateReason }, `webhook ${state}`);
}

/** The change of state that the judgement asks for, or null when the state stays. */
function changeOf(
  webhook: Webhook,
  { event, health, stopReason }: Judgement,
  now: number,
  ids: Ids,
): StateChange | null {
  const { progress } = webhook;
  const state = nextState(progress.state, event);
  if (state === progress.state) return null;
  if (event === 'stop' || event === 'gave_up') {
    return stateChange(webhook, stoppedProgress(progress, event, stopReason ?? 'stopped_by_administrator', now), ids);
  }
  return stateChange(webhook, { ...progress, ...health, state, stateAt: now }, ids);
}
