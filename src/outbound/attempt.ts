/** One request from start to outcome, under one time-out. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { BODY_AFTER_HEAD_MS, CONNECTIONS_PER_ORIGIN_MAX, RESPONSE_READ_BYTES } from '../kernel/limits/limits.ts';
import { type Classified, certificateWanted, classifyAnswerError, classifyError, deliveryError } from './classify.ts';
import type { Connection, Connections } from './connections.ts';
import { bareHost, isLiteral } from './egress.ts';
import { type Answer, type ErrorClass, failure, type Outcome, type Timings } from './outcome.ts';

export type AttemptRequest = {
  readonly url: URL;
  /** Name, value, name, value, …; the caller must not change them. */
  readonly headers: string[];
  readonly body: Uint8Array;
  readonly timeoutMs: number;
  readonly headDecides?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** Waits for a connection, sends the request and gives the connection back. Ends after `timeoutMs` at any step. */
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
      // The outcome is decided. The rest of the body only fills the attempt's record and takes up a connection.
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

/** Why a request was ended: the reason passed to `abort`, if it is a text. */
export function reasonOf(signal: AbortSignal | undefined): string {
  return typeof signal?.reason === 'string' ? signal.reason : 'the service stopped';
}

/** The callbacks of each signal: a listener for each of many requests would cost 3 µs a request. */
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

/** A receiver that requires a client certificate may close the connection right after it opens; TLS 1.3 allows it no earlier. */
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

/** The step at which a request timed out. */
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

type ExchangeRequest = {
  /** Path and query. */
  readonly path: string;
  /** Name, value, name, value, …; the caller must not change them. */
  readonly headers: string[];
  readonly body: Uint8Array;
};

/** `reusable`: the response was read completely; `error`: why it was not. */
type ExchangeEnd = { readonly reusable: boolean; readonly error?: unknown };

type Exchange = {
  /** The response so far; null before its head. */
  answer(): Answer | null;
  /** From writing the request to the head of the response, in milliseconds. */
  firstByteMs(): number | null;
  /** Whether an open connection has the request. */
  started(): boolean;
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

/** Sends the request over `connection`, which has no other request. */
function startExchange(connection: Connection, request: ExchangeRequest, { onHead, onEnd }: Listener): Exchange {
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
      // `incoming.ts` removes interim responses; one that remains is not in the usual form of HTTP.
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

/** undici passes repeated headers as a list. */
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
