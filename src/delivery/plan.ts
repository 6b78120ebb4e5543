/** What may be claimed of a webhook now (contract §5). Pure: the dispatcher reads, asks here, and writes. */
import { FULL_PAUSE_MS } from '../kernel/limits/delivery.ts';
import { BATCH_BYTES } from '../kernel/limits/limits.ts';
import { NEVER } from '../store/dispatch.ts';
import { SESSION_MS, type StopReason } from '../webhooks/lifecycle.ts';
import type { Progress, WebhookConfiguration } from '../webhooks/webhook.ts';
import type { Batch } from './batch.ts';
import type { DeliveryTarget } from './target.ts';

/** What keeps a webhook from sending anything at all, or null. Asked before every claim and again before every attempt. */
export function stopReason({ endpoint, key, webhook }: DeliveryTarget, now: number): StopReason | null {
  if (!endpoint.enabled) return 'endpoint_disabled';
  if (key !== null && key.expiresAt !== null && key.expiresAt <= now) return 'encryption_key_expired';
  return webhook.encryptionKeyName !== null && key === null ? 'encryption_key_missing' : null;
}

/** Whether a webhook sends one request at a time: an ordered one, and any other whose last attempt did not succeed. */
export function isAlone({
  ordered,
  progress,
}: Pick<WebhookConfiguration, 'ordered'> & { progress: Progress }): boolean {
  return ordered || progress.state !== 'running';
}

/** What is claimed already, and how much more there is room for. */
export type Load = {
  readonly now: number;
  /** Batches that may be claimed besides. */
  readonly room: number;
  /** Claimed and not settled yet: waiting, under way, or about to be written. */
  readonly claimed: number;
  /** First offsets of the batches that the same transaction settles before the claim: they do not count as claimed any more. */
  readonly settling: ReadonlySet<number>;
  /** Whether a batch that begins at this offset is among those. */
  readonly has: (firstOffset: number) => boolean;
  /** Records that the rate allows, and when it allows the next ones. */
  readonly records: number;
  readonly nextRecordAt: number;
};

/**
 * When a webhook is looked at again: at once if anything of it is due, not before an instant though something is, or when something of
 * it is settled and by an instant at the latest. What is published wakes it in any case.
 */
export type NextLook =
  | { readonly kind: 'at once' }
  | { readonly kind: 'not before'; readonly at: number }
  | { readonly kind: 'when settled'; readonly atLatest: number };

export const AT_ONCE: NextLook = { kind: 'at once' };

/** The webhook has all under way that it may. */
export function whenSettled(now: number): NextLook {
  return { kind: 'when settled', atLatest: now + FULL_PAUSE_MS };
}

/** Batches that may be claimed now, and when it is asked again. */
export type Capacity = { readonly batches: number; readonly next: NextLook };

/** How much a webhook may claim: alone one batch at a time, after a failure of its endpoint not before its probe. */
export function capacity(webhook: Pick<WebhookConfiguration, 'ordered'>, progress: Progress, load: Load): Capacity {
  const { now, room, claimed, records, nextRecordAt } = load;
  const alone = isAlone({ ...webhook, progress });
  if (room <= 0 || (alone && claimed > 0)) return { batches: 0, next: whenSettled(now) };
  if (progress.probeAt !== null && progress.probeAt > now) return noneBefore(progress.probeAt);
  if (records <= 0) return noneBefore(nextRecordAt);
  return { batches: alone ? 1 : room, next: AT_ONCE };
}

function noneBefore(at: number): Capacity {
  return { batches: 0, next: { kind: 'not before', at } };
}

/** The first of the batches until the records allowed are used up; the last may go beyond, since it cannot be cut again. */
export function withinAllowance(batches: readonly Batch[], records: number): readonly Batch[] {
  const taken: Batch[] = [];
  let left = records;
  for (const batch of batches) {
    if (left <= 0) break;
    taken.push(batch);
    left -= batch.lastOffset - batch.firstOffset + 1;
  }
  return taken;
}

/** When a webhook that has nothing to send is looked at: for its next heartbeat, or the renewal of its session. */
export function idleAt(
  { heartbeatSeconds }: Pick<WebhookConfiguration, 'heartbeatSeconds'>,
  progress: Pick<Progress, 'sentAt' | 'stateAt' | 'sessionAt'>,
): { heartbeatAt: number; renewAt: number } {
  const silentSince = progress.sentAt ?? progress.stateAt;
  return {
    heartbeatAt: heartbeatSeconds === 0 ? NEVER : silentSince + heartbeatSeconds * 1000,
    renewAt: (progress.sessionAt ?? progress.stateAt) + SESSION_MS,
  };
}

/** A stretch of the log that travels together; both ends are included. */
export type Stretch = Pick<Batch, 'firstOffset' | 'lastOffset' | 'bytes'>;

type Limits = { readonly maxRecords: number; readonly maxBatches: number; readonly recordsAllowed: number };

/**
 * Cuts waiting records into batches of at most `maxRecords` and 1 MiB, `recordsAllowed` in all. A record that is larger alone
 * travels alone (one event's data is at most 256 KiB, so this does not happen with events that were checked at ingest).
 */
export function cutBatches(
  waiting: readonly { readonly offset: number; readonly bytes: number }[],
  { maxRecords, maxBatches, recordsAllowed }: Limits,
): Stretch[] {
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
