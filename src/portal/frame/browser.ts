/** Facts about the browser of a request: whether it treats this site as secure, the origin of the page, and the browser's name. */
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { isForwarded } from '../../http/forwarded.ts';

/**
 * Whether the browser keeps cookies that are for secure connections only: over HTTPS, and on the loopback address. Browsers send
 * `Sec-Fetch-Site` only to an address that they hold for trustworthy (Secure Contexts §3.1), which also reveals a proxy that ends TLS.
 * `publicUrl` and the host decide for browsers that do not send it.
 */
export function isTrustworthy({ socket, headers }: IncomingMessage, publicUrl: string | null): boolean {
  return (
    socket instanceof TLSSocket ||
    headers['sec-fetch-site'] !== undefined ||
    publicUrl?.startsWith('https:') === true ||
    isLoopback(headers.host ?? '')
  );
}

/**
 * Whether the browser is on this machine and talks plain HTTP to a loopback address or `localhost`. WebKit drops `Secure` cookies there.
 * A proxy on this machine may pass on its own `Host`, for example 127.0.0.1:8080, for a browser elsewhere that came over HTTPS. So nothing
 * may speak of a proxy, neither `publicUrl` nor a header.
 */
export function isPlainLoopback({ socket, headers }: IncomingMessage, publicUrl: string | null): boolean {
  return (
    !(socket instanceof TLSSocket) &&
    LOOPBACK_HOST.test(headers.host ?? '') &&
    publicUrl?.startsWith('https:') !== true &&
    !isForwarded(headers)
  );
}

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/** The origin of the page in the browser: the `Origin` of a form, or else what the connection and the host tell. */
export function requestOrigin({ socket, headers }: IncomingMessage): string {
  return headers.origin ?? `${socket instanceof TLSSocket ? 'https' : 'http'}://${headers.host}`;
}

/**
 * The address of this service for links and code on a page. A machine has several names for itself, which share neither sessions nor
 * passkeys: there it is the one that the page was opened with.
 */
export function addressFor(request: IncomingMessage, publicUrl: string | null): string | null {
  const isOwn = publicUrl !== null && isLoopback(new URL(publicUrl).host) && isPlainLoopback(request, publicUrl);
  return isOwn ? `http://${request.headers.host}` : publicUrl;
}

export function isLoopback(host: string): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name);
}

/**
 * Whether someone sees the reply. Browsers prefetch links, which must not use up a secret that is shown once; older ones say so in
 * other headers.
 */
export function isVisit({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  const isAhead = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
    /prefetch|preview/.test(String(headers[name] ?? '')),
  );
  return method !== 'HEAD' && !isAhead;
}

/** The likely browser behind a `User-Agent`: enough to tell one's own sessions apart. */
export function browserName(userAgent: string): string {
  const browser = BROWSERS.find(([mark]) => userAgent.includes(mark))?.[1];
  const system = SYSTEMS.find(([mark]) => userAgent.includes(mark))?.[1];
  if (browser === undefined) return system === undefined ? 'An unknown browser' : `A browser on ${system}`;
  return system === undefined ? browser : `${browser} on ${system}`;
}

/** In this order: most browsers also carry the marks of those further down. */
const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const;
