/** The portal's cookies (RFC 6265bis): reading, setting and clearing them. */

import type { IncomingMessage } from 'node:http';
import { isUuidV7 } from '../../kernel/ids.ts';
import { THEME_SECONDS } from '../parts/limits.ts';
import { isPlainLoopback } from './browser.ts';
import type { Flash, ReadCookie } from './cookie-values.ts';
import { seal, unseal } from './forgery.ts';

/** How long the message of a redirect waits for its page. */
const FLASH_SECONDS = 60;
const FLASH_MAX_LENGTH = 500;

/**
 * Binds a cookie to this host, to HTTPS and to every path (RFC 6265bis §4.1.3.2): no other host can set it. Over plain HTTP on a loopback
 * address the cookies have neither this prefix nor `Secure`, because WebKit drops `Secure` cookies there.
 */
const PREFIX = '__Host-';

// Names without the prefix.
export const SESSION_COOKIE = 'sallyport';
/** The session of an operator's administrator in the portal of a customer, beside its own. */
export const VISITED_COOKIE = 'sallyport-visited';
/** The secret that the forms of a visitor who is not signed in are bound to. */
export const VISITOR_COOKIE = 'sallyport-visit';
export const FLASH_COOKIE = 'sallyport-flash';
/** How a browser came into the portal of a customer, so that it finds back after the session: `CustomerVisit`. It holds no secret. */
const CUSTOMER_COOKIE = 'sallyport-customer';
/** The `renewUrl` of the link that began the session, sealed with the session's cookie. */
export const RENEWAL_COOKIE = 'sallyport-renewal';
/** Set when a portal link is opened in a frame. Browsers store it separately for the page around the frame, and send it only from there. */
export const FRAME_COOKIE = 'sallyport-frame';
/** Set by the portal's script too, so it is neither `HttpOnly` nor bound to HTTPS. It holds no secret and has no prefix. */
export const THEME_COOKIE = 'sallyport-theme';

export type Cookies = {
  of(request: IncomingMessage): ReadCookie;
  /** The values of `Set-Cookie` for a reply to this request. */
  placed(cookies: readonly string[], request: IncomingMessage, isFramed: boolean): string[];
};

/** `publicUrl` is the URL that clients use; null if unknown. */
export function createCookies(publicUrl: () => string | null): Cookies {
  return {
    of: (request) => (name) =>
      readCookie(request, PREFIX + name) ?? (isPlainLoopback(request, publicUrl()) ? readCookie(request, name) : null),
    placed: (cookies, request, isFramed) => {
      if (isFramed) return cookies.map(partitioned);
      // The page of a form tells how the browser came, also behind a proxy that shows itself in nothing else.
      const isPlain = isPlainLoopback(request, publicUrl()) && request.headers.origin?.startsWith('https:') !== true;
      return cookies.flatMap((cookie) => {
        const plain = unprotected(cookie);
        const [written, other] = isPlain ? [plain, cookie] : [cookie, plain];
        // An earlier cookie with the other name would hide this one, or come back after it.
        const isStale = other !== written && readCookie(request, nameOf(other)) !== null;
        const cleared = clearCookie(nameOf(plain));
        return isStale ? [written, isPlain ? cleared : unprotected(cleared)] : [written];
      });
    },
  };
}

function nameOf(cookie: string): string {
  return cookie.slice(0, cookie.indexOf('='));
}

/** The same cookie for plain HTTP on a loopback address. */
function unprotected(cookie: string): string {
  return cookie.startsWith(PREFIX) ? cookie.slice(PREFIX.length).replace(` ${SECURE}`, '') : cookie;
}

