/** Sends replies. */

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../kernel/log.ts';
import { freeMemory } from '../kernel/own-memory.ts';
import { readingTurns } from './body-memory.ts';
import { DISCARDED_BODY_BYTES, DISCARDED_BODY_MS } from './limits.ts';
import { hasBody } from './request.ts';
import type { Reply } from './route.ts';

export const JSON_TYPE = 'application/json;charset=UTF-8';

/** Runs a function that sends a reply, later in this turn of the event loop. If it throws, logs the error and ends that response only. */
type SendLater = (response: ServerResponse, send: () => void) => void;

/**
 * Sends all replies of one turn of the event loop together, after everything that arrived in the turn was read: a client that wakes up
 * for the first reply finds the others too. Sending each reply immediately woke the clients for every single reply, a third of a request's
 * cost at full load; sending 32 at a time made 64 clients a tenth slower.
 */
export function createSendLater(log: Log): SendLater {
  let waiting: (() => void)[] = [];
  const sendAll = (): void => {
    const all = waiting;
    waiting = [];
    for (const send of all) send();
  };
  return (response, send) => {
    const count = waiting.push(() => {
      try {
        send();
      } catch (error) {
        log.error({ err: error }, 'a reply could not be sent');
        response.destroy();
      }
    });
    if (count === 1) setImmediate(sendAll);
  };
}

/** Sends the reply. For a reply with a stream it sends the head only; `sendStream` sends the body. */
export function sendReply(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  if (response.destroyed) return;
  const { status, body, stream } = reply;
  const raw = typeof body === 'string' || body instanceof Uint8Array;
  const payload = body === undefined ? '' : raw ? (body as string | Uint8Array) : JSON.stringify(body);
  const bytes = Buffer.byteLength(payload);
  const headers: Record<string, string | number | string[]> = {
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  };
  if (body !== undefined) headers['Content-Type'] = JSON_TYPE;
  // A stream ends with its connection, so that a stopping server does not wait for the connection to become idle.
  if (stream !== undefined) headers.Connection = 'close';
  else if (status !== 204) headers['Content-Length'] = bytes;
  if (reply.headers !== undefined) Object.assign(headers, reply.headers);
  // The unread rest of the body would be parsed as the next request, so the connection ends.
  const isUnread = !request.complete && hasBody(request);
  if (isUnread) headers.Connection = 'close';
  response.writeHead(status, headers);
  if (stream !== undefined && request.method !== 'HEAD') {
    response.flushHeaders();
    return;
  }
  if (!isUnread) {
    // For UTF-8, Node looks at every character. ASCII needs no such check.
    const encoding = bytes === payload.length ? 'latin1' : 'utf8';
    response.end(request.method === 'HEAD' ? undefined : payload, encoding);
    return;
  }
  response.flushHeaders();
  if (request.method !== 'HEAD' && payload.length > 0) response.write(payload);
  discardRest(request, () => response.end());
}

/**
 * Reads and discards the rest of a body for a while. Closing a socket with unread bytes resets it, and a client that sends its whole
 * body before it reads the reply would never see the refusal.
 */
function discardRest(request: IncomingMessage, done: () => void): void {
  const address = request.socket.remoteAddress ?? '';
  let bytes = 0;
  const end = (): void => {
    clearTimeout(timer);
    request.off('data', count).off('end', end).off('close', end);
    done();
  };
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    freeMemory(chunk);
    if (bytes > DISCARDED_BODY_BYTES) {
      end();
      return;
    }
    request.pause();
    void readingTurns(address, async () => void request.resume());
  };
  const timer = setTimeout(end, DISCARDED_BODY_MS);
  request.on('data', count).once('end', end).once('close', end).resume();
}

type Streaming = {
  /** `sendStream` aborts it when the client disconnects or the server stops, so that the source ends. */
  readonly gone: AbortController;
  readonly stopping: AbortSignal | undefined;
  readonly log: Log;
};

/**
 * Sends the pieces of a stream as fast as the client reads them. Resolves when the stream has ended for any reason; never rejects. If
 * the source fails, logs the error and closes the connection.
 */
export async function sendStream(
  response: ServerResponse,
  source: AsyncIterable<string | Uint8Array>,
  { gone, stopping, log }: Streaming,
): Promise<void> {
  const leave = (): void => gone.abort();
  const { socket } = response;
  // A client that closes its side no longer reads: it may still wait for a reply, but a stream has no end to wait for.
  socket?.once('end', leave);
  if (socket?.readableEnded === true) leave();
  stopping?.addEventListener('abort', leave, { once: true });
  if (stopping?.aborted === true) leave();
  try {
    for await (const piece of source) {
      if (gone.signal.aborted) break;
      if (!response.write(piece)) await once(response, 'drain', { signal: gone.signal });
    }
    response.end();
  } catch (error) {
    if (!gone.signal.aborted) log.error({ err: error }, 'a stream failed');
    response.destroy();
  } finally {
    socket?.off('end', leave);
    stopping?.removeEventListener('abort', leave);
  }
}
