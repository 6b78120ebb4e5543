/** Live parts of a page: they are read again after attempts and now and then, and sent again when they changed. */
import type { Html } from '../http/html.ts';
import { LIVE_CHECK_MS, LIVE_EVERY_MS, LIVE_PAUSE_MAX_MS, LIVE_READING_SHARE } from '../kernel/limits/portal.ts';
import type { AttemptFeed, FeedPiece } from '../observe/attempt-feed.ts';
import { pause, type StreamEvent } from './event-stream.ts';

export type LivePace = {
  /** The shortest and the longest time between two readings, in milliseconds. */
  readonly everyMs?: number;
  readonly checkMs?: number;
};

/** What was read for a live part. `version` differs if and only if the part has to be sent again. */
export type LiveReading = { readonly version: string; readonly content: () => Html };

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
    const { version, content } = await read();
    if (version === shown) continue;
    shown = version;
    yield { html: content() };
  }
}

/**
 * The turns at which a live page reads its content: at once, soon after attempts, and every `checkMs` (null) for other changes: a stopped
 * webhook, a replay, another process. A turn that takes long is followed by a longer pause.
 */
export async function* liveTurns(
  feed: AttemptFeed,
  webhookId: string | null,
  signal: AbortSignal,
  { everyMs = LIVE_EVERY_MS, checkMs = LIVE_CHECK_MS }: LivePace = {},
): AsyncGenerator<FeedPiece | null> {
  const pieces = feed.subscribe(webhookId, signal)[Symbol.asyncIterator]();
  let next = pieces.next();
  let came: FeedPiece | null = null;
  try {
    while (!signal.aborted) {
      const startedAt = performance.now();
      yield came;
      const tookMs = performance.now() - startedAt;
      await pause(Math.min(Math.max(everyMs, tookMs / LIVE_READING_SHARE), LIVE_PAUSE_MAX_MS), signal);
      const beat = new AbortController();
      const check = pause(checkMs, AbortSignal.any([signal, beat.signal])).then(() => null);
      const won = await Promise.race([next, check]).finally(() => beat.abort());
      came = won?.value ?? null;
      if (won !== null) next = pieces.next();
    }
  } finally {
    // Not awaited: while no attempt comes, it waits for the signal.
    void pieces.return?.(undefined);
  }
}
