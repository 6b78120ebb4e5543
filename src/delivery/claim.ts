/**
 * Plans and takes the next work of one webhook: due retries first, then new records from the cursor, else a heartbeat that is due. A
 * claim is a transaction of its own, or the end of the one that settles what the webhook had under way.
 */

import type { Clock, Ids } from '../kernel/ids.ts';
import { FULL_PAUSE_MS, LEASE_MARGIN_MS, WAITING_READ_MAX } from '../kernel/limits/delivery.ts';
import type { Log } from '../observe/log.ts';
import { NEVER } from '../store/dispatch.ts';
import type { Store } from '../store/store.ts';
import { isRunnable, SESSION_MS } from '../webhooks/lifecycle.ts';
import type { WebhookConfiguration } from '../webhooks/webhook.ts';
import type { Batch, Claim } from './batch.ts';
import { attemptMs, type Job } from './job.ts';
import type { Manner } from './lanes.ts';
import {
  AT_ONCE,
  type Capacity,
  capacity,
  cutBatches,
  idleAt,
  isAlone,
  type Load,
  type NextLook,
  stopReason,
  whenSettled,
  withinAllowance,
} from './plan.ts';
import { stopByService } from './stop.ts';
import type { DeliveryTarget } from './target.ts';

/** Jobs under a lease, in what manner, and when the webhook is looked at again. */
export type Claimed = { readonly jobs: readonly Job[]; readonly manner: Manner; readonly next: NextLook };

/** What is to be written, and the jobs that are under a lease once it is. */
export type PlannedClaim = Claimed & { readonly claim: Claim };

export type ClaimWork = (
  webhookNumber: number,
  owner: string,
  loadOf: (target: DeliveryTarget, now: number) => Load,
) => Promise<Claimed>;

type Dependencies = { readonly store: Store; readonly clock: Clock; readonly ids: Ids; readonly log: Log };

const NOTHING: Claimed = { jobs: [], manner: { alone: true, narrow: false }, next: AT_ONCE };

/** Throws `StaleWrite` when the webhook changed under the claim; the next look begins anew. */
export function createClaimWork({ store, clock, ids, log }: Dependencies): ClaimWork {
  return async (webhookNumber, owner, loadOf) => {
    const target = await store.dispatch.target(webhookNumber);
    if (target === null) return NOTHING;
    const { progress } = target.webhook;
    // It stopped since it was found due, and with that nothing wakes it any more.
    if (!isRunnable(progress.state)) return NOTHING;
    const now = clock();
    const reason = stopReason(target, now);
    if (reason !== null) {
      await stopByService({ store, ids, log }, target, reason, now);
      return NOTHING;
    }
    const { claim, ...claimed } = await planClaim({ store, ids }, owner, target, loadOf(target, now));
    await store.dispatch.claim(claim);
    return claimed;
  };
}

/** What a webhook that nothing keeps from sending may claim under this load. Reads only. */
export async function planClaim(
  { store, ids }: Pick<Dependencies, 'store' | 'ids'>,
  owner: string,
  target: DeliveryTarget,
  load: Load,
): Promise<PlannedClaim> {
  const { webhook, endpoint } = target;
  const { progress } = webhook;
  const { now } = load;
  const { webhookNumber } = progress;
  const room = capacity(webhook, progress, load);
  const { retries, fresh, next } = await work(store, ids, target, room, load);
  const { heartbeatAt: silentUntil, renewAt } = idleAt(webhook, progress);
  // While something is under way the webhook is not silent; its outcome wakes the webhook.
  const heartbeatAt = load.claimed > 0 ? NEVER : silentUntil;
  const nothing = retries.length + fresh.length === 0;
  const heartbeat = nothing && room.batches > 0 && heartbeatAt <= now;
  const leaseExpiresAt = now + leaseMs(target);
  const session =
    renewAt <= now
      ? { id: ids.uuid(), at: now }
      : { id: progress.sessionId ?? ids.uuid(), at: progress.sessionAt ?? now };
  const claim: Claim = {
    webhookNumber,
    owner,
    now,
    leaseExpiresAt,
    retries,
    fresh,
    cursorBefore: progress.cursorOffset,
    cursorAfter: (fresh.at(-1)?.lastOffset ?? progress.cursorOffset - 1) + 1,
    notBefore: notBefore(next),
    idleAt: heartbeat ? leaseExpiresAt : Math.min(heartbeatAt, session.at + SESSION_MS),
    session,
  };
  const batches: (Batch | null)[] = heartbeat ? [null] : [...retries, ...fresh];
  const { ordered } = webhook;
  const jobs = batches.map((batch) => ({ webhookNumber, endpointId: endpoint.id, batch, ordered, leaseExpiresAt }));
  return { claim, jobs, manner: { alone: isAlone(webhook), narrow: webhook.maxRecordsPerSecond !== null }, next };
}

