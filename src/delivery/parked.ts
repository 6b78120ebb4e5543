/**
 * Batches of a webhook that wait for earlier records of their keys (`key-queues.ts`): when they get rows, and how they return to the log.
 * Also other records that were claimed and not sent.
 */
import type { Batch, OffsetRange } from '../domain/batch.ts';
import { rowsAdded, unpark } from './key-queues.ts';
import { SLOW_ATTEMPT_MS } from './limits.ts';
import type { WebhookLog } from './webhook-log.ts';

/** Parked batches that get rows now: their keys wait for rows, or they have waited for long. */
export function parkedToWrite(log: WebhookLog, now: number): readonly Batch[] {
  const { queues } = log;
  if (queues === null || queues.parkedBatches === 0) return [];
  const found: Batch[] = [];
  for (const [key, batches] of queues.parked) {
    // Nothing of a key gets a row before what precedes it.
    const isBlocked = batches.some((batch) => queues.blocked.has(batch));
    for (const batch of batches) {
      const at = log.held.get(batch.firstOffset)?.at ?? now;
      if (log.writing.has(batch) || queues.freed.has(key) || (!isBlocked && at > now - SLOW_ATTEMPT_MS)) break;
      found.push(batch);
    }
  }
  return found;
}

/** Parked batches have rows, or their rows could not be written. */
export function endParked(log: WebhookLog, batches: readonly Batch[], isWritten: boolean): void {
  const { queues, writing, held } = log;
  for (const batch of batches) {
    writing.delete(batch);
    const isKnown = queues?.parked.get(batch.orderKey ?? '')?.includes(batch) === true;
    if (!isWritten && isKnown) continue;
    if (!isWritten) returnRecords(log, [{ first: batch.firstOffset, last: batch.lastOffset }]);
    if (held.get(batch.firstOffset)?.batch === batch) held.delete(batch.firstOffset);
    if (queues === null) continue;
    unpark(queues, batch);
    // Its key may have been freed in the meantime.
    if (batch.orderKey != null) queues.freed.add(batch.orderKey);
  }
  if (isWritten && queues !== null && batches.length > 0) rowsAdded(queues);
  // A row whose events were erased in the meantime waits for no key and is due.
  if (isWritten) log.dueAt = 0;
}

/** Whether something of the order by key is to be written immediately. */
export function hasKeyWrites({ queues }: WebhookLog): boolean {
  return queues !== null && (queues.blocked.size > 0 || queues.labels.length > 0);
}

/** Records that no claim holds return to the log, to be claimed again. */
export function returnRecords(log: WebhookLog, ranges: readonly OffsetRange[]): void {
  if (ranges.length === 0) return;
  const merged: { first: number; last: number }[] = [];
  for (const { first, last } of [...log.gaps, ...ranges].toSorted((one, other) => one.first - other.first)) {
    const before = merged.at(-1);
    if (before !== undefined && before.last + 1 >= first) before.last = Math.max(before.last, last);
    else merged.push({ first, last });
  }
  log.gaps = merged;
}

/** Parked batches return to the log: the webhook sends nothing more, or in another order. */
export function returnParked(log: WebhookLog): void {
  if (log.queues === null) return;
  // A batch that gets a row stays until the row is written.
  const parked = [...log.held.values()]
    .filter(({ batch, isParked }) => isParked && !log.writing.has(batch))
    .map(({ batch }) => batch);
  for (const { firstOffset } of parked) log.held.delete(firstOffset);
  returnRecords(
    log,
    parked.map(({ firstOffset: first, lastOffset: last }) => ({ first, last })),
  );
  log.queues = null;
  log.order = null;
}
