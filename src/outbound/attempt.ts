/** One request from its start to its outcome, under one time-out for all of it. */

import { CONNECTIONS_PER_ORIGIN_MAX } from '../limits.ts';
import { classifyError, deliveryError } from './classify.ts';
import type { Connection, Connections } from './connections.ts';
import { bareHost, isLiteral } from './egress.ts';
import { type Exchange, type ExchangeEnd, startExchange } from './exchange.ts';
import { type Answer, type ErrorClass, failure, type Outcome, type Timings } from './outcome.ts';

export type AttemptRequest = {
  readonly url: URL;
  /** Name, value, name, value, … */
  readonly headers: readonly string[];
  readonly body: Uint8Array;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
};

/** Waits for a connection, sends the request over it and gives it back; ends by itself after `timeoutMs`, at whatever step. */
export function attempt(request: AttemptRequest, connections: Connections): Promise<Outcome> {
  const { url, headers, body, timeoutMs, signal } = request;
  return new Promise((resolve) => {
    const startedAt = performance.now();
    let connection: Connection | null = null;
    let exchange: Exchange | null = null;
    let stopWaiting = (): void => {};
    let settled = false;

    const settle = (end: ExchangeEnd): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      stopWaiting();
      const steps = connection?.steps ?? { dnsMs: null, connectMs: null, tlsMs: null };
      const totalMs = Math.round(performance.now() - startedAt);
      const timings = { ...steps, firstByteMs: exchange?.firstByteMs() ?? null, totalMs };
      const answer = exchange?.answer() ?? null;
      if (connection !== null) end.reusable ? connections.release(connection) : connections.discard(connection);
      resolve(outcomeOf(end, answer, timings));
    };
    const fail = (errorClass: ErrorClass, message: string): void => {
      settle({ reusable: false, error: deliveryError(errorClass, message) });
    };
    const timer = setTimeout(() => {
      fail('timeout', `no complete answer within ${timeoutMs} ms: ${whereabouts(connection, exchange, url)}`);
    }, timeoutMs);
    const cancel = (): void => fail('internal', 'the request was given up before it was answered');

    if (signal?.aborted) return cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    stopWaiting = connections.acquire((taken) => {
      connection = taken;
      exchange = startExchange(taken, { path: url.pathname + url.search, headers, body }, settle);
    });
  });
}

function outcomeOf(end: ExchangeEnd, answer: Answer | null, timings: Timings): Outcome {
  if (end.error !== undefined || answer === null) {
    const { errorClass, message } = classifyError(end.error);
    return failure(errorClass, message, { answer, timings });
  }
  if (answer.status >= 200 && answer.status < 300) return { ok: true, answer, timings };
  return failure('http_status', `the receiver answered ${answer.status}`, { answer, timings });
}

/** What a request that ran out of time was at. */
function whereabouts(connection: Connection | null, exchange: Exchange | null, url: URL): string {
  if (exchange?.firstByteMs() != null) return 'the answer was being read';
  if (exchange?.started()) return 'the receiver had not begun to answer';
  const steps = connection?.steps;
  if (steps == null) return `all ${CONNECTIONS_PER_ORIGIN_MAX} connections to the receiver were in use`;
  if (steps.connectMs === null) {
    return steps.dnsMs === null && !isLiteral(bareHost(url.hostname))
      ? 'the host name was being resolved'
      : 'the connection was being opened';
  }
  return 'the TLS handshake was under way';
}
