/** The response headers of every page, and compression for browsers that accept it. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Reply } from '../../http/route.ts';
import { createFairQueue, type Owner } from '../../kernel/fair-queue.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { GZIPS_AT_ONCE } from '../../wire/payload.ts';
import { isLoopback } from './browser.ts';

// Compression of pages.
/** Shorter pages fit into one or two packets uncompressed. */
const PACKED_MIN_LENGTH = 1400;

/** Pages of one customer that may wait to be compressed. */
const PAGES_WAITING_PER_CUSTOMER = 100;

/** Scripts and styles only load from this origin, never inline: injected markup can neither run nor style. */
function policy({ ancestors, formTargets }: Openings): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    `form-action ${["'self'", ...formTargets].join(' ')}`,
    "base-uri 'none'",
    `frame-ancestors ${ancestors.length === 0 ? "'none'" : ancestors.join(' ')}`,
  ].join('; ');
}

export type Openings = {
  /** The origins that may show the page in a frame; none for every page but those of a customer's portal. */
  readonly ancestors: readonly string[];
  /** The origins to which signing out, or a form of an ended session, may lead, besides this one. */
  readonly formTargets: readonly string[];
};

const CLOSED: Openings = { ancestors: [], formTargets: [] };

/** With `no-referrer`, browsers would send forms with `Origin: null`. `same-origin` tells other sites nothing either. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html;charset=UTF-8',
  'Content-Security-Policy': policy(CLOSED),
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
export function pageHeaders(
  { socket, headers }: IncomingMessage,
  openings: Openings = CLOSED,
): Readonly<Record<string, string>> {
  const made = socket instanceof TLSSocket && !isLoopback(headers.host ?? '') ? PAGE_HEADERS_OVER_TLS : PAGE_HEADERS;
  const { ancestors, formTargets } = openings;
  if (ancestors.length === 0 && formTargets.length === 0) return made;
  const opened = { ...made, 'Content-Security-Policy': policy(openings) };
  // This header knows no list of origins, and browsers that know `frame-ancestors` ignore it (CSP 3 §6.4.2.2).
  return ancestors.length === 0 ? opened : without(opened, 'X-Frame-Options');
}

function without(headers: Readonly<Record<string, string>>, name: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([one]) => one !== name));
}

const PAGE_HEADERS_OVER_TLS = { ...PAGE_HEADERS, 'Strict-Transport-Security': 'max-age=15552000' };

/** The part of RFC 9110 §12.5.3 that browsers use: names, each with a weight that is not zero. */
export function accepts(headers: IncomingHttpHeaders, coding: 'br' | 'gzip'): boolean {
  return String(headers['accept-encoding'] ?? '')
    .split(',')
    .some((part) => {
      const [name = '', weight = ''] = part.split(';').map((text) => text.trim().toLowerCase());
      return name === coding && !/^q=0(?:\.0*)?$/.test(weight);
    });
}

/**
 * The reply with its text compressed if it is long enough. The size of a compressed page reveals repetitions (BREACH), so no page holds a
 * constant secret next to text from its URL: form tokens get a new mask each time. The work is queued for
 * `owner`.
 */
export async function packed({ headers }: IncomingMessage, reply: Reply, owner: Owner): Promise<Reply> {
  const { body } = reply;
  if (typeof body !== 'string' || body.length < PACKED_MIN_LENGTH || !accepts(headers, 'gzip')) return reply;
  try {
    const bytes = await compressing.run(owner, () => gzipped(body));
    return { ...reply, headers: { ...reply.headers, 'Content-Encoding': 'gzip' }, body: bytes };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // Too many wait. What the page tells has happened already, so it is sent as it is.
    return reply;
  }
}

const gzipped = promisify<string, Buffer>(gzip);
const compressing = createFairQueue({
  what: 'pages',
  places: GZIPS_AT_ONCE,
  waitingPerOwner: PAGES_WAITING_PER_CUSTOMER,
});
