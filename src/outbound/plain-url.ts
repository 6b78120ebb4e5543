/**
 * Whether all parsers read the same host and port out of a URL. `URL` (WHATWG) repairs what others refuse, or read otherwise: a backslash
 * is a slash, tabs vanish, `2130706433` is 127.0.0.1, `%6c` is a letter. What is configured here is shown, logged, checked and allowed
 * elsewhere, so such a URL is refused rather than repaired. Pure.
 */
import { domainToUnicode } from 'node:url';
import { parseAddress } from './ip-address.ts';

export const NOT_VISIBLE = 'must not hold spaces, control characters or invisible ones';

/** Returns the problem of `text`, to follow the name of its field, or null; `url` is the result of parsing it. */
export function ambiguityOf(text: string, url: URL): string | null {
  if (/[\s\p{Cc}\p{Cf}]/u.test(text)) return NOT_VISIBLE;
  const authority = /^[a-z]+:\/\/([^/?#\\]+)/i.exec(text)?.[1];
  if (authority === undefined) return `must begin with ${url.protocol}// and a host`;
  if (text.includes('\\')) return 'must not hold a backslash, which is a slash to some programs and not to others';
  const [, host = '', port] = /^(?:[^@]*@)?(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(authority) ?? [];
  if (port !== undefined && !isPort(port)) return 'must have a port from 1 to 65535, or none';
  return isPlainHost(host, url.hostname) ? null : `must have its host written as ${url.hostname}`;
}

function isPort(text: string): boolean {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535;
}

/** Written as the parser understood it: a name in upper case and in letters beyond ASCII is the same to everyone. */
function isPlainHost(written: string, hostname: string): boolean {
  const lower = written.toLowerCase();
  if (lower === hostname) return true;
  if (!lower.startsWith('[')) return /[^\x20-\x7e]/.test(lower) && lower === domainToUnicode(hostname);
  const [one, other] = [lower, hostname].map((text) => parseAddress(text.slice(1, -1)));
  return one != null && other != null && Buffer.compare(one, other) === 0;
}