type Work = { readonly retries: readonly Batch[]; readonly fresh: readonly Batch[]; readonly next: NextLook };

function notBefore(next: NextLook): number {
  if (next.kind === 'at once') return 0;
  return next.kind === 'not before' ? next.at : next.atLatest;
}

async function work(store: Store, ids: Ids, target: DeliveryTarget, room: Capacity, load: Load): Promise<Work> {
  const { batches } = room;
  if (batches === 0) return { retries: [], fresh: [], next: room.next };
  const { webhook } = target;
  const { now } = load;
  if (webhook.ordered) {
    // Nothing overtakes the first pending batch, due or not.
    const first = await store.dispatch.firstPending(webhook.progress.webhookNumber, [...load.settling]);
    if (first === null) return newWork(store, ids, target, batches, load);
    if (first.dueAt > now) return { retries: [], fresh: [], next: { kind: 'not before', at: first.dueAt } };
    return { retries: [first.batch], fresh: [], next: whenSettled(now) };
  }
  // The records of each are counted, as those of new ones are.
  const most = Math.min(batches, batchesReadAtOnce(webhook));
  const held = load.claimed + load.settling.size;
  const found = await store.dispatch.dueBatches(webhook.progress.webhookNumber, now, most + held);
  const due = found.filter(({ firstOffset }) => !load.settling.has(firstOffset));
  // One whose lease ran out while it still is under way here, the clock having jumped, is not taken again.
  const others = due.filter(({ firstOffset }) => !load.has(firstOffset));
  const retries = withinAllowance(others.slice(0, most), load.records);
  const free = batches - retries.length;
  if (free === 0) return { retries, fresh: [], next: whenSettled(now) };
  if (retries.length === most) return { retries, fresh: [], next: AT_ONCE };
  const records = load.records - recordCount(retries);
  const { fresh, next } = await newWork(store, ids, target, free, { ...load, records });
  // It is due until it is settled. There may be room besides, so that to wait for that alone would be no wait at all.
  const isHeldHere = due.length > others.length;
  return { retries, fresh, next: isHeldHere ? { kind: 'not before', at: now + FULL_PAUSE_MS } : next };
}

/** Cuts batches from the log. */
async function newWork(store: Store, ids: Ids, target: DeliveryTarget, maxBatches: number, load: Load): Promise<Work> {
  const { maxBatchRecords: maxRecords, progress } = target.webhook;
  const { webhookNumber, cursorOffset, nextOffset } = progress;
  if (cursorOffset >= nextOffset || load.records <= 0) return { retries: [], fresh: [], next: AT_ONCE };
  const batchesRead = Math.min(maxBatches, batchesReadAtOnce(target.webhook));
  const waiting = await store.dispatch.waiting(webhookNumber, cursorOffset, batchesRead * maxRecords);
  const stretches = cutBatches(waiting, { maxRecords, maxBatches: batchesRead, recordsAllowed: load.records });
  const fresh = stretches.map((stretch) => ({
    ...stretch,
    webhookNumber,
    id: ids.uuid(),
    attemptNumber: 1,
    contentRefusals: 0,
  }));
  return { retries: [], fresh, next: fresh.length === maxBatches ? whenSettled(load.now) : AT_ONCE };
}

function batchesReadAtOnce({ maxBatchRecords }: Pick<WebhookConfiguration, 'maxBatchRecords'>): number {
  return Math.max(1, Math.floor(WAITING_READ_MAX / maxBatchRecords));
}

function recordCount(batches: readonly Batch[]): number {
  return batches.reduce((sum, { firstOffset, lastOffset }) => sum + lastOffset - firstOffset + 1, 0);
}

/** What is claimed ahead waits for those before it, so a lease lasts several attempts. */
function leaseMs(target: DeliveryTarget): number {
  return attemptMs(target) * 4 + LEASE_MARGIN_MS;
}
