/** What may be claimed of a webhook now (wire.md §5). Pure: the dispatcher reads, asks here, and writes. */
import { BATCH_BYTES } from '../limits.ts';
import { NEVER, type Route } from '../store/dispatch.ts';
import type { Progress, WebhookConfiguration } from '../store/webhooks.ts';
import { SESSION_MS, type StopReason } from '../webhooks/lifecycle.ts';

/** What keeps a webhook from sending anything at all, or null. Asked before every claim and again before every attempt. */
export function stopReason({ endpoint, key, webhook }: Route, now: number): StopReason | null {
  if (!endpoint.enabled) return 'endpoint_disabled';
  if (key !== null && key.expiresAt !== null && key.expiresAt <= now) return 'encryption_key_expired';
  return webhook.encryptionKeyName !== null && key === null ? 'encryption_key_missing' : null;
}

export type Capacity = {
  /** Batches that may be claimed now. */
  readonly batches: number;
  /** Not to be looked at again before this. */
  readonly notBefore: number;
};

export type Load = {
  readonly now: number;
  /** Free places in all, and at this webhook's endpoint. */
  readonly freePlaces: number;
  /** Requests of this webhook under way. */
  readonly underWay: number;
  readonly records: number;
  readonly nextRecordAt: number;
};

/** A settled attempt wakes the webhook earlier; this is for the case that none does. */
const SATURATED_LOOK_MS = 5000;

/** How much a webhook may claim: ordered and failing ones one batch at a time, failing ones not before their probe. */
export function capacity(webhook: Pick<WebhookConfiguration, 'ordered'>, progress: Progress, load: Load): Capacity {
  const { now, freePlaces, underWay, records, nextRecordAt } = load;
  const alone = webhook.ordered || progress.state !== 'running';
  if (freePlaces <= 0 || (alone && underWay > 0)) return { batches: 0, notBefore: now + SATURATED_LOOK_MS };
  if (progress.probeAt !== null && progress.probeAt > now) return { batches: 0, notBefore: progress.probeAt };
  if (records <= 0) return { batches: 0, notBefore: nextRecordAt };
  return { batches: alone ? 1 : freePlaces, notBefore: 0 };
}

/** When a webhook that has nothing to send is looked at: for its next heartbeat, or the renewal of its session. */
export function idleAt(
  { heartbeatSeconds }: WebhookConfiguration,
  progress: Progress,
): { heartbeatAt: number; renewAt: number } {
  const silentSince = progress.sentAt ?? progress.stateAt;
  return {
    heartbeatAt: heartbeatSeconds === 0 ? NEVER : silentSince + heartbeatSeconds * 1000,
    renewAt: (progress.sessionAt ?? progress.stateAt) + SESSION_MS,
  };
}

/** A stretch of the log that travels together; both ends are included. */
export type Stretch = { readonly firstOffset: number; readonly lastOffset: number };

/**
 * Cuts waiting records into batches of at most `maxRecords` and 1 MiB. A record that is larger alone travels alone
 * (one event's data is at most 256 KiB, so this does not happen with events that were checked at ingest).
 */
export function cutBatches(
  waiting: readonly { readonly offset: number; readonly bytes: number }[],
  { maxRecords, maxBatches }: { readonly maxRecords: number; readonly maxBatches: number },
): Stretch[] {
  const batches: { firstOffset: number; lastOffset: number }[] = [];
  let records = 0;
  let bytes = 0;
  for (const record of waiting) {
    const last = batches.at(-1);
    if (last !== undefined && records < maxRecords && bytes + record.bytes <= BATCH_BYTES) {
      last.lastOffset = record.offset;
      records += 1;
      bytes += record.bytes;
      continue;
    }
    if (batches.length === maxBatches) break;
    batches.push({ firstOffset: record.offset, lastOffset: record.offset });
    records = 1;
    bytes = record.bytes;
  }
  return batches;
}
