/**
 * Plans and takes the next work of one webhook: due retries first, then new records from the cursor, otherwise a due heartbeat. A claim
 * is its own transaction, or the last part of the transaction that settles the webhook's previous work.
 */

import type { Batch, Claim, Claimed, DeliveryTarget, NextLook, Room } from '../domain/batch.ts';
import { BATCH_BYTES } from '../domain/limits.ts';
import type { Progress, WebhookConfiguration } from '../domain/webhook.ts';
import {
  isRunnable,
  type StopReason,
  serviceStopEntry,
  stateChange,
  stoppedProgress,
  WEBHOOK_SESSION_MS,
} from '../domain/webhook-states.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { type DispatchVerbs, NEVER, type WaitingRecord } from '../store/port/dispatch.ts';
import { StaleWrite } from '../store/port/errors.ts';
import type { WebhookVerbs } from '../store/port/webhooks.ts';
import { FULL_PAUSE_MS, OAUTH_TIMEOUT_MS } from './limits.ts';
import { isSequential, LOOK_NOW, recordsOf, type Scheduler, whenSettled } from './scheduler.ts';

/** Waiting records whose sizes are read for one claim. */
const WAITING_READ_MAX = 2000;

/** The margin of a lease beyond the longest time of its attempt and those before it. */
const LEASE_MARGIN_MS = 30_000;

/** A claim to write, and the jobs that are under a lease once it is written. */
export type PlannedClaim = Claimed & { readonly claim: Claim };

type Dependencies = {
  readonly store: DispatchVerbs & WebhookVerbs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Names this process in leases. */
  readonly owner: string;
  readonly scheduler: Pick<Scheduler, 'room'>;
};

/**
 * Claims the next work of a webhook that is due; null if it is gone or does not send. Throws `StaleWrite` if the webhook changed during
 * the claim: the next look reads it again.
 */
export async function claimWork(dependencies: Dependencies, webhookNumber: number): Promise<Claimed | null> {
  const { store, clock, scheduler } = dependencies;
  const target = await store.dispatch.target(webhookNumber);
  // A webhook that stopped since it was found due is no longer woken either.
  if (target === null || !isRunnable(target.webhook.progress.state)) return null;
  const now = clock();
  const reason = stopReason(target, now);
  if (reason !== null) {
    await stopByService(dependencies, target, reason, now);
    return null;
  }
  const planned = await planClaim(dependencies, target, scheduler.room(target.webhook, now));
  await store.dispatch.claim(planned.claim);
  return planned;
}

/** The claim of a webhook that may send, given the room it has. Reads only. */
export async function planClaim(
  { store, ids, owner }: Pick<Dependencies, 'store' | 'ids' | 'owner'>,
  target: DeliveryTarget,
  room: Room,
): Promise<PlannedClaim> {
  const { webhook, endpoint } = target;
  const { progress, ordered } = webhook;
  const { now } = room;
  const { webhookNumber } = progress;
  const { retries, fresh, next } = await selectWork(store, ids, target, room);
  const { heartbeatAt: silentUntil, renewAt } = idleAt(webhook, progress);
  // A webhook with work in progress is not silent; its outcome wakes it.
  const heartbeatAt = room.claimed > 0 ? NEVER : silentUntil;
  const isEmpty = retries.length + fresh.length === 0;
  const isHeartbeat = isEmpty && room.batches > 0 && heartbeatAt <= now;
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
    idleAt: isHeartbeat ? leaseExpiresAt : Math.min(heartbeatAt, session.at + WEBHOOK_SESSION_MS),
    session,
    settingsVersion: progress.settingsVersion,
  };
  const batches: (Batch | null)[] = isHeartbeat ? [null] : [...retries, ...fresh];
  const jobs = batches.map((batch) => ({ webhookNumber, endpointId: endpoint.id, batch, ordered, leaseExpiresAt }));
  const isRateLimited = webhook.maxRecordsPerSecond !== null;
  const { customerId } = webhook;
  return { webhookNumber, customerId, claim, jobs, isSequential: isSequential(webhook), isRateLimited, next };
}

