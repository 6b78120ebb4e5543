/**
 * Claims the next work of one webhook: due retries first, then new records from where the last batch ended, otherwise a due heartbeat. A
 * claim is in the memory of this process only. If the process ends, the next one finds the records in no batch and sends them.
 */

import type { Batch, Claimed, DeliveryTarget, Room } from '../domain/batch.ts';
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
import { batchId, type Clock, type Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { type DispatchVerbs, NEVER, type WaitingRecord } from '../store/port/dispatch.ts';
import { StaleWrite } from '../store/port/errors.ts';
import type { WebhookVerbs } from '../store/port/webhooks.ts';
import { type ClaimedWork, selectByKey } from './claim-by-key.ts';
import { OAUTH_TIMEOUT_MS, POLL_MS, UNCLAIMABLE_PAUSE_MS, WAITING_READ_MAX } from './limits.ts';
import { isSequential, LOOK_NOW, recordsOf, type Scheduler, WHEN_SETTLED } from './scheduler.ts';
import type { WebhookLog } from './webhook-log.ts';
import { takeOrder, type WebhookLogs } from './webhook-logs.ts';

type Dependencies = {
  readonly store: DispatchVerbs & WebhookVerbs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly scheduler: Pick<Scheduler, 'room'>;
  readonly logs: Pick<WebhookLogs, 'hold' | 'park'>;
};

/** A claim, and when to look at the webhook if nothing happens. */
export type Claim = Claimed & { readonly idleUntil: number };

/**
 * Claims the next work of a webhook: its log holds the batches and moves past them. Null if the webhook is gone or does not send. One claim
 * of a webhook at a time. Reads only, except that it begins a new session once a day, and stops a webhook that must not send.
 */
export async function claimWork(dependencies: Dependencies, log: WebhookLog): Promise<Claim | null> {
  const { store, clock, scheduler, ids, logs } = dependencies;
  const target = await store.dispatch.target(log.webhookNumber);
  // A webhook that has stopped since it was found due is not woken again.
  if (target === null || !isRunnable(target.webhook.progress.state)) return null;
  const now = clock();
  const reason = stopReason(target, now);
  // If it changed since it was read, the reason may be gone.
  if (reason !== null)
    return (await stopByService(dependencies, target, reason, now)) ? null : claimWork(dependencies, log);
  const { webhook, endpoint } = target;
  const { ordered, customerId } = webhook;
  const { webhookNumber } = log;
  // A start begins another silence, whatever was sent before it.
  if (webhook.progress.state === 'started' && (log.sentAt ?? 0) < webhook.progress.stateAt) log.sentAt = null;
  const { heartbeatAt: silentUntil, renewAt } = idleAt(webhook, { ...webhook.progress, sentAt: log.sentAt });
  if (renewAt <= now) await store.dispatch.beginSession(webhookNumber, { id: ids.uuid(), at: now });
  const isTaken = takeOrder(log, ordered);
  const room = scheduler.room(webhook, now, log.end - log.next);
  const {
    batches,
    next,
    through,
    parked = [],
  } = isTaken ? await selectWork(dependencies, target, log, room) : anotherOrder(now);
  // Nothing is awaited from here on: a position that is written in between must not pass records that are neither held nor waiting.
  if (through !== null) moveTo(log, through + 1);
  logs.hold(log, batches, now);
  logs.park(log, parked, now);
  // A webhook with work in progress needs no heartbeat, and its outcome leads to another look. So does the end of a pause.
  const isSilent = batches.length === 0 && room.claimed === 0 && room.batches > 0;
  const isHeartbeat = isSilent && silentUntil <= now;
  const idleUntil = Math.min(
    isSilent && !isHeartbeat ? silentUntil : NEVER,
    renewAt <= now ? now + WEBHOOK_SESSION_MS : renewAt,
  );
  const jobs = (isHeartbeat ? [null] : batches).map((batch) => ({
    webhookNumber,
    endpointId: endpoint.id,
    batch,
    ordered,
  }));
  const isRateLimited = webhook.maxRecordsPerSecond !== null;
  return { webhookNumber, customerId, jobs, isSequential: isSequential(webhook), isRateLimited, next, idleUntil };
}

/** Why a webhook sends nothing, or null. Checked before every claim and again before every attempt. */
export function stopReason({ endpoint, key, webhook }: DeliveryTarget, now: number): StopReason | null {
  if (!endpoint.enabled) return 'endpoint_disabled';
  if (key !== null && key.expiresAt !== null && key.expiresAt <= now) return 'encryption_key_expired';
  return webhook.encryptionKeyName !== null && key === null ? 'encryption_key_missing' : null;
}

/** Batches of another order end first. */
function anotherOrder(now: number): ClaimedWork {
  return { batches: [], next: { kind: 'not before', at: now + POLL_MS }, through: null };
}

async function selectWork(
  { store, ids }: Pick<Dependencies, 'store' | 'ids'>,
  target: DeliveryTarget,
  log: WebhookLog,
  room: Room,
): Promise<ClaimedWork> {
  const { batches: most, now } = room;
  if (most === 0) return { batches: [], next: room.next, through: null };
  const { webhook } = target;
  if (log.queues !== null)
    return selectByKey({ store, newId: ids.uuid }, webhook, log, log.queues, {
      ...room,
      batches: Math.min(most, batchesReadAtOnce(webhook)),
    });
  // What failed has a row with a due time, and nothing else has.
  const hasRetries = log.dueAt < NEVER;
  if (webhook.ordered) {
    const first = hasRetries ? await firstPending(store, log) : null;
    // Nothing overtakes the first pending batch, due or not.
    if (first === null || (log.gaps[0]?.first ?? NEVER) < first.batch.firstOffset)
      return newWork(store, target, log, room);
    if (first.dueAt > now) return { batches: [], next: { kind: 'not before', at: first.dueAt }, through: null };
    return { batches: [first.batch], next: WHEN_SETTLED, through: null };
  }
  const limit = Math.min(most, batchesReadAtOnce(webhook));
  const retries = log.dueAt > now ? [] : await dueRetries(store, log, room, limit);
  const free = most - retries.length;
  if (free === 0) return { batches: retries, next: WHEN_SETTLED, through: null };
  if (retries.length === limit) return { batches: retries, next: LOOK_NOW, through: null };
  const records = room.records - retries.reduce((sum, batch) => sum + recordsOf({ batch }), 0);
  const fresh = await newWork(store, target, log, { ...room, batches: free, records });
  return { ...fresh, batches: [...retries, ...fresh.batches] };
}

async function firstPending(
  store: Dependencies['store'],
  log: WebhookLog,
): Promise<Awaited<ReturnType<DispatchVerbs['dispatch']['firstPending']>>> {
  log.dueAt = NEVER;
  const first = await store.dispatch.firstPending(log.webhookNumber, [...log.held.keys()]);
  if (first !== null) log.dueAt = Math.min(log.dueAt, first.dueAt);
  return first;
}

/** The records of retries count towards the bound on one claim, like those of new batches. */
async function dueRetries(
  store: Dependencies['store'],
  log: WebhookLog,
  room: Room,
  limit: number,
): Promise<readonly Batch[]> {
  // Before the read: an outcome that is written, or a change that is read, during it may make a batch due earlier.
  log.dueAt = NEVER;
  const found = await store.dispatch.dueBatches(log.webhookNumber, room.now, limit, [...log.held.keys()]);
  const retries = withinAllowance(found.batches, room.records);
  // If some of the due batches were not taken, they stay due.
  const isAll = retries.length === found.batches.length && found.batches.length < limit;
  log.dueAt = Math.min(log.dueAt, isAll ? found.nextAt : room.now);
  return retries;
}

/** Cuts batches from the log. */
async function newWork(
  store: Dependencies['store'],
  target: DeliveryTarget,
  log: WebhookLog,
  room: Room,
): Promise<ClaimedWork> {
  const { batches: maxBatches, records: recordsAllowed, now } = room;
  const { webhookNumber } = log;
  const { maxBatchRecords: maxRecords } = target.webhook;
  const { gaps } = log;
  const [gap] = gaps;
  const from = gap?.first ?? log.next;
  const through = gap?.last ?? log.end - 1;
  if (from > through || recordsAllowed <= 0) return { batches: [], next: LOOK_NOW, through: null };
  const batchesRead = Math.min(maxBatches, batchesReadAtOnce(target.webhook));
  const limit = Math.min(batchesRead * maxRecords, through - from + 1);
  const waiting = await store.dispatch.waiting(webhookNumber, from, limit);
  // Records returned to the log during the read.
  if (log.gaps !== gaps) return { batches: [], next: LOOK_NOW, through: null };
  const inside = waiting.filter(({ offset }) => offset <= through);
  const batches = cutBatches(inside, { maxRecords, maxBatches: batchesRead, recordsAllowed }).map((cut): Batch => {
    const { firstOffset, lastOffset, bytes, createdAt } = cut;
    const id = batchId({ createdAt, webhookNumber, first: firstOffset, last: lastOffset });
    return { webhookNumber, id, firstOffset, lastOffset, bytes, attemptNumber: 1, contentRefusals: 0, isStored: false };
  });
  const last = batches.at(-1)?.lastOffset;
  // Never past a record that was not read. The next look asks for the end again, unless the log grew during the read.
  if (last === undefined && gap === undefined && log.end === through + 1) log.end = log.next;
  if (last === undefined)
    return { batches, next: { kind: 'not before', at: now + UNCLAIMABLE_PAUSE_MS }, through: null };
  return { batches, next: batches.length === maxBatches ? WHEN_SETTLED : LOOK_NOW, through: last };
}

/** Everything before `offset` is claimed or in a batch. */
function moveTo(log: WebhookLog, offset: number): void {
  const [gap, ...others] = log.gaps;
  if (gap === undefined) log.next = Math.max(log.next, offset);
  else log.gaps = offset > gap.last ? others : [{ first: Math.max(gap.first, offset), last: gap.last }, ...others];
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

/** The longest that one attempt can take: it may request a token twice and post twice. */
export function attemptMs({ webhook }: { readonly webhook: Pick<WebhookConfiguration, 'timeoutSeconds'> }): number {
  return webhook.timeoutSeconds * 2000 + OAUTH_TIMEOUT_MS * 2;
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

/** `createdAt`: of the first record. */
type Cut = Pick<Batch, 'firstOffset' | 'lastOffset' | 'bytes'> & { readonly createdAt: number };

/**
 * Cuts waiting records into batches of at most `maxRecords` and 1 MiB each, `recordsAllowed` in all. A larger record gets a batch of its
 * own. (The data of one event is at most 256 KiB, so that does not happen to events that were checked when published.)
 */
export function cutBatches(
  waiting: readonly WaitingRecord[],
  { maxRecords, maxBatches, recordsAllowed }: Readonly<Record<'maxRecords' | 'maxBatches' | 'recordsAllowed', number>>,
): Cut[] {
  const batches: { firstOffset: number; lastOffset: number; bytes: number; createdAt: number }[] = [];
  let records = 0;
  for (const [index, { offset, bytes, createdAt }] of waiting.entries()) {
    if (index >= recordsAllowed) break;
    const last = batches.at(-1);
    if (last !== undefined && records < maxRecords && last.bytes + bytes <= BATCH_BYTES) {
      last.lastOffset = offset;
      last.bytes += bytes;
      records += 1;
      continue;
    }
    if (batches.length === maxBatches) break;
    batches.push({ firstOffset: offset, lastOffset: offset, bytes, createdAt });
    records = 1;
  }
  return batches;
}

/**
 * Stops a webhook for a reason that the service found. Its records stay pending. Writes the event and the audit entry too. Does nothing
 * and returns false if the webhook changed since `target` was read.
 */
export async function stopByService(
  { store, ids, log }: Pick<Dependencies, 'store' | 'ids' | 'log'>,
  { webhook, endpoint }: DeliveryTarget,
  reason: StopReason,
  now: number,
): Promise<boolean> {
  const after = stoppedProgress(webhook.progress, 'stop', reason, now);
  try {
    const change = stateChange(webhook, after, ids);
    const entry = serviceStopEntry(webhook, after, ids);
    if (reason === 'endpoint_disabled') await store.webhooks.stopWithEndpoint(change, entry, endpoint.id);
    else await store.webhooks.setState(change, entry);
  } catch (error) {
    if (error instanceof StaleWrite) return false;
    throw error;
  }
  log.warn({ webhookId: webhook.id, reason }, 'webhook stopped');
  return true;
}
