/** Where a request came from. `X-Forwarded-For` counts only as far as proxies that are trusted wrote it (contract §6). */
import type { IncomingMessage } from 'node:http';
import { PEERS_CACHED } from '../kernel/limits/limits.ts';
import { createLru } from '../kernel/lru.ts';
import { type Cidr, cidrContains, formatAddress, parseAddress, unmapped } from '../outbound/ip-address.ts';

/** What stands for a peer that has no address, such as that of a Unix socket. */
const UNKNOWN_ADDRESS = 'unknown';

/**
 * Answers a request's address in canonical text, IPv4-mapped ones as IPv4. While the address at hand is a trusted proxy's, the entry
 * that this proxy added to `X-Forwarded-For` is the next one: from the right, for anything further left a client may have written.
 * An entry that is no address ends the walk at the proxy that sent it.
 */
export function createRemoteAddress(trusted: readonly Cidr[]): (request: IncomingMessage) => string {
  const isTrusted = (address: Uint8Array): boolean => trusted.some((cidr) => cidrContains(cidr, address));
  /** What came of peers before, where their address alone says where a request came from. */
  const known = createLru<string, string>({ max: PEERS_CACHED });
  return (request) => {
    const peer = request.socket.remoteAddress ?? '';
    if (trusted.length > 0) return walk(peer, request);
    const found = known.get(peer);
    if (found !== undefined) return found;
    const address = walk(peer, request);
    known.set(peer, address);
    return address;
  };

  function walk(peer: string, { headers }: IncomingMessage): string {
    // A zone (`fe80::1%eth0`) names an interface of this machine, not a part of the address.
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
 * The network that stands for one subscriber where failures are counted: an IPv4 address itself, and the /64 of an IPv6 one, all of
 * which one machine may use. `address` as `createRemoteAddress` gives it.
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