/** Why a webhook sends nothing, or null. Checked before every claim and again before every attempt. */
export function stopReason({ endpoint, key, webhook }: DeliveryTarget, now: number): StopReason | null {
  if (!endpoint.enabled) return 'endpoint_disabled';
  if (key !== null && key.expiresAt !== null && key.expiresAt <= now) return 'encryption_key_expired';
  return webhook.encryptionKeyName !== null && key === null ? 'encryption_key_missing' : null;
}

type Work = { readonly retries: readonly Batch[]; readonly fresh: readonly Batch[]; readonly next: NextLook };

function notBefore(next: NextLook): number {
  if (next.kind === 'now') return 0;
  return next.kind === 'not before' ? next.at : next.atLatest;
}

async function selectWork(store: Dependencies['store'], ids: Ids, target: DeliveryTarget, room: Room): Promise<Work> {
  const { batches, now } = room;
  if (batches === 0) return { retries: [], fresh: [], next: room.next };
  const { webhook } = target;
  if (webhook.ordered) {
    // Nothing overtakes the first pending batch, due or not.
    const first = await store.dispatch.firstPending(webhook.progress.webhookNumber, [...room.settling]);
    if (first === null) return newWork(store, ids, target, room);
    if (first.dueAt > now) return { retries: [], fresh: [], next: { kind: 'not before', at: first.dueAt } };
    return { retries: [first.batch], fresh: [], next: whenSettled(now) };
  }
  // The records of retries count towards the bound on one claim, like those of new batches.
  const most = Math.min(batches, batchesReadAtOnce(webhook));
  const held = room.claimed + room.settling.size;
  const found = await store.dispatch.dueBatches(webhook.progress.webhookNumber, now, most + held);
  const due = found.filter(({ firstOffset }) => !room.settling.has(firstOffset));
  // After a clock jump, the lease of a batch may expire while this process still sends it. It is not claimed again.
  const others = due.filter(({ firstOffset }) => !room.isClaimed(firstOffset));
  const retries = withinAllowance(others.slice(0, most), room.records);
  const free = batches - retries.length;
  if (free === 0) return { retries, fresh: [], next: whenSettled(now) };
  if (retries.length === most) return { retries, fresh: [], next: LOOK_NOW };
  const records = room.records - recordCount(retries);
  const { fresh, next } = await newWork(store, ids, target, { ...room, batches: free, records });
  // Such a batch stays due until it is settled, so looking again immediately would spin.
  const isHeldHere = due.length > others.length;
  return { retries, fresh, next: isHeldHere ? { kind: 'not before', at: now + FULL_PAUSE_MS } : next };
}

/** Cuts batches from the log. */
async function newWork(store: Dependencies['store'], ids: Ids, target: DeliveryTarget, room: Room): Promise<Work> {
  const { batches: maxBatches, records: recordsAllowed, now } = room;
  const { maxBatchRecords: maxRecords, progress } = target.webhook;
  const { webhookNumber, cursorOffset, nextOffset } = progress;
  if (cursorOffset >= nextOffset || recordsAllowed <= 0) return { retries: [], fresh: [], next: LOOK_NOW };
  const batchesRead = Math.min(maxBatches, batchesReadAtOnce(target.webhook));
  const waiting = await store.dispatch.waiting(webhookNumber, cursorOffset, batchesRead * maxRecords);
  const fresh = cutBatches(waiting, { maxRecords, maxBatches: batchesRead, recordsAllowed }).map((stretch) => ({
    ...stretch,
    webhookNumber,
    id: ids.uuid(),
    attemptNumber: 1,
    contentRefusals: 0,
  }));
  return { retries: [], fresh, next: fresh.length === maxBatches ? whenSettled(now) : LOOK_NOW };
}

