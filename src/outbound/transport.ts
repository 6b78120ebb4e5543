/**
 * Sends requests to receivers: HTTPS only, addresses guarded, every step bounded in time and bytes (contract §5.1, §5.12). Every result is
 * an outcome.
 */

import { createHash } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import type { ClientCertificate } from '../domain/endpoint.ts';
import { type ErrorClass, failure, type Outcome, type ReceiverAnswer, type Timings } from '../domain/outcome.ts';
import { createLru } from '../kernel/lru.ts';
import { type Classified, certificateWanted, classifyAnswerError, classifyError, deliveryError } from './classify.ts';
import type { Way } from './connect.ts';
import type { OutboundConnection } from './connection.ts';
import { type Connections, createConnections } from './connections.ts';
import { bareHost, type Egress, type EgressPolicy, hostVerdict, isLiteral, LOOPBACK } from './egress.ts';
import { type Exchange, type ExchangeEnd, startExchange } from './exchange.ts';
import { CONNECTIONS_PER_ORIGIN_MAX } from './limits.ts';
import { parseProxyUrl } from './proxy.ts';
import type { ResolveHost } from './resolve.ts';
import { makeSecureContext, readAuthorities } from './tls.ts';

/** Time for the body after the status has decided the outcome of a delivery. */
const BODY_AFTER_HEAD_MS = 1000;

/** Receivers with open connections; the least recently used goes first. With a CA file, each client certificate costs 1 MB. */
export const ORIGINS_MAX = 256;

export type TransportOptions = {
  readonly egress: Egress;
  /** Additional trusted authorities, in PEM (`SALLYPORT_CA_FILE`). */
  readonly caPem: string | null;
  /** `http://[user:password@]host:port` of a CONNECT proxy (`SALLYPORT_EGRESS_PROXY`). */
  readonly proxyUrl: string | null;
  /**
   * The certificate in PEM of a receiver for development that listens on a port of this machine now; null without one. Requests to
   * `https://localhost` go there directly, although its address is not public. Endpoints of customers never lead there.
   */
  readonly developmentReceiver?: ((port: number) => string | null) | undefined;
  /** Replaces the system's resolver. */
  readonly resolve?: ResolveHost | undefined;
};

export type TransportRequest = {
  /** Default: `POST`. */
  readonly method?: 'POST' | 'OPTIONS' | undefined;
  readonly url: URL;
  /** Whose endpoint it is, which decides the addresses that are allowed; null: the operator's. */
  readonly customerId: string | null;
  /** `host` and `content-length` are ignored: the exchange adds them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Not read after the outcome. */
  readonly body: Uint8Array;
  /** For everything from the call to the last byte: DNS, connecting, TLS, waiting, reading. */
  readonly timeoutMs: number;
  readonly clientCertificate?: ClientCertificate | null | undefined;
  /**
   * The status decides as soon as the head of the response is read, whatever happens to the body (contract §5.8). The body then
   * gets at most `BODY_AFTER_HEAD_MS`; the connection is closed unless the body is complete. If the receiver breaks off within the head,
   * the status decides unless it is 2xx.
   */
  readonly headDecides?: boolean | undefined;
  /** Ends the request immediately, with an outcome of class `internal` whose message has the reason. */
  readonly cancellation?: Cancellation | undefined;
};

export type Transport = {
  /**
   * Sends one request and never rejects. If the receiver closes a kept-alive connection in the moment it is used again, before a byte of a
   * response, the request is sent once more on a new connection (RFC 9112 §9.3.1): the receiver may see it twice.
   */
  post(request: TransportRequest): Promise<Outcome>;
  /** Refuses new requests, ends those without a cancellation of their own, waits for the others, and closes every connection. */
  close(): Promise<void>;
};

