/** The last step of every request: what became of it as a reply, the reply on its way, and what the log may say of it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { DISCARDED_BODY_BYTES, DISCARDED_BODY_MS } from '../kernel/limits/limits.ts';
import { Refusal } from '../kernel/refusal.ts';
import type { Log } from '../observe/log.ts';
import { DatabaseUnavailable } from '../store/unavailable.ts';
import { hasBody } from './raw-headers.ts';
import type { Reply } from './route.ts';

export const JSON_TYPE = 'application/json;charset=UTF-8';

/** Sends the reply; of one with a stream the head alone, whose body `sendStream` sends. */
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
  // The end of a stream is that of its connection, so that a server that stops need not wait for it to be unused.
  if (stream !== undefined) headers.Connection = 'close';
  else if (status !== 204) headers['Content-Length'] = bytes;
  if (reply.headers !== undefined) Object.assign(headers, reply.headers);
  // What the client still sends would be read as the next request: the connection ends instead.
  const isUnread = !request.complete && hasBody(request);
  if (isUnread) headers.Connection = 'close';
  response.writeHead(status, headers);
  if (stream !== undefined && request.method !== 'HEAD') {
    response.flushHeaders();
    return;
  }
  if (!isUnread) {
    // ASCII is written as it is, where Node would look at every character for those that UTF-8 writes otherwise.
    const encoding = bytes === payload.length ? 'latin1' : 'utf8';
    response.end(request.method === 'HEAD' ? undefined : payload, encoding);
    return;
  }
  response.flushHeaders();
  if (request.method !== 'HEAD' && payload.length > 0) response.write(payload);
  discardRest(request, () => response.end());
}

/**
 * Reads on for a while what nobody wants. A socket closed over unread bytes is reset, and a client that sends its whole
 * body before it looks for an answer would never see the refusal.
 */
function discardRest(request: IncomingMessage, done: () => void): void {
  let bytes = 0;
  const end = (): void => {
    clearTimeout(timer);
    request.off('data', count).off('end', end).off('close', end);
    done();
  };
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > DISCARDED_BODY_BYTES) end();
  };
  const timer = setTimeout(end, DISCARDED_BODY_MS);
  request.on('data', count).once('end', end).once('close', end).resume();
}

/**
 * A refusal as it is, and in the log too where the database is why, which an operator has to look at; a fault as the 500 that tells nothing of it. What is
 * logged has the `errorId` that the reply will carry.
 */
export function asRefusal(error: unknown, errorId: string, log: Log): Refusal {
  if (error instanceof DatabaseUnavailable) {
    const cause = error.cause instanceof Error ? error.cause.message : undefined;
    log.error({ errorId, reason: error.reason, cause }, error.message);
  }
  if (error instanceof Refusal) return error;
  log.error({ errorId, err: error }, 'request failed');
  return new Refusal('server_error', 'the request failed for a reason of ours');
}

/**
 * The path of a request as the log shows it: without its query, which may hold anything, without what looks like a credential,
 * and without what follows `invitations/`, which is one.
 */
export function loggedPath({ url = '' }: IncomingMessage): string {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  if (path.length <= LOGGED_PATH_LENGTH && !TELLING.test(path)) return path;
  return path.replace(CREDENTIAL, '[secret]').replace(INVITATION, '$1[secret]').slice(0, LOGGED_PATH_LENGTH);
}

/** Wherever one of the two below finds something. */
const TELLING = /sp[ist](?:_|%5f)|invitations/i;
const CREDENTIAL = /sp[ist](?:_|%5f)[0-9a-z%]+/gi;
const INVITATION = /(invitations(?:\/|%2f)+).+/i;
const LOGGED_PATH_LENGTH = 500;
