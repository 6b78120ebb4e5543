/** The exchange of one request and its response on a connection. Bounds what it reads. */

import type { TLSSocket } from 'node:tls';
import { RESPONSE_READ_BYTES, type ReceiverAnswer } from '../domain/outcome.ts';
import { announcesForbiddenBody, type BodyReader, bodyAfter } from './answer-body.ts';
import type { ReadHead } from './answer-head.ts';
import { deliveryError } from './classify.ts';
import { hungUp, type OutboundConnection } from './connection.ts';
import {
  concatenated,
  createHeadReader,
  type HeadProblem,
  INTERIM_ANSWERS_MAX,
  INTERIM_HEADS_BYTES,
} from './incoming.ts';
import { RESPONSE_HEADER_BYTES } from './limits.ts';

/** All bytes of one response, including HTTP framing: `RESPONSE_READ_BYTES` in chunks of one byte take 384 KiB. */
export const ANSWER_BYTES: number = 512 * 1024;

/** A smaller body is copied behind its head, so that both are encrypted and sent together. */
const COPIED_BODY_BYTES: number = 64 * 1024;

/** `headers`: name, value, name, value, …, without `host`, `connection` and `content-length`, which are added. */
type ExchangeRequest = {
  readonly method: 'POST' | 'OPTIONS';
  readonly url: URL;
  readonly headers: readonly string[];
  readonly body: Uint8Array;
};

/** `reusable`: the response was read completely; `error`: why it was not. */
export type ExchangeEnd = { readonly reusable: boolean; readonly error?: unknown };

export type Exchange = {
  /** The response so far; null before its head. */
  answer(): ReceiverAnswer | null;
  /** After a failure: a response whose head was not complete; null before its status line is complete. */
  unseenAnswer(): ReceiverAnswer | null;
  /** Whether a byte of the response has arrived, interim responses included. */
  hasBegun(): boolean;
  /** From writing the request to the head of the response, in milliseconds. */
  firstByteMs(): number | null;
  /** Whether an open connection has the request. */
  started(): boolean;
  /** For how long the receiver keeps the idle connection, in milliseconds; null if it does not say. */
  keptMs(): number | null;
};

type Listener = {
  /** The final head of the response has arrived. */
  readonly onHead: () => void;
  /**
   * Called once, unless the connection is discarded first: after the last byte, on a failure, or when more than `RESPONSE_READ_BYTES`
   * have arrived. The rest is then not read, and the connection must be discarded.
   */
  readonly onEnd: (end: ExchangeEnd) => void;
};

