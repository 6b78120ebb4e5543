/**
 * Reads the head of a request: header values, the target, the client's address, and the checks that apply before routing (RFC 9112 §2.3,
 * §3.2, §6.1). Node's parser accepts more than these rules allow.
 */

import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { createLru } from '../kernel/lru.ts';
import { Refusal } from '../kernel/refusal.ts';
import { type Cidr, cidrContains, formatAddress, parseAddress, unmapped } from '../outbound/ip-address.ts';

/** Client addresses with cached canonical text. */
const PEERS_CACHED = 1000;

// `request.headers` builds an object of all headers, which takes longer than the gate. Code that needs one or two headers reads them
// from `rawHeaders` instead.

type Sent = Pick<IncomingMessage, 'rawHeaders'>;

/** The first value of a header, or undefined. `name` in lower case. */
export function firstHeader({ rawHeaders }: Sent, name: string): string | undefined {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (isNamed(rawHeaders[at] as string, name)) return rawHeaders[at + 1];
  }
  return undefined;
}

/** All values of a header. `name` in lower case. */
export function allHeaders({ rawHeaders }: Sent, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (isNamed(rawHeaders[at] as string, name)) values.push(rawHeaders[at + 1] as string);
  }
  return values;
}

/** Whether the request has a body, even if it was already read. */
export function hasBody(request: Sent): boolean {
  if (firstHeader(request, 'transfer-encoding') !== undefined) return true;
  return Number(firstHeader(request, 'content-length')) > 0;
}

function isNamed(sent: string, name: string): boolean {
  return sent.length === name.length && (sent === name || sent.toLowerCase() === name);
}

