/** What every page of the portal says to the browser beside its text. */
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { isLoopback } from './browser.ts';

/** Everything comes from here, nothing stands in the page itself: what gets into a page as markup can neither run nor style. */
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

/** With `no-referrer` a browser would send forms with `Origin: null`; other sites learn nothing with this one either. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html;charset=UTF-8',
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Referrer-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  // The same address answers a whole page or a part of it.
  Vary: 'HX-Request, Cookie, Accept-Encoding',
};

/**
 * The same with HSTS (RFC 6797) where the connection itself is TLS: behind a proxy it is the proxy's to say. Not for the loopback address, whose
 * other ports are other people's programs, often without TLS. Half a year, which every page begins anew.
 */
export function pageHeaders({ socket, headers }: IncomingMessage): Readonly<Record<string, string>> {
  return socket instanceof TLSSocket && !isLoopback(headers.host ?? '') ? PAGE_HEADERS_OVER_TLS : PAGE_HEADERS;
}

const PAGE_HEADERS_OVER_TLS = { ...PAGE_HEADERS, 'Strict-Transport-Security': 'max-age=15552000' };
