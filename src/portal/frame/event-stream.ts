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
 * and ends; the rest of the source is dropped. It sends a comment at its beginning, and after `silenceMs` without an event, so that proxies
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
 * Takes a place for a stream until the client is gone. Rejects with 429 if the session or its customer has too many, and with 503 if all
 * together have. The refusals of a customer wait for their turn: pages that are opened again without a pause would otherwise keep the
 * process busy.
 */
export async function enterLive(customerId: string | null, sessionId: string, gone: AbortSignal): Promise<void> {
  try {
    takePlaces(customerId, sessionId, gone);
  } catch (error) {
    await pause(refusalWaitsMs(customerId, performance.now()), gone);
    throw error;
  }
}

function takePlaces(customerId: string | null, sessionId: string, gone: AbortSignal): void {
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

/** The pause between two refusals of one customer, and the longest wait for one. */
const REFUSED_EVERY_MS = 20;
const REFUSED_WITHIN_MS = 5000;

/** Returns how long the next refusal of a customer waits. `now` is in milliseconds of a monotonic clock. */
export function createRefusalPace(): (customerId: string | null, now: number) => number {
  /** When the latest refusal of each customer is sent. */
  const latest = new Map<string | null, number>();
  return (customerId, now) => {
    for (const [other, at] of latest) {
      if (at + REFUSED_EVERY_MS > now) break;
      latest.delete(other);
    }
    const before = latest.get(customerId) ?? Number.NEGATIVE_INFINITY;
    const at = Math.min(Math.max(now, before + REFUSED_EVERY_MS), now + REFUSED_WITHIN_MS);
    // At the end of the map, which is about the order of the times.
    latest.delete(customerId);
    latest.set(customerId, at);
    return at - now;
  };
}

const refusalWaitsMs = createRefusalPace();

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
  let next = awaitedLater(iterator.next());
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
        next = awaitedLater(iterator.next());
      }
    }
    if (!signal.aborted) yield SIGNED_OUT;
  } finally {
    // Not awaited: a source that waits for something else must not delay the end.
    void iterator.return?.(undefined)?.catch(() => undefined);
  }
}

/** The same promise. If it rejects before someone awaits it, the process does not end as with a rejection that nobody handles. */
export function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Every line of markup becomes a line of data. The browser joins them again. */
function eventText({ event, html: { markup } }: StreamEvent): string {
  const lines = markup.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return `${event === undefined ? '' : `event: ${event}\n`}${lines.join('')}\n`;
}
