/** One request from its start to its outcome, under one time-out for all of it. */

import { BODY_AFTER_HEAD_MS, CONNECTIONS_PER_ORIGIN_MAX } from '../kernel/limits/limits.ts';
import { type Classified, certificateWanted, classifyAnswerError, classifyError, deliveryError } from './classify.ts';
import type { Connection, Connections } from './connections.ts';
import { bareHost, isLiteral } from './egress.ts';
import { type Exchange, type ExchangeEnd, startExchange } from './exchange.ts';
import { type Answer, type ErrorClass, failure, type Outcome, type Timings } from './outcome.ts';

export type AttemptRequest = {
  readonly url: URL;
  /** Name, value, name, value, … Handed over: nobody changes them any more. */
  readonly headers: string[];
  readonly body: Uint8Array;
  readonly timeoutMs: number;
  readonly headDecides?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** Waits for a connection, sends the request over it and gives it back; ends by itself after `timeoutMs`, at whatever step. */
export function attempt(request: AttemptRequest, connections: Connections): Promise<Outcome> {
  const { url, headers, body, timeoutMs, headDecides = false, signal } = request;
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
      ended?.delete(cancel);
      stopWaiting();
      const steps = connection?.steps ?? { dnsMs: null, connectMs: null, tlsMs: null };
      const totalMs = Math.round(performance.now() - startedAt);
      const timings = { ...steps, firstByteMs: exchange?.firstByteMs() ?? null, totalMs };
      const answer = exchange?.answer() ?? null;
      if (connection !== null) end.reusable ? connections.release(connection) : connections.discard(connection);
      const classify = exchange?.started() ? classifyAnswerError : classifyError;
      resolve(
        answer !== null && headDecides
          ? statusOutcome(answer, timings)
          : outcomeOf(connection === null ? end : explained(end, connection, answer), answer, timings, classify),
      );
    };
    const fail = (errorClass: ErrorClass, message: string): void => {
      settle({ reusable: false, error: deliveryError(errorClass, message) });
    };
    let timer = setTimeout(() => {
      fail('timeout', `no complete answer within ${timeoutMs} ms: ${whereabouts(connection, exchange, url)}`);
    }, timeoutMs);
    const onHead = (): void => {
      const remainingMs = timeoutMs - (performance.now() - startedAt);
      if (!headDecides || remainingMs <= BODY_AFTER_HEAD_MS) return;
      // The outcome is decided: the rest of the body only fills the attempt's record, and holds a place meanwhile.
      clearTimeout(timer);
      timer = setTimeout(() => settle({ reusable: false }), BODY_AFTER_HEAD_MS);
    };
    const cancel = (): void => {
      fail('internal', `${reasonOf(signal)} before the answer: ${whereabouts(connection, exchange, url)}`);
    };
    const ended = signal === undefined ? null : cancelled(signal);

    if (signal?.aborted) return cancel();
    ended?.add(cancel);
    stopWaiting = connections.acquire((taken) => {
      connection = taken;
      exchange = startExchange(taken, { path: url.pathname + url.search, headers, body }, { onHead, onEnd: settle });
    });
  });
}

/** Why a request is ended: what `abort` was given, where that is a text. */
export function reasonOf(signal: AbortSignal | undefined): string {
  return typeof signal?.reason === 'string' ? signal.reason : 'the service stopped';
}

/** Whom to tell when a signal is given: a listener of its own for each of many requests would cost 3 µs a request. */
const CANCELLED = new WeakMap<AbortSignal, Set<() => void>>();

function cancelled(signal: AbortSignal): Set<() => void> {
  const known = CANCELLED.get(signal);
  if (known !== undefined) return known;
  const cancels = new Set<() => void>();
  CANCELLED.set(signal, cancels);
  const tellAll = (): void => {
    for (const cancel of [...cancels]) cancel();
  };
  signal.addEventListener('abort', tellAll, { once: true });
  return cancels;
}

/** A receiver that misses the client certificate may say so by closing what has just been opened. In TLS 1.3 it cannot do so earlier. */
function explained(end: ExchangeEnd, { steps, lacksCertificate }: Connection, answer: Answer | null): ExchangeEnd {
  const isRefusal =
    lacksCertificate && steps !== null && answer === null && classifyError(end.error).errorClass === 'reset';
  return isRefusal ? { ...end, error: certificateWanted(end.error) } : end;
}

function outcomeOf(
  end: ExchangeEnd,
  answer: Answer | null,
  timings: Timings,
  classify: (error: unknown) => Classified,
): Outcome {
  if (end.error !== undefined || answer === null) {
    const { errorClass, message } = classify(end.error);
    return failure(errorClass, message, { answer, timings });
  }
  return statusOutcome(answer, timings);
}

function statusOutcome(answer: Answer, timings: Timings): Outcome {
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
