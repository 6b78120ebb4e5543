/** What a browser takes this site for: whether it will keep cookies that are for secure connections alone, and at which origin it is. */
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';

/**
 * With HTTPS, and on the loopback address. Browsers send `Sec-Fetch-Site` where they hold the address for trustworthy (Secure Contexts §3.1) and nowhere else, which also
 * tells of a proxy that takes TLS off before us. `publicUrl` and the host are for those that do not send it.
 */
export function isTrustworthy({ socket, headers }: IncomingMessage, publicUrl: string | null): boolean {
  return (
    socket instanceof TLSSocket ||
    headers['sec-fetch-site'] !== undefined ||
    publicUrl?.startsWith('https:') === true ||
    isLoopback(headers.host ?? '')
  );
}

/** The origin that the page has in the browser: as it says itself with a form, else as far as the request tells. */
export function originOf({ socket, headers }: IncomingMessage): string {
  return headers.origin ?? `${socket instanceof TLSSocket ? 'https' : 'http'}://${headers.host}`;
}

export function isLoopback(host: string): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name);
}
