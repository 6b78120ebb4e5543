/**
 * The operator's HTTP CONNECT proxy (`SALLYPORT_EGRESS_PROXY`). It is itself exempt from the egress guard: anyone
 * who configures it may also allow addresses.
 */

import type { Socket } from 'node:net';
import { http } from '../kernel/node-http.ts';
import { deliveryError, isExhausted } from './classify.ts';
import { bareHost } from './egress.ts';
import { PROXY_ADDRESSES_TRIED, RESPONSE_HEADER_BYTES } from './limits.ts';
import { ambiguityOf } from './plain-url.ts';

/** `authorization` is the value of `Proxy-Authorization`, a secret, or null. */
export type ConnectProxy = { readonly host: string; readonly port: number; readonly authorization: string | null };

/** Reads `http://[user:password@]host[:port]`. Throws with a message that repeats nothing of the URL. */
export function parseProxyUrl(text: string): ConnectProxy {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isBare = url?.protocol === 'http:' && url.pathname === '/' && url.search === '' && url.hash === '';
  if (!isBare || ambiguityOf(text, url) !== null) {
    throw new Error('the egress proxy must be given as http://host:port');
  }
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    host: bareHost(url.hostname),
    port: Number(url.port || 80),
    authorization: credentials === ':' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

/** `namesAddresses`: whether errors name the address that was tried. */
type TunnelOptions = { readonly signal: AbortSignal; readonly namesAddresses: boolean };

/**
 * Opens a tunnel to the first of `addresses` that the proxy can reach, at most `PROXY_ADDRESSES_TRIED` of them. The
 * proxy gets addresses, never names: it could resolve a name to something that was not checked. Rejects with an
 * error of class `proxy`, or `internal` where this machine has no connection left to give; `signal` ends it immediately.
 */
export async function openTunnel(
  proxy: ConnectProxy,
  addresses: readonly string[],
  port: number,
  { signal, namesAddresses }: TunnelOptions,
): Promise<Socket> {
  let refusal: unknown = deliveryError('proxy', 'there is no address to connect to');
  for (const address of addresses.slice(0, PROXY_ADDRESSES_TRIED)) {
    try {
      const authority = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
      return await tunnelTo(proxy, authority, { signal, namesAddresses });
    } catch (error) {
      if (signal.aborted) throw error;
      refusal = error;
    }
  }
  throw refusal;
}

function tunnelTo(
  { host, port, authorization }: ConnectProxy,
  authority: string,
  { signal, namesAddresses }: TunnelOptions,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const headers = { host: authority, ...(authorization !== null && { 'proxy-authorization': authorization }) };
    const options = { method: 'CONNECT', host, port, path: authority, headers, agent: false as const, signal };
    const connecting = http.request({ ...options, maxHeaderSize: RESPONSE_HEADER_BYTES });
    connecting.once('connect', (answer, socket: Socket, head) => {
      const status = answer.statusCode ?? 0;
      // A receiver's TLS never speaks first: bytes that came with the answer are not from it.
      if (status >= 200 && status < 300 && head.length === 0) return resolve(socket);
      socket.destroy();
      reject(deliveryError('proxy', `the proxy answered ${status} to CONNECT${namesAddresses ? ` ${authority}` : ''}`));
    });
    connecting.once('response', () => connecting.destroy(new Error('no tunnel')));
    connecting.once('error', (error: NodeJS.ErrnoException) => {
      const errorClass = isExhausted(error) ? 'internal' : 'proxy';
      reject(deliveryError(errorClass, `the proxy could not be used (${error.code ?? 'no answer to CONNECT'})`, error));
    });
    connecting.end();
  });
}