/** Throws if `caPem` or `proxyUrl` cannot be read. */
export function createTransport(options: TransportOptions): Transport {
  const { egress, caPem, proxyUrl, resolve, developmentReceiver = () => null } = options;
  const authorities = caPem === null ? [] : readAuthorities(caPem);
  const proxy = proxyUrl === null ? null : parseProxyUrl(proxyUrl);
  // Created with the first connection: it would delay the start, and every command, by 20 ms.
  let withoutCertificate: SecureContext | null = null;
  const origins = createLru<string, Origin>({
    max: ORIGINS_MAX,
    onEvict: ({ connections }) => connections.close(),
  });
  let latest: Origin | null = null;
  let inProgress = 0;
  let onIdle = (): void => {};
  const closing = createCancellation();

  /** Throws what `classifyError` understands. */
  function send({
    headers,
    customerId,
    clientCertificate,
    cancellation = closing,
    ...request
  }: TransportRequest): Promise<Outcome> {
    if (closing.reason !== null) throw deliveryError('internal', 'the service is stopping');
    if (request.url.protocol !== 'https:') throw deliveryError('internal', 'only https URLs are sent to');
    const { connections } = originOf(
      request.url,
      customerId === null ? egress.operator : egress.customers,
      clientCertificate ?? null,
    );
    return attempt({ ...request, customerId, headers: flat(headers), cancellation }, connections);
  }

  /**
   * A connection made with one client certificate never carries a request with another, or none. Nor does one to an address that the
   * operator allowed itself carry a request of a customer.
   */
  function originOf(url: URL, policy: EgressPolicy, client: ClientCertificate | null): Origin {
    const isOwn = policy === egress.operator;
    const local = isOwn && url.hostname === 'localhost' ? developmentReceiver(portOf(url)) : null;
    const owned = isOwn ? url.origin : `${url.origin} of customers`;
    const shared = local === null ? owned : `${owned} ${local}`;
    const key = client === null ? shared : `${shared} ${fingerprint(client)}`;
    if (latest?.key === key) return latest;
    const origin = origins.get(key) ?? makeOrigin(key, url, { policy, client, local });
    origins.set(key, origin);
    latest = origin;
    return origin;
  }

  function makeOrigin(key: string, url: URL, { policy, client, local }: OriginParts): Origin {
    // Node calls no `lookup` for an IP literal, so it is checked here, once: it never changes.
    const verdict = hostVerdict(url.hostname, policy);
    if (!verdict.ok) throw deliveryError('egress_refused', verdict.description);
    const secureContext = local === null ? contextOf(client) : makeSecureContext([...authorities, local], client);
    const destination = { host: bareHost(url.hostname), port: portOf(url), secureContext };
    const way: Way = local === null ? { egress: policy, proxy, resolve } : LOCAL_WAY;
    return { key, connections: createConnections(destination, way) };
  }

  function contextOf(client: ClientCertificate | null): SecureContext {
    if (client !== null) return makeSecureContext(authorities, client);
    withoutCertificate ??= makeSecureContext(authorities, null);
    return withoutCertificate;
  }

  return {
    async post(request) {
      inProgress += 1;
      try {
        return await send(request);
      } catch (error) {
        const { errorClass, message } = classifyError(error);
        return failure(errorClass, message);
      } finally {
        inProgress -= 1;
        if (inProgress === 0) onIdle();
      }
    },
    async close() {
      cancel(closing);
      if (inProgress > 0) await new Promise<void>((resolve) => (onIdle = resolve));
      for (const { connections } of origins.values()) connections.close();
    },
  };
}

/** Where requests of one scheme, host and port go, with one client certificate or none. */
type Origin = { readonly key: string; readonly connections: Connections };

/** `local`: the certificate of a receiver for development. */
type OriginParts = {
  readonly policy: EgressPolicy;
  readonly client: ClientCertificate | null;
  readonly local: string | null;
};

const LOCAL_WAY: Way = { egress: LOOPBACK, proxy: null, resolve: undefined };

function portOf(url: URL): number {
  return Number(url.port || 443);
}

/** Headers that the exchange adds. */
const MADE = /^(?:host|content-length)$/i;

/** As the exchange takes them: name, value, name, value, … */
function flat(headers: TransportRequest['headers']): string[] {
  const kept: string[] = [];
  for (const name of Object.keys(headers)) if (!MADE.test(name)) kept.push(name, headers[name] ?? '');
  return kept;
}

function fingerprint({ certificate, privateKey }: ClientCertificate): string {
  return createHash('sha256').update(`${certificate}\0${privateKey}`).digest('base64');
}

/** `headers` are flat and stay unchanged until the end. */
type AttemptRequest = Omit<TransportRequest, 'headers' | 'cancellation'> & {
  readonly headers: string[];
  readonly cancellation: Cancellation;
};

/** Waits for a connection, sends the request and gives the connection back. Ends after `timeoutMs` at any step. */
function attempt(request: AttemptRequest, connections: Connections): Promise<Outcome> {
  const { method = 'POST', url, headers, body, timeoutMs, headDecides = false, cancellation, customerId } = request;
  return new Promise((resolve) => {
    const startedAt = performance.now();
    let connection: OutboundConnection | null = null;
    let exchange: Exchange | null = null;
    let stopWaiting = (): void => {};
    let settled = false;
    let isSecond = false;

    const settle = (end: ExchangeEnd): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      cancellation.listeners.delete(giveUp);
      stopWaiting();
      const steps = connection?.steps ?? { dnsMs: null, connectMs: null, tlsMs: null };
      const totalMs = Math.round(performance.now() - startedAt);
      const timings = { ...steps, firstByteMs: exchange?.firstByteMs() ?? null, totalMs };
      const classify = exchange?.started() ? classifyAnswerError : classifyError;
      const explainedEnd = connection === null ? end : explained(end, connection, exchange);
      const answer = answerOf(exchange, explainedEnd, { headDecides, classify });
      if (connection !== null)
        end.reusable ? connections.release(connection, exchange?.keptMs() ?? null) : connections.discard(connection);
      const isDecided = answer !== null && headDecides;
      resolve(isDecided ? statusOutcome(answer, timings) : outcomeOf(explainedEnd, answer, timings, classify));
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
    const giveUp = (): void => {
      fail('internal', `${cancellation.reason} before the answer: ${whereabouts(connection, exchange, url)}`);
    };
    const exchangeOn = (taken: OutboundConnection): void => {
      connection = taken;
      const own = startExchange(taken, { method, url, headers, body }, { onHead, onEnd });
      exchange = own;
    };
    const onEnd = (end: ExchangeEnd): void => {
      const isFirst = !settled && !isSecond;
      if (connection === null || !isFirst || !wasClosedIdle(end, connection, exchange)) {
        settle(end);
      } else {
        isSecond = true;
        exchangeOn(connections.replace(connection, customerId));
      }
    };

    if (cancellation.reason !== null) return giveUp();
    cancellation.listeners.add(giveUp);
    stopWaiting = connections.acquire(exchangeOn, customerId);
  });
}

