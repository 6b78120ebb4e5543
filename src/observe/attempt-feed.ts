/** Streams settled attempts to readers, for live pages. Without readers it costs nothing. A slow reader misses some and learns how many. */

import type { AttemptRecord, BatchFate } from '../delivery/batch.ts';
import type { ObserveSettled } from '../delivery/settle.ts';
import type { TestDelivery } from '../delivery/test-delivery.ts';
import { FEED_BUFFERED } from '../kernel/limits/portal.ts';

export type FeedItem = {
  readonly webhookId: string;
  readonly attempt: AttemptRecord;
  /** The outcome for the records; null for a heartbeat or a test. */
  readonly fate: BatchFate['kind'] | null;
};

/** The attempts since the last piece, oldest first. `dropped` counts older attempts that were dropped. */
export type FeedPiece = { readonly items: readonly FeedItem[]; readonly dropped: number };

export type AttemptFeed = {
  readonly observeSettled: ObserveSettled;
  /** Wraps a test delivery, so that its attempts appear in the feed. */
  observed(testDelivery: TestDelivery): TestDelivery;
  /** The attempts of one webhook, or of all with null, until the signal aborts. */
  subscribe(webhookId: string | null, signal: AbortSignal): AsyncIterable<FeedPiece>;
};

type Reader = { readonly webhookId: string | null; items: FeedItem[]; dropped: number; wake: () => void };

export function createAttemptFeed(): AttemptFeed {
  const readers = new Set<Reader>();

  async function* read(reader: Reader, signal: AbortSignal): AsyncGenerator<FeedPiece> {
    try {
      while (!signal.aborted) {
        const { items, dropped } = reader;
        if (items.length > 0) {
          reader.items = [];
          reader.dropped = 0;
          yield { items, dropped };
        } else {
          await new Promise<void>((resolve) => {
            reader.wake = resolve;
          });
        }
      }
    } finally {
      readers.delete(reader);
    }
  }

  const feed: AttemptFeed = {
    observeSettled: (webhookId, { attempt, fate }) => {
      if (readers.size === 0 || attempt === null) return;
      for (const reader of readers) {
        if (reader.webhookId !== null && reader.webhookId !== webhookId) continue;
        reader.items.push({ webhookId, attempt, fate: fate?.kind ?? null });
        if (reader.items.length > FEED_BUFFERED) {
          reader.items.shift();
          reader.dropped += 1;
        }
        reader.wake();
      }
    },
    observed: (testDelivery) => async (webhookId, actorId) => {
      const attempt = await testDelivery(webhookId, actorId);
      feed.observeSettled(webhookId, { batch: null, fate: null, attempt });
      return attempt;
    },
    subscribe: (webhookId, signal) => {
      const reader: Reader = { webhookId, items: [], dropped: 0, wake: () => undefined };
      readers.add(reader);
      // Also for a reader that never starts to read.
      signal.addEventListener('abort', () => {
        readers.delete(reader);
        reader.wake();
      });
      return read(reader, signal);
    },
  };
  return feed;
}
