/**
 * Reads a request: header values, the target, the client's address, the body with limits on bytes, time and media type (contract §1), and
 * the checks that apply before routing (RFC 9112 §2.3, §3.2, §6.1). Node's parser accepts more than these rules allow.
 */

import { isAscii } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { PEERS_CACHED, REQUEST_BODY_MS } from '../kernel/limits/limits.ts';
import { FORM_FIELDS_MAX } from '../kernel/limits/portal.ts';
import { createLru } from '../kernel/lru.ts';
import { Refusal } from '../kernel/refusal.ts';
import { type Cidr, cidrContains, formatAddress, parseAddress, unmapped } from '../outbound/ip-address.ts';
import type { BodyRule } from './route.ts';

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
  return Number(firstHeader(request, 'content-length') ?? 0) > 0;
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
  const found = ABSOLUTE.exec(target);
  if (found === null) return target;
  const rest = target.slice(found[0].length);
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
  const found = HOST.exec(text);
  if (found === null) return false;
  const [, address, port = ''] = found;
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
const MAY_HOLD_SECRET = /sp[ist](?:_|%5f)|invitations|portal-links/i;
const CREDENTIAL = /sp[ist](?:_|%5f)[0-9a-z%]+/gi;
const ONE_TIME_LINK = /((?:invitations|portal-links)(?:\/|%2f)+).+/i;
const LOGGED_PATH_LENGTH = 500;

/** For a peer without an address, such as a Unix socket. */
const UNKNOWN_ADDRESS = 'unknown';

/**
 * Returns a function for the client address of a request, in canonical text, with IPv4-mapped addresses as IPv4. `X-Forwarded-For` counts
 * only as far as trusted proxies wrote it (contract §6): as long as the address is a trusted proxy, the next one is the entry that this
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
    const found = cache.get(peer);
    if (found !== undefined) return found;
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

export type ReadBody = { readonly body: unknown; readonly mediaType: string };

/** Throws 400 (malformed), 408 (too slow), 413 (too large) or 415 (media type, charset, or content coding). */
export async function readBody(
  request: IncomingMessage,
  rule: BodyRule,
  timeoutMs: number = REQUEST_BODY_MS,
): Promise<ReadBody> {
  const mediaType = checkedMediaType(request, rule);
  const declared = Number(firstHeader(request, 'content-length') ?? 0);
  if (declared > rule.maxBytes) throw tooLarge(rule.maxBytes);
  // A small body arrives in one packet with the head and is complete at the end of this turn. Reading it then needs no listeners and no
  // timer, which would take 7 % of a token request.
  await turnsEnd();
  const bytes = request.complete
    ? readAtOnce(request, rule.maxBytes)
    : await readBytes(request, rule.maxBytes, timeoutMs);
  if (bytes.length === 0 && rule.optional === true) return { body: {}, mediaType };
  const text = decodeUtf8(bytes);
  return { body: parse(text, mediaType, rule), mediaType };
}

function parse(text: string, mediaType: string, { repeats = false }: BodyRule): unknown {
  if (mediaType !== 'application/x-www-form-urlencoded') return parseJson(text);
  return repeats ? parseRepeatedForm(text) : parseForm(text);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const where = /position \d+(?: \(line \d+ column \d+\))?/.exec(error instanceof Error ? error.message : '')?.[0];
    throw new Refusal('malformed_json', `the body is not JSON${where === undefined ? '' : ` (at ${where})`}`);
  }
}

function checkedMediaType(request: IncomingMessage, rule: BodyRule): string {
  const [header, ...more] = allHeaders(request, 'content-type');
  // Node keeps the first of several, but a proxy may have read the last.
  if (more.length > 0) throw unsupported('the Content-Type was sent more than once');
  if (header === undefined) {
    if (rule.optional === true && !hasBody(request)) return '';
    throw unsupported(`a Content-Type is required: ${rule.types.join(' or ')}`);
  }
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  if (!(rule.types as readonly string[]).includes(type))
    throw unsupported(`the Content-Type must be ${rule.types.join(' or ')}`);
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  if (charset !== undefined && !/^"?utf-?8"?$/.test(charset)) throw unsupported('the charset must be UTF-8');
  const codings = allHeaders(request, 'content-encoding');
  if (codings.some((coding) => coding.toLowerCase() !== 'identity'))
    throw unsupported('the body must not have a Content-Encoding');
  return type;
}

