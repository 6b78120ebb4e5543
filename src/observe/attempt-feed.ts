/**
 * Streams settled attempts to readers, for live pages. Without readers it costs nothing. A slow reader misses some and learns how many.
 * Attempts of other instances are read from the database once a second, while there are readers.
 */

import type { ObserveSettled } from '../delivery/settle.ts';
import type { TestDelivery } from '../delivery/trials/test-delivery.ts';
import type { AttemptRecord, BatchFate } from '../domain/batch.ts';
import type { Owner } from '../kernel/fair-queue.ts';
import { createLru } from '../kernel/lru.ts';
import type { LiveAttempt } from '../store/port/deliveries.ts';

/** Attempts buffered for a slow reader of a live tail; the oldest go first. */
export const FEED_BUFFERED = 200;

/** How often attempts of other instances are read, and the ids of shown attempts that are remembered. */
const FEED_OTHERS_EVERY_MS = 1000;
const FEED_SEEN_MAX = 10_000;

/** How often the live pages of a customer look for its new webhooks. */
const FEED_WEBHOOKS_EVERY_MS = 2000;

type FeedItem = {
  readonly webhookId: string;
  readonly attempt: AttemptRecord;
  /** The outcome for the records; null for a heartbeat, a test, or an attempt of another instance. */
  readonly fate: BatchFate['kind'] | null;
};

/** The attempts since the last piece, oldest first. `dropped` counts older attempts that were dropped. */
export type FeedPiece = { readonly items: readonly FeedItem[]; readonly dropped: number };

export type AttemptFeed = {
  readonly observeSettled: ObserveSettled;
  /** Wraps a test delivery, so that its attempts appear in the feed. */
  observed(testDelivery: TestDelivery): TestDelivery;
  /** The attempts of one webhook, or of all with null, until the signal aborts. Keeps and counts only attempts that `fits` accepts. */
  subscribe(webhookId: string | null, signal: AbortSignal, fits?: Fits): AsyncIterable<FeedPiece>;
  /**
   * The feed of only the webhooks with these ids. Nothing in it depends on others, not even how many attempts were dropped. `owner`: the
   * customer that reads it; default: the operator.
   */
  within(ids: () => Promise<ReadonlySet<string>>, owner?: Owner): AttemptFeed;
  /** Who reads it: a customer, or the operator. */
  readonly owner: Owner;
};

type Fits = (attempt: AttemptRecord) => boolean;

type Reader = {
  readonly webhookId: string | null;
  readonly fits: Fits;
  /** The webhooks of which it learns; null: all. */
  among: ReadonlySet<string> | null;
  items: FeedItem[];
  dropped: number;
  wake: () => void;
};

/** `readNewest` reads the newest attempts of all instances, newest first. Null if this process has the database for itself. */
export function createAttemptFeed(
  readNewest: ((limit: number) => Promise<readonly LiveAttempt[]>) | null = null,
): AttemptFeed {
  const readers = new Set<Reader>();
  const push = (item: FeedItem): void => {
    for (const reader of readers) {
      if (reader.webhookId !== null && reader.webhookId !== item.webhookId) continue;
      if (reader.among !== null && !reader.among.has(item.webhookId)) continue;
      if (!reader.fits(item.attempt)) continue;
      reader.items.push(item);
      if (reader.items.length > FEED_BUFFERED) {
        reader.items.shift();
        reader.dropped += 1;
      }
      reader.wake();
    }
  };
  const others = readNewest === null ? null : watchOthers(readNewest, push);
  const leave = (reader: Reader): void => {
    if (readers.delete(reader) && readers.size === 0) others?.stop();
  };

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
      leave(reader);
    }
  }

  const feed: AttemptFeed = {
    observeSettled: (webhookId, { attempt, fate }) => {
      if (readers.size === 0 || attempt === null) return;
      if (others === null || others.isNew(attempt.id)) push({ webhookId, attempt, fate: fate?.kind ?? null });
    },
    observed: (testDelivery) => async (webhookId, actorId, eventType) => {
      const attempt = await testDelivery(webhookId, actorId, eventType);
      feed.observeSettled(webhookId, { batch: null, fate: null, attempt });
      return attempt;
    },
    subscribe: (webhookId, signal, fits) => read(enter(webhookId, null, signal, fits), signal),
    within: (ids, owner = null) => {
      const shared = sharedFor(FEED_WEBHOOKS_EVERY_MS, ids);
      return { ...feed, owner, subscribe: (webhookId, signal, fits) => readAmong(shared, webhookId, signal, fits) };
    },
    owner: null,
  };
  return feed;

  function enter(
    webhookId: string | null,
    among: Reader['among'],
    signal: AbortSignal,
    fits: Fits = () => true,
  ): Reader {
    const reader: Reader = { webhookId, fits, among, items: [], dropped: 0, wake: () => undefined };
    if (readers.size === 0) others?.start();
    readers.add(reader);
    // Also for a reader that never starts to read.
    signal.addEventListener('abort', () => {
      leave(reader);
      reader.wake();
    });
    return reader;
  }

  async function* readAmong(
    ids: () => Promise<ReadonlySet<string>>,
    webhookId: string | null,
    signal: AbortSignal,
    fits?: Fits,
  ): AsyncGenerator<FeedPiece> {
    const reader = enter(webhookId, await ids(), signal, fits);
    const look = async (): Promise<void> => {
      reader.among = await ids();
    };
    // Finds webhooks that were made since. If the database cannot be read, the next look finds them.
    const timer = setInterval(() => void look().catch(() => undefined), FEED_WEBHOOKS_EVERY_MS).unref();
    try {
      yield* read(reader, signal);
    } finally {
      clearInterval(timer);
    }
  }
}

/** A read that all who ask within `ms` share. A failed one is not shared. */
function sharedFor<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
  let latest: { readonly at: number; readonly value: Promise<T> } | null = null;
  return () => {
    const now = performance.now();
    // Half of the interval, so that each reader still learns of a change by its second look.
    if (latest !== null && now - latest.at < ms / 2) return latest.value;
    const value = read();
    const made = { at: now, value };
    latest = made;
    value.catch(() => {
      if (latest === made) latest = null;
    });
    return value;
  };
}

type Others = {
  start(): void;
  stop(): void;
  /** Whether neither a look nor this function has seen the attempt before. */
  isNew(attemptId: string): boolean;
};

function watchOthers(
  readNewest: (limit: number) => Promise<readonly LiveAttempt[]>,
  push: (item: FeedItem) => void,
): Others {
  const seen = createLru<string, true>({ max: FEED_SEEN_MAX });
  let timer: NodeJS.Timeout | null = null;
  let isFirst = true;
  let isLooking = false;
  const isNew = (id: string): boolean => {
    if (seen.get(id) !== undefined) return false;
    seen.set(id, true);
    return true;
  };
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    try {
      const newest = await readNewest(FEED_BUFFERED);
      for (const { webhookId, attempt } of newest.toReversed()) {
        // The first look only finds the old attempts.
        if (isNew(attempt.id) && !isFirst) push({ webhookId, attempt, fate: null });
      }
      isFirst = false;
    } catch {
      // The next look tries again.
    } finally {
      isLooking = false;
    }
  };
  return {
    isNew,
    start: () => {
      isFirst = true;
      timer = setInterval(() => void look(), FEED_OTHERS_EVERY_MS).unref();
      void look();
    },
    stop: () => {
      if (timer !== null) clearInterval(timer);
      timer = null;
    },
  };
}