function batchesReadAtOnce({ maxBatchRecords }: Pick<WebhookConfiguration, 'maxBatchRecords'>): number {
  return Math.max(1, Math.floor(WAITING_READ_MAX / maxBatchRecords));
}

/** Takes batches until the allowed records are used up. The last batch may exceed them, because it cannot be cut again. */
export function withinAllowance(batches: readonly Batch[], records: number): readonly Batch[] {
  const taken: Batch[] = [];
  let left = records;
  for (const batch of batches) {
    if (left <= 0) break;
    taken.push(batch);
    left -= recordsOf({ batch });
  }
  return taken;
}

function recordCount(batches: readonly Batch[]): number {
  return batches.reduce((sum, batch) => sum + recordsOf({ batch }), 0);
}

/** The longest that one attempt can take: it may request a token twice and post twice. */
export function attemptMs({ webhook }: Pick<DeliveryTarget, 'webhook'>): number {
  return webhook.timeoutSeconds * 2000 + OAUTH_TIMEOUT_MS * 2;
}

/** A claimed batch waits for those before it, so a lease lasts several attempts. */
function leaseMs(target: DeliveryTarget): number {
  return attemptMs(target) * 4 + LEASE_MARGIN_MS;
}

/** When a webhook with nothing to send is due: for its next heartbeat, or for the renewal of its session. */
export function idleAt(
  { heartbeatSeconds }: Pick<WebhookConfiguration, 'heartbeatSeconds'>,
  progress: Pick<Progress, 'sentAt' | 'stateAt' | 'sessionAt'>,
): { heartbeatAt: number; renewAt: number } {
  const silentSince = progress.sentAt ?? progress.stateAt;
  return {
    heartbeatAt: heartbeatSeconds === 0 ? NEVER : silentSince + heartbeatSeconds * 1000,
    renewAt: (progress.sessionAt ?? progress.stateAt) + WEBHOOK_SESSION_MS,
  };
}

/**
 * Cuts waiting records into batches of at most `maxRecords` and 1 MiB each, `recordsAllowed` in all. A larger record gets a batch of its
 * own. (The data of one event is at most 256 KiB, so that does not happen to events that were checked when published.)
 */
export function cutBatches(
  waiting: readonly WaitingRecord[],
  { maxRecords, maxBatches, recordsAllowed }: Readonly<Record<'maxRecords' | 'maxBatches' | 'recordsAllowed', number>>,
): Pick<Batch, 'firstOffset' | 'lastOffset' | 'bytes'>[] {
  const batches: { firstOffset: number; lastOffset: number; bytes: number }[] = [];
  let records = 0;
  for (const [index, { offset, bytes }] of waiting.entries()) {
    if (index >= recordsAllowed) break;
    const last = batches.at(-1);
    if (last !== undefined && records < maxRecords && last.bytes + bytes <= BATCH_BYTES) {
      last.lastOffset = offset;
      last.bytes += bytes;
      records += 1;
      continue;
    }
    if (batches.length === maxBatches) break;
    batches.push({ firstOffset: offset, lastOffset: offset, bytes });
    records = 1;
  }
  return batches;
}

/**
 * Stops a webhook for a reason that the service found. Its records stay pending. Writes the event and the audit entry too. Does nothing
 * if the webhook changed since `target` was read.
 */
export async function stopByService(
  { store, ids, log }: Pick<Dependencies, 'store' | 'ids' | 'log'>,
  { webhook, endpoint }: DeliveryTarget,
  reason: StopReason,
  now: number,
): Promise<void> {
  const after = stoppedProgress(webhook.progress, 'stop', reason, now);
  try {
    const change = stateChange(webhook, after, ids);
    const entry = serviceStopEntry(webhook, after, ids);
    if (reason === 'endpoint_disabled') await store.webhooks.stopWithEndpoint(change, entry, endpoint.id);
    else await store.webhooks.setState(change, entry);
  } catch (error) {
    if (error instanceof StaleWrite) return;
    throw error;
  }
  log.warn({ webhookId: webhook.id, reason }, 'webhook stopped');
}