let ending: Promise<void> | null = null;

/** Resolves when everything that arrived in this turn was read. All callers of one turn share the promise. */
function turnsEnd(): Promise<void> {
  ending ??= new Promise((resolve) => {
    setImmediate(() => {
      ending = null;
      resolve();
    });
  });
  return ending;
}

/** Reads a body that has arrived completely. */
function readAtOnce(request: IncomingMessage, maxBytes: number): Buffer {
  if (request.readableLength > maxBytes) throw tooLarge(maxBytes);
  // Without a size, Node 26 and Deno return the first chunk alone.
  return (request.read(request.readableLength) as Buffer | null) ?? NO_BYTES;
}

const NO_BYTES: Buffer = Buffer.alloc(0);

function readBytes(request: IncomingMessage, maxBytes: number, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // The client disconnected earlier, so that neither data nor `end` would follow.
    if (request.destroyed) return reject(cutShort());
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (): void => {
      clearTimeout(timer);
      request.off('data', take).off('end', finish);
    };
    const refuse = (refusal: Refusal): void => {
      settle();
      reject(refusal);
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > maxBytes) refuse(tooLarge(maxBytes));
      else chunks.push(chunk);
    };
    const finish = (): void => {
      settle();
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
    };
    const timer = setTimeout(() => refuse(tooSlow()), timeoutMs);
    request.on('data', take).once('end', finish);
    // A client that disconnects before the end of its body is not an error of the service. Keep both listeners: an `error` event without one would throw.
    request.once('error', () => refuse(cutShort()));
    request.once('close', () => {
      if (!request.complete) refuse(cutShort());
    });
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(bytes: Buffer): string {
  if (isAscii(bytes)) return bytes.toString('latin1');
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Refusal('invalid_request', 'the body is not UTF-8');
  }
}

// Nobody reads the rest of a body that is too large or too slow, so the connection ends after the reply.
const CLOSING = { headers: { Connection: 'close' } };

function tooLarge(maxBytes: number): Refusal {
  return new Refusal('content_too_large', `the body has more than ${maxBytes} bytes`, CLOSING);
}

function tooSlow(): Refusal {
  return new Refusal('request_timeout', 'the body did not arrive in time', CLOSING);
}

function cutShort(): Refusal {
  return new Refusal('invalid_request', 'the body ended before it was complete', CLOSING);
}

function unsupported(description: string): Refusal {
  return new Refusal('unsupported_media_type', description);
}

/** A form as RFC 6749 Appendix B defines it: UTF-8 with percent-encoding. */
export type Form = Readonly<Record<string, string>>;

/**
 * Parses a form in which each name occurs once (RFC 6749 §3.2). An empty value stays empty. Throws 400 `invalid_request` for a repeated
 * name, a percent sign without two hex digits, and escapes that are not UTF-8.
 */
export function parseForm(text: string): Form {
  const form: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of pairsOf(text)) {
    if (name in form) {
      throw new Refusal('invalid_request', `the parameter ${printable(name)} was sent more than once`);
    }
    form[name] = value;
  }
  return form;
}

/**
 * Parses a form in which a name may occur several times, as browsers send it. Refuses more than `FORM_FIELDS_MAX` fields before parsing:
 * half a million fit into a body and would block the event loop.
 */
export function parseRepeatedForm(text: string): URLSearchParams {
  if (text.split('&', FORM_FIELDS_MAX + 1).length > FORM_FIELDS_MAX)
    throw new Refusal('invalid_request', `the form has more than ${FORM_FIELDS_MAX} fields`);
  const form = new URLSearchParams();
  for (const [name, value] of pairsOf(text)) form.append(name, value);
  return form;
}

function* pairsOf(text: string): Generator<readonly [name: string, value: string]> {
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const name = decodeFormText(at === -1 ? pair : pair.slice(0, at));
    const value = decodeFormText(at === -1 ? '' : pair.slice(at + 1));
    if (name === null || value === null) {
      throw new Refusal('invalid_request', 'the form has an escape that is broken or not UTF-8');
    }
    yield [name, value];
  }
}

/** Decodes one name or value. Returns null for a broken escape or bytes that are not UTF-8. */
export function decodeFormText(text: string): string | null {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return null;
  }
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 64);
}
