/** What has to hold of every request before its path is looked at (RFC 9112 §2.3, §3.2, §6.1), and what Node's parser lets through. */
import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { Refusal } from '../kernel/refusal.ts';
import { allHeaders } from './raw-headers.ts';

/** Throws what `framingProblem` finds, and 400 for a missing, repeated or malformed `Host`. */
export function refuseFraming(request: IncomingMessage): void {
  const problem = framingProblem(request);
  if (problem !== null) throw problem;
  refuseHost(request);
}

/**
 * Why nobody can be sure where the request ends: 505 for an HTTP version other than 1.0 and 1.1, 501 for a transfer coding other than
 * `chunked`, 400 for any with HTTP/1.0. Such a request is the last on its connection.
 */
export function framingProblem(request: IncomingMessage): Refusal | null {
  const { httpVersion } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return versionNotSupported();
  const codings = allHeaders(request, 'transfer-encoding');
  if (codings.length === 0) return null;
  // HTTP/1.0 has no transfer codings: another reader of the same bytes may see another end (§6.1).
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

/** Where none was sent Node would refuse it by itself, but not in the error body. */
function refuseHost(request: IncomingMessage): void {
  const sent = allHeaders(request, 'host');
  const [host] = sent;
  if (host === undefined) {
    if (request.httpVersion === '1.1') throw new Refusal('invalid_request', 'a Host header is required');
    return;
  }
  if (sent.length > 1) throw new Refusal('invalid_request', 'the Host header was sent more than once');
  if (!isHost(host)) throw new Refusal('invalid_request', 'the Host header is not a host with an optional port');
}

const HOST = /^(?:\[([0-9A-Fa-f:.]+)\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)(?::(\d{0,5}))?$/;

/** Whether the text is a `uri-host [":" port]` (RFC 9110 §7.2). An empty host is none of `http` (§4.2.1). */
export function isHost(text: string): boolean {
  const found = HOST.exec(text);
  if (found === null) return false;
  const [, address, port = ''] = found;
  return (address === undefined || isIPv6(address)) && Number(port) <= 65_535;
}
