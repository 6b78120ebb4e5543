/** Server-sent events (HTML Standard §9.2): what a page shows as it happens, as long as its reader is signed in and looks. */
import type { Sessions } from '../access/sessions.ts';
import type { Html } from '../http/html.ts';
import type { Reply } from '../http/route.ts';
import { STREAM_SESSION_EVERY_MS } from '../portal-limits.ts';
import type { PageCall } from './call.ts';
import { readCookie, SESSION_COOKIE } from './cookies.ts';

/** Without a name the page puts the markup where its element says; with one it is an event of the page's own. */
export type StreamEvent = { readonly event?: string; readonly html: Html };

/**
 * The reply of a page that streams. Between events something is said now and then, so that proxies keep the connection, and the
 * session looked at: the stream ends with it, telling the page by the event `signed-out`.
 */
export function eventStream(
  { request, signal }: Pick<PageCall, 'request' | 'signal'>,
  sessions: Pick<Sessions, 'find'>,
  source: AsyncIterable<StreamEvent>,
  everyMs: number = STREAM_SESSION_EVERY_MS,
): Reply {
  const isSignedIn = async (): Promise<boolean> =>
    (await sessions.find(readCookie(request, SESSION_COOKIE) ?? '', true)) !== null;
  return { ...STREAM, stream: events(source, signal, isSignedIn, everyMs) };
}

/** The reply to a page whose session is over before its stream has begun: the event `signed-out`, and nothing else. */
export function signedOutStream(): Reply {
  return { ...STREAM, body: SIGNED_OUT };
}

const STREAM = {
  status: 200,
  // Nginx would keep what comes until it has some of it.
  headers: { 'Content-Type': 'text/event-stream;charset=UTF-8', 'X-Accel-Buffering': 'no' },
} as const;

const SIGNED_OUT = 'event: signed-out\ndata:\n\n';

/** Resolves after `ms`, or as soon as nobody looks any more. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}

async function* events(
  source: AsyncIterable<StreamEvent>,
  signal: AbortSignal,
  isSignedIn: () => Promise<boolean>,
  everyMs: number,
): AsyncGenerator<string> {
  const iterator = source[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    while (!signal.aborted) {
      const beat = new AbortController();
      const quiet = pause(everyMs, AbortSignal.any([signal, beat.signal])).then(() => null);
      const came = await Promise.race([next, quiet]).finally(() => beat.abort());
      if (signal.aborted || came?.done === true) return;
      if (came === null) {
        if (!(await isSignedIn())) return yield SIGNED_OUT;
        yield ': still here\n\n';
      } else {
        yield eventText(came.value);
        next = iterator.next();
      }
    }
  } finally {
    // Not waited for: a source that waits for something of its own must not hold the end up.
    void iterator.return?.(undefined)?.catch(() => undefined);
    next.catch(() => undefined);
  }
}

/** Every line of the markup is a line of data; the browser puts them together again. */
function eventText({ event, html: { markup } }: StreamEvent): string {
  const lines = markup.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return `${event === undefined ? '' : `event: ${event}\n`}${lines.join('')}\n`;
}