/** Whether the receiver had closed a kept-alive connection before it saw the request, judged by the bytes exchanged. */
function wasClosedIdle({ error }: ExchangeEnd, { steps }: OutboundConnection, exchange: Exchange | null): boolean {
  const isReset = steps === null && exchange?.answer() === null && classifyError(error).errorClass === 'reset';
  return isReset && exchange.unseenAnswer() === null && !exchange.hasBegun();
}

type Decision = { readonly headDecides: boolean; readonly classify: (error: unknown) => Classified };

/**
 * The response, with why its rest could not be read. Of a response that ended within its head only what decides: a 2xx whose head the
 * receiver did not complete is none.
 */
function answerOf(
  exchange: Exchange | null,
  { error }: ExchangeEnd,
  { headDecides, classify }: Decision,
): ReceiverAnswer | null {
  const seen = exchange?.answer() ?? null;
  const answer = seen ?? (headDecides ? (exchange?.unseenAnswer() ?? null) : null);
  if (answer === null || error === undefined || !headDecides) return answer;
  const { errorClass, message } = classify(error);
  const isBrokenOff = seen === null && isSuccess(answer.status) && errorClass !== 'response_too_large';
  return isBrokenOff ? null : { ...answer, problems: [...(answer.problems ?? []), message] };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** A receiver that requires a client certificate may close the connection right after it opens; TLS 1.3 allows it no earlier. */
function explained(
  end: ExchangeEnd,
  { steps, lacksCertificate }: OutboundConnection,
  exchange: Exchange | null,
): ExchangeEnd {
  const isUnanswered = lacksCertificate && steps !== null && exchange?.answer() == null;
  const isRefusal = isUnanswered && classifyError(end.error).errorClass === 'reset';
  return isRefusal ? { ...end, error: certificateWanted(end.error) } : end;
}

function outcomeOf(
  end: ExchangeEnd,
  answer: ReceiverAnswer | null,
  timings: Timings,
  classify: (error: unknown) => Classified,
): Outcome {
  if (end.error !== undefined || answer === null) {
    const { errorClass, message } = classify(end.error);
    return failure(errorClass, message, { answer, timings });
  }
  return statusOutcome(answer, timings);
}

function statusOutcome(answer: ReceiverAnswer, timings: Timings): Outcome {
  if (isSuccess(answer.status)) return { ok: true, answer, timings };
  return failure('http_status', `the receiver answered ${answer.status}`, { answer, timings });
}

/** The step at which a request timed out. */
function whereabouts(connection: OutboundConnection | null, exchange: Exchange | null, url: URL): string {
  if (exchange?.firstByteMs() != null) return 'the answer was being read';
  if (exchange?.started()) return 'the receiver had not begun to answer';
  const steps = connection?.steps;
  if (steps == null) return `all ${CONNECTIONS_PER_ORIGIN_MAX} connections to the receiver were in use`;
  if (steps.connectMs === null) {
    return steps.dnsMs === null && !isLiteral(bareHost(url.hostname))
      ? 'the host name was being resolved'
      : 'the connection was being opened';
  }
  return 'the TLS handshake was in progress';
}

/** Ends requests early. An `AbortController` for each delivery would cost 4 µs, mostly for the event that it never sends. */
export type Cancellation = {
  /** Why the requests are ended, as the subject and verb of a sentence; null while they go on. */
  reason: string | null;
  /** Called once, when the requests are ended. */
  readonly listeners: Set<() => void>;
};

export function createCancellation(): Cancellation {
  return { reason: null, listeners: new Set() };
}

export function cancel(cancellation: Cancellation, reason: string = 'the service stopped'): void {
  if (cancellation.reason !== null) return;
  cancellation.reason = reason;
  const listeners = [...cancellation.listeners];
  cancellation.listeners.clear();
  for (const listener of listeners) listener();
}
