/** One request on one connection: sends it and reads the answer within bounds. */

import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { RESPONSE_READ_BYTES } from '../kernel/limits/limits.ts';
import { deliveryError } from './classify.ts';
import type { Connection } from './connections.ts';
import type { Answer } from './outcome.ts';

export type ExchangeRequest = {
  /** Path and query. */
  readonly path: string;
  /** Name, value, name, value, … Handed over: nobody changes them any more. */
  readonly headers: string[];
  readonly body: Uint8Array;
};

/** `reusable`: the answer was read to its end; `error`: what broke it off. */
export type ExchangeEnd = { readonly reusable: boolean; readonly error?: unknown };

export type Exchange = {
  /** What has arrived so far; null before the head of the answer. */
  answer(): Answer | null;
  /** From the request being written to the head of the answer, in milliseconds. */
  firstByteMs(): number | null;
  /** Whether the request was handed to a connection that stands. */
  started(): boolean;
};

type Listener = {
  /** The final head of the answer is there. */
  readonly onHead: () => void;
  /**
   * Called once, unless the connection is discarded first: after the last byte, on a failure, or when more than `RESPONSE_READ_BYTES`
   * have come. The rest is then not read, however long it is, and the connection must be discarded.
   */
  readonly onEnd: (end: ExchangeEnd) => void;
};

/** Sends the request over `connection`, which nobody else uses meanwhile. */
export function startExchange(connection: Connection, request: ExchangeRequest, { onHead, onEnd }: Listener): Exchange {
  const chunks: Uint8Array[] = [];
  let head: Pick<Answer, 'status' | 'headers'> | null = null;
  let bytes = 0;
  let complete = false;
  let startedAt: number | null = null;
  let headAt: number | null = null;

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart() {
      startedAt = performance.now();
      connection.begin();
    },
    onResponseStart(_controller, status, headers) {
      // Interim answers are removed before: what still is one here does not look like HTTP as it is written.
      if (status < 200) return onEnd({ reusable: false, error: NOT_PASSED_OVER });
      headAt = performance.now();
      head = { status, headers: joined(headers) };
      onHead();
    },
    onResponseData(_controller, chunk) {
      const room = RESPONSE_READ_BYTES - bytes;
      if (room > 0) chunks.push(chunk.subarray(0, room));
      bytes += Math.min(chunk.length, room);
      if (chunk.length > room) onEnd({ reusable: false });
    },
    onResponseEnd() {
      complete = true;
      onEnd({ reusable: true });
    },
    onResponseError(_controller, error) {
      onEnd({ reusable: false, error });
    },
  };
  const { path, headers, body } = request;
  connection.client.dispatch({ method: 'POST', path, headers, body }, handler);
  return {
    answer: () => (head === null ? null : { ...head, body: concatenated(chunks, bytes), truncated: !complete }),
    firstByteMs: () => (headAt === null || startedAt === null ? null : Math.round(headAt - startedAt)),
    started: () => startedAt !== null,
  };
}

const NOT_PASSED_OVER = deliveryError(
  'malformed_response',
  'the receiver sent an interim answer (1xx) in a form that is not read',
);

/** Repeated headers come as a list. */
function joined(headers: IncomingHttpHeaders): Record<string, string> {
  const pairs = Object.entries(headers).map(([name, value = '']) => [
    name,
    typeof value === 'string' ? value : value.join(', '),
  ]);
  return Object.fromEntries(pairs);
}

function concatenated(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
