/** The response headers of every page. */
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { isLoopback } from './browser.ts';

/** Scripts and styles only load from this origin, never inline: injected markup can neither run nor style. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** With `no-referrer`, browsers would send forms with `Origin: null`. `same-origin` tells other sites nothing either. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html;charset=UTF-8',
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Referrer-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  // The same URL returns a whole page or a part of it.
  Vary: 'HX-Request, Cookie, Accept-Encoding',
};

/**
 * Adds HSTS (RFC 6797) for half a year if the connection itself is TLS; behind a proxy, the proxy decides. Not on the loopback address,
 * because other programs on its other ports often have no TLS.
 */
export function pageHeaders({ socket, headers }: IncomingMessage): Readonly<Record<string, string>> {
  return socket instanceof TLSSocket && !isLoopback(headers.host ?? '') ? PAGE_HEADERS_OVER_TLS : PAGE_HEADERS;
}

const PAGE_HEADERS_OVER_TLS = { ...PAGE_HEADERS, 'Strict-Transport-Security': 'max-age=15552000' };