/** The scheme and authority of a target in absolute form. HTTP allows no user in it (RFC 9110 §4.2.4) and no empty host (§4.2.1). */
const ABSOLUTE = /^https?:\/\/([A-Za-z0-9._~%!$&'()*+,;=:[\]-]+)(?:$|(?=[/?]))/i;
const SLASH = 47;

/** The target in origin form (RFC 9112 §3.2.1). Returns a target in any other form than origin or absolute unchanged. */
export function originForm(target: string): string {
  if (target.charCodeAt(0) === SLASH) return target;
  const match = ABSOLUTE.exec(target);
  if (match === null) return target;
  const rest = target.slice(match[0].length);
  return rest.charCodeAt(0) === SLASH ? rest : `/${rest}`;
}

/**
 * Rewrites a target in absolute form, `http://api.example/livez`, to origin form. Clients send the absolute form to proxies, but a
 * server must accept it too, and its authority replaces `Host` (RFC 9112 §3.2.2).
 */
export function readAbsoluteForm(request: IncomingMessage): void {
  const { url = '' } = request;
  if (url.charCodeAt(0) === SLASH) return;
  const [, authority] = ABSOLUTE.exec(url) ?? [];
  if (authority === undefined) return;
  request.url = originForm(url);
  request.headers.host = authority;
}

/** Throws the refusal of `framingProblem`, and 400 for a missing, repeated or malformed `Host`. */
export function refuseFraming(request: IncomingMessage): void {
  const problem = framingProblem(request);
  if (problem !== null) throw problem;
  refuseHost(request);
}

/**
 * Checks that the end of the request is unambiguous: 505 for an HTTP version other than 1.0 and 1.1, 501 for a transfer coding other
 * than `chunked`, 400 for any transfer coding with HTTP/1.0. The connection ends after such a request.
 */
export function framingProblem(request: IncomingMessage): Refusal | null {
  const { httpVersion } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return versionNotSupported();
  if (firstHeader(request, 'transfer-encoding') === undefined) return null;
  const codings = allHeaders(request, 'transfer-encoding');
  // HTTP/1.0 has no transfer codings: another recipient of the same bytes may see another end (§6.1).
  if (httpVersion === '1.0') return closing('invalid_request', 'HTTP/1.0 has no Transfer-Encoding');
  if (codings.length === 1 && codings[0]?.trim().toLowerCase() === 'chunked') return null;
  return closing('not_implemented', 'the only Transfer-Encoding supported is chunked');
}

export function versionNotSupported(): Refusal {
  return closing('http_version_not_supported', 'the HTTP version must be 1.0 or 1.1');
}

function closing(code: 'invalid_request' | 'not_implemented' | 'http_version_not_supported', text: string): Refusal {
  return new Refusal(code, text, { headers: { Connection: 'close' } });
}

/** Node can refuse a missing `Host` itself, but not with the error body. */
function refuseHost(request: IncomingMessage): void {
  const sent = allHeaders(request, 'host');
  const [host] = sent;
  if (host === undefined) {
    if (request.httpVersion === '1.1') throw new Refusal('invalid_request', 'a Host header is required');
    return;
  }
  if (sent.length > 1) throw new Refusal('invalid_request', 'the Host header was sent more than once');
  if (host === lastHost) return;
  if (!isHost(host)) throw new Refusal('invalid_request', 'the Host header is not a host with an optional port');
  lastHost = host;
}

/** The last valid `Host`: nearly all requests have the same one. */
let lastHost: string | null = null;

const HOST = /^(?:\[([0-9A-Fa-f:.]+)\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)(?::(\d{0,5}))?$/;

/** Whether the text is a `uri-host [":" port]` (RFC 9110 §7.2) with a host that is not empty (§4.2.1). */
export function isHost(text: string): boolean {
  const match = HOST.exec(text);
  if (match === null) return false;
  const [, address, port = ''] = match;
  return (address === undefined || isIPv6(address)) && Number(port) <= 65_535;
}

/**
 * The path of a request for the log, without secrets: without the query, without anything that looks like a credential, and without
 * the part after `invitations/` and `portal-links/`, which is a credential.
 */
export function loggedPath({ url = '' }: IncomingMessage): string {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  if (path.length <= LOGGED_PATH_LENGTH && !MAY_HOLD_SECRET.test(path)) return path;
  return path.replace(CREDENTIAL, '[secret]').replace(ONE_TIME_LINK, '$1[secret]').slice(0, LOGGED_PATH_LENGTH);
}

/** Matches wherever one of the next two does. */
const MAY_HOLD_SECRET = /sp[ipst](?:_|%5f)|invitations|portal-links/i;
const CREDENTIAL = /sp[ipst](?:_|%5f)[0-9a-z%]+/gi;
const ONE_TIME_LINK = /((?:invitations|portal-links)(?:\/|%2f)+).+/i;
const LOGGED_PATH_LENGTH = 500;

/** For a peer without an address, such as a Unix socket. */
const UNKNOWN_ADDRESS = 'unknown';

/**
 * Returns a function for the client address of a request, in canonical text, with IPv4-mapped addresses as IPv4. `X-Forwarded-For` counts
 * only as far as trusted proxies wrote it (contract §6.3): as long as the address is a trusted proxy, the next one is the entry that this
 * proxy added, from the right, because a client may have written the entries further left. Stops at the proxy that sent an entry that is
 * not an address.
 */
export function createRemoteAddress(trusted: readonly Cidr[]): (request: IncomingMessage) => string {
  const isTrusted = (address: Uint8Array): boolean => trusted.some((cidr) => cidrContains(cidr, address));
  /** By peer address, if no proxy is trusted. */
  const cache = createLru<string, string>({ max: PEERS_CACHED });
  return (request) => {
    const peer = request.socket.remoteAddress ?? '';
    if (trusted.length > 0) return throughProxies(peer, request);
    const cached = cache.get(peer);
    if (cached !== undefined) return cached;
    const address = throughProxies(peer, request);
    cache.set(peer, address);
    return address;
  };

  function throughProxies(peer: string, { headers }: IncomingMessage): string {
    // A zone (`fe80::1%eth0`) names an interface of this machine and is not part of the address.
    let address = parseAddress(peer.split('%', 1)[0] ?? '');
    if (address === null) return UNKNOWN_ADDRESS;
    const forwarded = String(headers['x-forwarded-for'] ?? '').split(',');
    while (isTrusted(address)) {
      const next = parseAddress(withoutPort(forwarded.pop()?.trim() ?? ''));
      if (next === null) break;
      address = next;
    }
    return formatAddress(unmapped(address));
  }
}

/**
 * The network for which failed authentications are counted: an IPv4 address, or the /64 of an IPv6 address, all of which one machine may
 * use. `address`: from `createRemoteAddress`.
 */
export function networkOf(address: string): string {
  const bytes = address.includes(':') ? parseAddress(address) : null;
  return bytes === null ? address : `${formatAddress(bytes.fill(0, 8))}/64`;
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const [, bracketed] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(entry) ?? [];
  return bracketed ?? entry.replace(/^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/, '$1');
}