/** Sends a request over `connection`, which has no other request, as soon as it is open. */
export function startExchange(
  connection: OutboundConnection,
  request: ExchangeRequest,
  { onHead, onEnd }: Listener,
): Exchange {
  const reader = createHeadReader();
  const chunks: Uint8Array[] = [];
  let head: ReadHead | null = null;
  let readBody: BodyReader | null = null;
  let endsWithConnection = false;
  let received = 0;
  let kept = 0;
  let complete = false;
  let startedAt: number | null = null;
  let headAt: number | null = null;

  const end = (how: ExchangeEnd): void => {
    connection.listen(null);
    onEnd(how);
  };
  const keep = (part: Uint8Array): void => {
    const room = RESPONSE_READ_BYTES - kept;
    if (room > 0) chunks.push(part.subarray(0, room));
    kept += part.length;
  };
  const readHead = (bytes: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> | null => {
    const found = reader.read(bytes);
    if (found === null) return null;
    if (typeof found === 'string') {
      end({ reusable: false, error: headError(found) });
      return null;
    }
    ({ head } = found);
    headAt = performance.now();
    ({ read: readBody, endsWithConnection } = bodyAfter(head));
    onHead();
    return found.rest;
  };
  const finish = (isExact: boolean): void => {
    complete = true;
    // Another client may see another end of a response that violates HTTP.
    const isRegular = head?.isPersistent === true && head.problems.length === 0 && !announcesForbiddenBody(head);
    end({ reusable: isExact && isRegular });
  };

  connection.listen({
    onOpen: (socket) => {
      const head = headOf(request);
      if (head === null) return end({ reusable: false, error: deliveryError('internal', UNSENDABLE_HEADER) });
      startedAt = performance.now();
      writeRequest(socket, head, request.body);
    },
    onData: (bytes) => {
      received += bytes.length;
      const rest = readBody === null ? readHead(bytes) : bytes;
      if (rest === null || readBody === null) return;
      const progress = readBody(rest, keep);
      if (typeof progress === 'object')
        end({ reusable: false, error: deliveryError('malformed_response', progress.problem) });
      else if (kept > RESPONSE_READ_BYTES) end({ reusable: false });
      else if (progress !== 'more') finish(progress === 'end');
      else if (received > ANSWER_BYTES)
        end({ reusable: false, error: deliveryError('response_too_large', ANSWER_TOO_LARGE) });
    },
    onEnd: () => {
      if (endsWithConnection) finish(false);
      else end({ reusable: false, error: hungUp() });
    },
    onError: (error) => end({ reusable: false, error }),
  });

  return {
    answer: () =>
      head === null
        ? null
        : { ...shown(head), body: concatenated(chunks, Math.min(kept, RESPONSE_READ_BYTES)), truncated: !complete },
    unseenAnswer: () => {
      const unseen = head === null ? reader.unseen() : null;
      return unseen === null ? null : { ...shown(unseen), body: new Uint8Array(0), truncated: true };
    },
    hasBegun: () => received > 0,
    firstByteMs: () => (headAt === null || startedAt === null ? null : Math.round(headAt - startedAt)),
    started: () => startedAt !== null,
    keptMs: () => (head === null ? null : keptMsOf(head)),
  };
}

function shown({ status, headers, problems }: ReadHead): Pick<ReceiverAnswer, 'status' | 'headers' | 'problems'> {
  return { status, headers, problems };
}

const ANSWER_TOO_LARGE = `the answer has more than ${ANSWER_BYTES} bytes in all`;

function headError(problem: HeadProblem): Error {
  const [errorClass, message] = HEAD_ERRORS[problem];
  return deliveryError(errorClass, message);
}

const HEAD_ERRORS: Readonly<Record<HeadProblem, readonly ['malformed_response' | 'response_too_large', string]>> = {
  'too many interim': [
    'malformed_response',
    `the receiver sent more than ${INTERIM_ANSWERS_MAX} interim answers (1xx), or more than ${INTERIM_HEADS_BYTES} bytes of them`,
  ],
  'too large': ['response_too_large', `the answer's headers are too large: more than ${RESPONSE_HEADER_BYTES} bytes`],
  'not HTTP': ['malformed_response', 'the answer is not valid HTTP'],
  'other protocol': ['malformed_response', 'the receiver answered with another protocol, which was not requested'],
  'no status': ['malformed_response', 'the answer has a status below 100'],
};

/** `Keep-Alive: timeout=5` (RFC 2068 §19.7.1.1). */
function keptMsOf({ headers }: ReadHead): number | null {
  const [, seconds] = /(?:^|[\s,;])timeout=(\d{1,9})/i.exec(headers['keep-alive'] ?? '') ?? [];
  return seconds === undefined ? null : Number(seconds) * 1000;
}

const UNSENDABLE_HEADER = 'a header of the request cannot be sent over HTTP/1.1';

/** In Latin-1; null if a header cannot be sent. */
function headOf({ method, url, headers, body }: ExchangeRequest): string | null {
  let text = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\nconnection: keep-alive\r\n`;
  for (let at = 0; at < headers.length; at += 2) {
    const line = `${headers[at]}: ${headers[at + 1]}\r\n`;
    if (!SENDABLE.test(line) || OF_CONNECTION.test(line)) return null;
    text += line;
  }
  return text + (method === 'POST' || body.length > 0 ? `content-length: ${body.length}\r\n\r\n` : '\r\n');
}

/** RFC 9110 §5.1, §5.5. */
const SENDABLE = /^[!#$%&'*+.^_`|~0-9a-z-]+: [\t\x20-\x7e\x80-\xff]*\r\n$/i;

/** Headers that say how the connection is used: only the exchange sets these. */
const OF_CONNECTION = /^(?:connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade):/i;

function writeRequest(socket: TLSSocket, head: string, body: Uint8Array): void {
  if (body.length > COPIED_BODY_BYTES) {
    socket.cork();
    socket.write(head, 'latin1');
    socket.write(body);
    socket.uncork();
    return;
  }
  const whole = Buffer.allocUnsafe(head.length + body.length);
  whole.write(head, 'latin1');
  whole.set(body, head.length);
  socket.write(whole);
}