/** The value of a cookie. Of several with one name the first counts, which has the longest path. */
export function readCookie({ headers }: Pick<IncomingMessage, 'headers'>, name: string): string | null {
  for (const pair of headers.cookie?.split(';') ?? []) {
    const at = pair.indexOf('=');
    if (at !== -1 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return null;
}

/** Values are Base64url or from a closed list, so they need no quoting. */
export function setCookie(name: string, value: string): string {
  return `${PREFIX}${name}=${value}; ${ATTRIBUTES}`;
}

export function setThemeCookie(theme: string): string {
  return `${THEME_COOKIE}=${theme}; Max-Age=${THEME_SECONDS}; Path=/; ${LAX}`;
}

/**
 * The same cookie for a portal in a frame (CHIPS): browsers that block third-party cookies keep it for this portal inside pages of the same
 * site as the page around it, and nowhere else.
 */
function partitioned(cookie: string): string {
  return cookie.endsWith(LAX) ? `${cookie.slice(0, -LAX.length)}SameSite=None; Secure; Partitioned` : cookie;
}

/** `link`: with a portal link, which cannot be opened again; `user`: as one of the customer's own users. */
type CustomerVisit = { readonly by: 'link' | 'user'; readonly customerId: string };

export function setCustomerVisit({ by, customerId }: CustomerVisit): string {
  return `${PREFIX}${CUSTOMER_COOKIE}=${by}.${customerId}; Max-Age=${THEME_SECONDS}; ${ATTRIBUTES}`;
}

/** A `renewUrl` begins with its scheme. */
const USED = 'used ';

/** Where a new link comes from when the session of this token has ended. It outlives the session. `isUsed`: a browser was sent there. */
export function setRenewal(token: string, renewUrl: string, isUsed = false): string {
  return setCookie(RENEWAL_COOKIE, seal(token, isUsed ? USED + renewUrl : renewUrl));
}

type Renewal = { readonly url: URL; readonly isUsed: boolean };

/** The URL for a new link, in a browser that still has the cookie of the session; null without one. */
export function readRenewal(cookie: ReadCookie): Renewal | null {
  const [sealed, token] = [cookie(RENEWAL_COOKIE), cookie(SESSION_COOKIE)];
  const kept = sealed === null || token === null ? null : unseal(token, sealed);
  if (kept === null) return null;
  const isUsed = kept.startsWith(USED);
  const url = URL.parse(isUsed ? kept.slice(USED.length) : kept);
  return url === null ? null : { url, isUsed };
}

export function clearedCustomerVisit(): string {
  return clearCookie(CUSTOMER_COOKIE);
}

export function readCustomerVisit(cookie: ReadCookie): CustomerVisit | null {
  const [by, customerId = ''] = (cookie(CUSTOMER_COOKIE) ?? '').split('.');
  return (by === 'link' || by === 'user') && isUuidV7(customerId) ? { by, customerId } : null;
}

export function clearCookie(name: string): string {
  return `${PREFIX}${name}=; Max-Age=0; ${ATTRIBUTES}`;
}

const LAX = 'SameSite=Lax';
const SECURE = 'Secure;';
const ATTRIBUTES = `Path=/; ${SECURE} HttpOnly; ${LAX}`;

/** Keeps the message of a redirect until the next page shows it. It is sealed, so that nobody else can write one. */
export function writeFlash(cookie: string, { tone, text, link }: Flash): string {
  const short = text.slice(0, FLASH_MAX_LENGTH);
  const sealed = seal(
    cookie,
    JSON.stringify(link === undefined ? [tone, short] : [tone, short, link.href, link.label]),
  );
  return `${PREFIX}${FLASH_COOKIE}=${sealed}; Max-Age=${FLASH_SECONDS}; ${ATTRIBUTES}`;
}

/** The message in a cookie, or null. A message of an earlier session does not count. `secret` is the cookie of this one. */
export function readFlash(sealed: string | null, secret: string): Flash | null {
  const text = sealed === null ? null : unseal(secret, sealed);
  if (text === null) return null;
  // It is sealed, so it is as `writeFlash` wrote it.
  const [tone, words, href, label] = JSON.parse(text) as [Flash['tone'], string, string?, string?];
  return { tone, text: words, ...(href !== undefined && label !== undefined && { link: { href, label } }) };
}

export function clearedFlash(): string {
  return clearCookie(FLASH_COOKIE);
}
