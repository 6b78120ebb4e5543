/** Server-sent events (HTML Standard §9.2): live updates of a page while its user is signed in and connected. */
import type { Html } from '../../http/html.ts';
import type { Reply } from '../../http/route.ts';
import { createFairQueue, type FairQueue } from '../../kernel/fair-queue.ts';
import type { PageCall } from './call.ts';

/** Longest silence on an open stream. Proxies close silent connections, usually after a minute. */
const STREAM_SILENCE_MS = 15_000;

/**
 * Live pages that are open at the same time: of all, of one customer, and of one session, whose browser has several tabs with some streams
 * each.
 */
const LIVE_PAGES = 300;
export const LIVE_PAGES_PER_CUSTOMER = 60;
export const LIVE_PAGES_PER_SESSION = 20;

/** Without a name the markup replaces the content of the listening element. A name makes it an event for the page's script. */
export type StreamEvent = { readonly event?: string; readonly html: Html };

/**
 * The reply of a page that streams. `ended` is aborted with the session: the stream then tells the page by the event `signed-out`
 * and ends; the rest of the source is dropped. It sends a comment at its begin, and after `silenceMs` without an event, so that proxies
 * keep the connection.
 */
export function eventStream(
  { signal }: Pick<PageCall, 'signal'>,
  ended: AbortSignal,
  source: AsyncIterable<StreamEvent>,
  silenceMs: number = STREAM_SILENCE_MS,
): Reply {
  return { ...STREAM, stream: events(source, signal, ended, silenceMs) };
}

/** Of the process. */
const open: FairQueue = createFairQueue({
  what: 'live pages',
  places: LIVE_PAGES,
  placesPerOwner: LIVE_PAGES_PER_CUSTOMER,
  retryAfterSeconds: 10,
});
const openInSession: FairQueue = createFairQueue({
  what: 'live pages',
  places: LIVE_PAGES,
  placesPerOwner: LIVE_PAGES_PER_SESSION,
  retryAfterSeconds: 10,
});

/**
 * Takes a place for a stream until the client is gone. Throws 429 if the session or its customer has too many, and 503 if all together
 * have.
 */
export function enterLive(customerId: string | null, sessionId: string, gone: AbortSignal): void {
  const leaveSession = openInSession.take(sessionId);
  let leave: () => void;
  try {
    leave = open.take(customerId);
  } catch (error) {
    leaveSession();
    throw error;
  }
  const end = (): void => {
    leave();
    leaveSession();
  };
  if (gone.aborted) end();
  else gone.addEventListener('abort', end, { once: true });
}

/** The reply if the session ended before the stream began: only the event `signed-out`. */
export function signedOutStream(): Reply {
  return { ...STREAM, body: SIGNED_OUT };
}

const STREAM = {
  status: 200,
  // Otherwise nginx buffers the stream.
  headers: { 'Content-Type': 'text/event-stream;charset=UTF-8', 'X-Accel-Buffering': 'no' },
} as const;

const BEGIN = ': connected\n\n';
const SIGNED_OUT = 'event: signed-out\ndata:\n\n';

/**
 * Resolves after `ms`, or when one of the signals is aborted: the client is gone. `AbortSignal.any` for each pause would take more memory.
 */
export function pause(ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    if (signals.some(({ aborted }) => aborted)) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    for (const signal of signals) signal.addEventListener('abort', end, { once: true });
  });
}

async function* events(
  source: AsyncIterable<StreamEvent>,
  signal: AbortSignal,
  ended: AbortSignal,
  silenceMs: number,
): AsyncGenerator<string> {
  const iterator = source[Symbol.asyncIterator]();
  let next = iterator.next();
  const over = AbortSignal.any([signal, ended]);
  try {
    // Firefox takes a stream for connected with its first bytes.
    if (!over.aborted) yield BEGIN;
    while (!over.aborted) {
      const beat = new AbortController();
      const quiet = pause(silenceMs, over, beat.signal).then(() => null);
      const came = await Promise.race([next, quiet]).finally(() => beat.abort());
      if (over.aborted) break;
      if (came?.done === true) return;
      if (came === null) yield ': still here\n\n';
      else {
        yield eventText(came.value);
        next = iterator.next();
      }
    }
    if (!signal.aborted) yield SIGNED_OUT;
  } finally {
    // Not awaited: a source that waits for something else must not delay the end.
    void iterator.return?.(undefined)?.catch(() => undefined);
    next.catch(() => undefined);
  }
}

/** Every line of markup becomes a line of data. The browser joins them again. */
function eventText({ event, html: { markup } }: StreamEvent): string {
  const lines = markup.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return `${event === undefined ? '' : `event: ${event}\n`}${lines.join('')}\n`;
}
