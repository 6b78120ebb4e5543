/** The memory of a webhook's log in the process that sends for it (`webhook-logs.ts`). */
import type { Batch, Hold, OffsetRange, Position } from '../domain/batch.ts';
import type { WebhookOrder } from '../domain/webhook.ts';
import type { KeyQueues } from './key-queues.ts';

/** A claimed batch that is not settled. */
type Held = {
  readonly batch: Batch;
  readonly at: number;
  isStored: boolean;
  /** Its row says that the attempt is in progress. */
  isMarked: boolean;
  /** It waits for earlier records of its key. */
  readonly isParked: boolean;
};

export type WebhookLog = {
  readonly webhookNumber: number;
  /** The hold under which it was read. When the hold ends, nothing here is valid. */
  readonly hold: Hold | null;
  /** Records from here on are in no batch and not claimed. */
  next: number;
  /** The offset that the next published record gets. Other processes may have published since. */
  end: number;
  /** Ranges before `next` that are in no batch and not claimed. */
  gaps: readonly OffsetRange[];
  /** The earliest time at which a batch of the store may be due. */
  dueAt: number;
  /** When to look at the webhook, even if nothing happens, and the time of its alarm, which may be earlier. */
  lookAt: number;
  alarmAt: number;
  /** It no longer sends, and is forgotten once nothing of it is held. */
  isClosing: boolean;
  sentAt: number | null;
  /** The order in which its batches were claimed; null before the first claim. With order by key, also the records that wait. */
  order: WebhookOrder | null;
  queues: KeyQueues | null;
  /** Parked batches whose rows are being written. */
  readonly writing: Set<Batch>;
  /** By first offset. */
  readonly held: Map<number, Held>;
  /** The position as it was written, and when. */
  written: Position;
  writtenAt: number;
};
