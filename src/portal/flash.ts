/** A message that a redirect brings along: kept in a cookie until the next page shows it, sealed so that it is ours. */
import type { IncomingMessage } from 'node:http';
import { FLASH_MAX_LENGTH } from '../kernel/limits/portal.ts';
import type { Flash } from './call.ts';
import { clearCookie, FLASH_COOKIE, readCookie, setFlashCookie } from './cookies.ts';
import { seal, unseal } from './forgery.ts';

export function writeFlash(cookie: string, { tone, text }: Flash): string {
  return setFlashCookie(seal(cookie, `${tone} ${text.slice(0, FLASH_MAX_LENGTH)}`));
}

/** The message that the request brings, or null. One of an earlier session is none. */
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
