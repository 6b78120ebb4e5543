/** The portal's cookies (RFC 6265bis): reading, setting and clearing them. */
import type { IncomingMessage } from 'node:http';
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
  return `${THEME_COOKIE}=${theme}; Max-Age=${THEME_SECONDS}; Path=/; SameSite=Lax`;
}

export function clearCookie(name: string): string {
  return `${name}=; Max-Age=0; ${ATTRIBUTES}`;
}

const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax';

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
