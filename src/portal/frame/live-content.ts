/** Live parts of a page: they are read again after attempts and now and then, and sent again when they changed. */
import { hash } from 'node:crypto';
import type { Html } from '../../http/html.ts';
import { createFairQueue, type Owner } from '../../kernel/fair-queue.ts';
import type { AttemptFeed, FeedPiece } from '../../observe/attempt-feed.ts';
import { awaitedLater, pause, type StreamEvent } from './event-stream.ts';

// Live pages.
/** Shortest and longest time between two readings of a live page. The longest is for changes without an attempt, for example a replay. */
const LIVE_EVERY_MS = 500;
const LIVE_CHECK_MS = 2000;

/** All live pages together are read and drawn for at most this share of the time: the more there are, the less often. */
const LIVE_WORK_SHARE = 0.2;

/** A live page is read for at most this share of the time, so a slow list is refreshed less often; but at least this often. */
const LIVE_READING_SHARE = 0.05;
const LIVE_PAUSE_MAX_MS = 10_000;

export type LivePace = {
  /** The shortest and the longest time between two readings, in milliseconds. */
  readonly everyMs?: number;
  readonly checkMs?: number;
};

/** The result of a live part's read. `version` differs if and only if the part must be sent again. */
export type LiveReading = { readonly version: string; readonly content: () => Html };

/** Of the process: one piece of work at a time. */
const working = createFairQueue({ what: 'live pages', places: 1 });

/**
 * Reads and draws a piece of a live page when it is its owner's turn. After each piece, all live pages rest, so that together they take
 * `LIVE_WORK_SHARE` of the time.
 */
export function inLiveTurn<T>(owner: Owner, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    void working.run(owner, async () => {
      const startedAt = performance.now();
      await work().then(resolve, reject);
      const restMs = (performance.now() - startedAt) * (1 / LIVE_WORK_SHARE - 1);
      await new Promise<void>((rested) => setTimeout(rested, Math.min(restMs, LIVE_PAUSE_MAX_MS)));
    });
  });
}

/**
 * The stream of a live part: its current content, and again after each change. `webhookId` names the webhook whose attempts may change it;
 * null: all webhooks.
 */
export async function* liveContent(
  feed: AttemptFeed,
  webhookId: string | null,
  signal: AbortSignal,
  read: () => Promise<LiveReading>,
  pace: LivePace = {},
): AsyncGenerator<StreamEvent> {
  let shown: string | null = null;
  for await (const _ of liveTurns(feed, webhookId, signal, pace)) {
    const drawn = await inLiveTurn(feed.owner, async () => {
      const { version, content } = await read();
      // Not the version itself, which may be the whole content.
      const now = hash('sha256', version, 'base64');
      if (now === shown) return null;
      shown = now;
      return content();
    });
    if (drawn !== null) yield { html: drawn };
  }
}

/**
 * The turns at which a live page reads its content: immediately, soon after attempts, and every `checkMs` (null) for other changes: a
 * stopped webhook, a replay, another process. A turn that takes long is followed by a longer pause.
 */
export async function* liveTurns(
  feed: Pick<AttemptFeed, 'subscribe'>,
  webhookId: string | null,
  signal: AbortSignal,
  { everyMs = LIVE_EVERY_MS, checkMs = LIVE_CHECK_MS }: LivePace = {},
): AsyncGenerator<FeedPiece | null> {
  const pieces = feed.subscribe(webhookId, signal)[Symbol.asyncIterator]();
  let next = awaitedLater(pieces.next());
  let came: FeedPiece | null = null;
  try {
    while (!signal.aborted) {
      const startedAt = performance.now();
      yield came;
      const tookMs = performance.now() - startedAt;
      await pause(Math.min(Math.max(everyMs, tookMs / LIVE_READING_SHARE), LIVE_PAUSE_MAX_MS), signal);
      const beat = new AbortController();
      const check = pause(checkMs, signal, beat.signal).then(() => null);
      const won = await Promise.race([next, check]).finally(() => beat.abort());
      came = won?.value ?? null;
      if (won !== null) next = awaitedLater(pieces.next());
    }
  } finally {
    // Not awaited: while no attempt comes, it waits for the signal.
    void pieces.return?.(undefined);
  }
}
