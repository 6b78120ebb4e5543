/**
 * Sends requests to receivers: HTTPS only, addresses guarded, every step bounded in time and bytes (contract §5).
 * Every result is an outcome.
 */

import { createHash } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import { ORIGINS_MAX } from '../kernel/limits/limits.ts';
import { createLru } from '../kernel/lru.ts';
import { attempt } from './attempt.ts';
import { classifyError, deliveryError } from './classify.ts';
import type { Destination } from './connect.ts';
import { type Connections, createConnections } from './connections.ts';
import { bareHost, type EgressPolicy, hostVerdict } from './egress.ts';
import { failure, type Outcome } from './outcome.ts';
import { parseProxyUrl } from './proxy.ts';
import type { Resolve } from './resolve.ts';
import { type ClientCertificate, makeSecureContext, readAuthorities } from './tls.ts';

export type TransportOptions = {
  readonly egress: EgressPolicy;
  /** Additional trusted authorities, in PEM (`SALLYPORT_CA_FILE`). */
  readonly caPem: string | null;
  /** `http://[user:password@]host:port` of a CONNECT proxy (`SALLYPORT_EGRESS_PROXY`). */
  readonly proxyUrl: string | null;
  /** Replaces the system's resolver. */
  readonly resolve?: Resolve | undefined;
};

export type TransportRequest = {
  readonly url: URL;
  /** By name, or flat: name, value, name, value, … `host` and `content-length` are ignored: undici adds them. */
  readonly headers: Readonly<Record<string, string>> | readonly string[];
  /** Not read after the outcome. */
  readonly body: Uint8Array;
  /** For everything from the call to the last byte: DNS, connecting, TLS, waiting, reading. */
  readonly timeoutMs: number;
  readonly clientCertificate?: ClientCertificate | null | undefined;
  /**
   * The status decides as soon as the head of the response is read, whatever happens to the body (contract §5 "Outcome"). The body then
   * gets at most `BODY_AFTER_HEAD_MS`; the connection is closed unless the body is complete.
   */
  readonly headDecides?: boolean | undefined;
  /** Ends the request at once, with an outcome of class `internal`. A reason that is a text is part of the message. */
  readonly signal?: AbortSignal | undefined;
};

export type Transport = {
  /**
   * Sends one POST and never rejects. Nothing is sent twice by itself: a kept-alive connection that the receiver
   * closes in the moment it is used again gives `reset` with `answer` null and `timings.connectMs` null.
   */
  post(request: TransportRequest): Promise<Outcome>;
  /** Refuses new requests, ends those without a signal of their own, waits for the others, and closes every connection. */
  close(): Promise<void>;
};

/** Throws if `caPem` or `proxyUrl` cannot be read. */
export function createTransport({ egress, caPem, proxyUrl, resolve }: TransportOptions): Transport {
  const authorities = caPem === null ? [] : readAuthorities(caPem);
  const way = { egress, proxy: proxyUrl === null ? null : parseProxyUrl(proxyUrl), resolve };
  // Created with the first connection: it would delay the start, and every command, by 20 ms.
  let withoutCertificate: SecureContext | null = null;
  const origins = createLru<string, Origin>({
    max: ORIGINS_MAX,
    onEvict: ({ connections }) => void connections.close(),
  });
  let latest: Origin | null = null;
  let underWay = 0;
  let onIdle = (): void => {};
  const closing = new AbortController();

  /** Throws what `classifyError` understands. */
  function send({
    url,
    headers,
    clientCertificate = null,
    signal = closing.signal,
    ...request
  }: TransportRequest): Promise<Outcome> {
    if (closing.signal.aborted) throw deliveryError('internal', 'the service is stopping');
    if (url.protocol !== 'https:') throw deliveryError('internal', 'only https URLs are sent to');
    const { connections } = originOf(url, clientCertificate);
    return attempt({ ...request, url, headers: flat(headers), signal }, connections);
  }

  /** A connection made with one client certificate never carries a request with another, or none. */
  function originOf(url: URL, client: ClientCertificate | null): Origin {
    const key = client === null ? url.origin : `${url.origin} ${fingerprint(client)}`;
    if (latest?.key === key) return latest;
    const origin = origins.get(key) ?? makeOrigin(key, url, client);
    origins.set(key, origin);
    latest = origin;
    return origin;
  }

  function makeOrigin(key: string, url: URL, client: ClientCertificate | null): Origin {
    // Node calls no `lookup` for an IP literal, so it is checked here, once: it never changes.
    const verdict = hostVerdict(url.hostname, egress);
    if (!verdict.ok) throw deliveryError('egress_refused', verdict.description);
    return { key, connections: createConnections(url.origin, destination(url, client), way) };
  }

  function destination(url: URL, client: ClientCertificate | null): Destination {
    const secureContext = client === null ? forAll() : makeSecureContext(authorities, client);
    return { host: bareHost(url.hostname), port: Number(url.port || 443), secureContext };
  }

  function forAll(): SecureContext {
    withoutCertificate ??= makeSecureContext(authorities, null);
    return withoutCertificate;
  }

  return {
    async post(request) {
      underWay += 1;
      try {
        return await send(request);
      } catch (error) {
        const { errorClass, message } = classifyError(error);
        return failure(errorClass, message);
      } finally {
        underWay -= 1;
        if (underWay === 0) onIdle();
      }
    },
    async close() {
      closing.abort();
      if (underWay > 0) await new Promise<void>((resolve) => (onIdle = resolve));
      await Promise.all([...origins.values()].map(({ connections }) => connections.close()));
    },
  };
}

/** Where requests of one scheme, host and port go, with one client certificate or none. */
type Origin = { readonly key: string; readonly connections: Connections };

/** Headers that undici adds. */
const MADE = /^(?:host|content-length)$/i;

function flat(headers: TransportRequest['headers']): string[] {
  const kept: string[] = [];
  const keep = (name: string, value: string): void => {
    if (!MADE.test(name)) kept.push(name, value);
  };
  if (isFlat(headers)) for (let at = 0; at < headers.length; at += 2) keep(headers[at] ?? '', headers[at + 1] ?? '');
  else for (const name of Object.keys(headers)) keep(name, headers[name] ?? '');
  return kept;
}

function isFlat(headers: TransportRequest['headers']): headers is readonly string[] {
  return Array.isArray(headers);
}

function fingerprint({ certificate, privateKey }: ClientCertificate): string {
  return createHash('sha256').update(`${certificate}\0${privateKey}`).digest('base64');
}
