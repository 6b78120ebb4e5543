/** What follows from jobs of one webhook that ended, one after the other (contract §5). Pure but for the ids it draws. */

import type { Ids } from '../kernel/ids.ts';
import type { AuditEntry } from '../resources/audit.ts';
import { isRunnable, nextState, stoppedProgress } from '../webhooks/lifecycle.ts';
import { serviceStopEntry, stateChange } from '../webhooks/state-change.ts';
import type { Progress, StateChange, Webhook } from '../webhooks/webhook.ts';
import type { Finished, Job, Result } from './job.ts';
import { healthOf, type Judgement, judge, judgeBrokenOff, judgeElsewhere, judgeUnreadable } from './judge.ts';
import { attemptRecord, type Sent } from './send.ts';
import type { SettledBatch, Settlement } from './settlement.ts';

export type Conclusion = {
  readonly batches: readonly SettledBatch[];
  readonly health: Settlement['health'];
  readonly changes: readonly StateChange[];
  /** Of the change that stops the webhook, where one does: it is the last. */
  readonly audit: AuditEntry | null;
  /** Where the webhook is afterwards. */
  readonly progress: Progress;
};

type Circumstances = {
  readonly now: number;
  readonly jitter: () => number;
  readonly ids: Ids;
  /** Where the webhook sends to now. */
  readonly url: string;
};

/**
 * Judges each attempt by where the one before left the webhook, so that streaks count and every change of state is told,
 * however many are settled together. Of a webhook that does not run any more only the batches are judged.
 */
export function conclude(webhook: Webhook, finished: readonly Finished[], circumstances: Circumstances): Conclusion {
  const { now, jitter, ids, url } = circumstances;
  let { progress } = webhook;
  let judged = false;
  const halfIds = (): [string, string] => [ids.uuid(), ids.uuid()];
  const batches: SettledBatch[] = [];
  const changes: StateChange[] = [];
  let audit: AuditEntry | null = null;
  for (const { job, result } of finished) {
    const { batch } = job;
    if (result.kind === 'lost') {
      const attempt = result.sent === null ? null : attemptOf(job, result.sent, ids);
      batches.push({ batch: null, fate: null, attempt });
      continue;
    }
    if (result.kind === 'cut off') {
      // It says nothing of the endpoint, and takes none of the batch's attempts away.
      const fate = batch === null ? null : ({ kind: 'release', at: now } as const);
      batches.push({ batch, fate, attempt: attemptOf(job, result.sent, ids) });
      continue;
    }
    if (!('sent' in result)) {
      batches.push({ batch, fate: batch === null ? null : { kind: result.kind, at: now }, attempt: null });
      continue;
    }
    const { outcome, startedAt } = result.sent;
    const question = { outcome, batch, webhook, progress, startedAt, now, jitter, halfIds };
    const judgement = judgeOf(result, url)(question);
    const isTold = result.kind !== 'unreadable' || judgement.fate?.kind === 'dead';
    batches.push({ batch, fate: judgement.fate, attempt: isTold ? attemptOf(job, result.sent, ids) : null });
    if (!isRunnable(progress.state)) continue;
    judged = true;
    const after = progressAfter(progress, judgement, now);
    if (after.state !== progress.state) {
      const before = { ...webhook, progress };
      changes.push(stateChange(before, after, ids));
      if (!isRunnable(after.state)) audit = serviceStopEntry(before, after, ids);
    }
    progress = after;
  }
  const health = judged && isRunnable(progress.state) ? { ...healthOf(progress), state: progress.state } : null;
  return { batches, changes, audit, progress, health };
}

function judgeOf(result: Result, url: string): typeof judge {
  if (result.kind === 'sent') return result.url === url ? judge : judgeElsewhere;
  return result.kind === 'unreadable' ? judgeUnreadable : judgeBrokenOff;
}

function progressAfter(progress: Progress, { event, health, stopReason }: Judgement, now: number): Progress {
  const state = event === null ? progress.state : nextState(progress.state, event);
  if (state === progress.state) return { ...progress, ...health };
  if (event === 'stop' || event === 'gave_up') {
    return stoppedProgress({ ...progress, ...health }, event, stopReason ?? 'stopped_by_administrator', now);
  }
  return { ...progress, ...health, state, stateAt: now, wakeAt: now };
}

function attemptOf({ webhookNumber, batch }: Job, sent: Sent, ids: Ids): SettledBatch['attempt'] {
  const identity = {
    id: ids.uuid(),
    webhookNumber,
    kind: batch === null ? 'heartbeat' : 'delivery',
    batchId: batch?.id ?? null,
    firstOffset: batch?.firstOffset ?? null,
    lastOffset: batch?.lastOffset ?? null,
    attemptNumber: batch?.attemptNumber ?? 1,
  } as const;
  return attemptRecord(identity, sent);
}
