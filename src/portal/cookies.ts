/** The portal's cookies (RFC 6265bis): reading, setting and clearing them. */
import type { IncomingMessage } from 'node:http';
import { isUuidV7 } from '../kernel/ids.ts';
import { FLASH_MAX_LENGTH, FLASH_SECONDS, THEME_SECONDS } from '../kernel/limits/portal.ts';
import type { Flash } from './call.ts';
import { seal, unseal } from './forgery.ts';

/**
 * `__Host-` binds a cookie to this host, to HTTPS and to every path (RFC 6265bis §4.1.3.2): no other host can set it.
 * Browsers treat the loopback address like HTTPS.
 */
export const SESSION_COOKIE = '__Host-sallyport';
/** The secret that the forms of a visitor who is not signed in are bound to. */
export const VISITOR_COOKIE = '__Host-sallyport-visit';
export const FLASH_COOKIE = '__Host-sallyport-flash';
/** How a browser came into the portal of a customer, so that it finds back after the session: `CustomerVisit`. It holds no secret. */
const CUSTOMER_COOKIE = '__Host-sallyport-customer';
/** Set when a portal link is opened in a frame. Browsers keep it apart for the page around the frame, and send it from there alone. */
export const FRAME_COOKIE = '__Host-sallyport-frame';
/** Set by the portal's script too, so it is neither `HttpOnly` nor bound to HTTPS. It holds no secret. */
export const THEME_COOKIE = 'sallyport-theme';

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
  return `${name}=${value}; ${ATTRIBUTES}`;
}

export function setThemeCookie(theme: string): string {
  return `${THEME_COOKIE}=${theme}; Max-Age=${THEME_SECONDS}; Path=/; ${LAX}`;
}

/**
 * The same cookie for a portal in a frame (CHIPS): browsers that block third-party cookies keep it for this portal inside pages of the same
 * site as the page around it, and nowhere else.
 */
export function partitioned(cookie: string): string {
  return cookie.endsWith(LAX) ? `${cookie.slice(0, -LAX.length)}SameSite=None; Secure; Partitioned` : cookie;
}

/** `link`: with a portal link, which cannot be opened again; `user`: as one of the customer's own users. */
export type CustomerVisit = { readonly by: 'link' | 'user'; readonly customerId: string };

export function setCustomerVisit({ by, customerId }: CustomerVisit): string {
  return `${CUSTOMER_COOKIE}=${by}.${customerId}; Max-Age=${THEME_SECONDS}; ${ATTRIBUTES}`;
}

export function clearedCustomerVisit(): string {
  return clearCookie(CUSTOMER_COOKIE);
}

export function readCustomerVisit(request: Pick<IncomingMessage, 'headers'>): CustomerVisit | null {
  const [by, customerId = ''] = (readCookie(request, CUSTOMER_COOKIE) ?? '').split('.');
  return (by === 'link' || by === 'user') && isUuidV7(customerId) ? { by, customerId } : null;
}

export function clearCookie(name: string): string {
  return `${name}=; Max-Age=0; ${ATTRIBUTES}`;
}

const LAX = 'SameSite=Lax';
const ATTRIBUTES = `Path=/; Secure; HttpOnly; ${LAX}`;

/** Keeps the message of a redirect until the next page shows it. It is sealed, so that nobody else can write one. */
export function writeFlash(cookie: string, { tone, text }: Flash): string {
  const sealed = seal(cookie, `${tone} ${text.slice(0, FLASH_MAX_LENGTH)}`);
  return `${FLASH_COOKIE}=${sealed}; Max-Age=${FLASH_SECONDS}; ${ATTRIBUTES}`;
}

/** The message that the request brings, or null. A message of an earlier session does not count. */
export function readFlash(request: IncomingMessage, cookie: string): Flash | null {
  const sealed = readCookie(request, FLASH_COOKIE);
  const text = sealed === null ? null : unseal(cookie, sealed);
  if (text === null) return null;
  const [tone, ...words] = text.split(' ');
  return { tone: tone === 'negative' ? 'negative' : 'positive', text: words.join(' ') };
}

export function clearedFlash(): string {
  return clearCookie(FLASH_COOKIE);
}
