import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createRemoteAddress, networkOf } from '../../src/http/request.ts';
import { formatAddress } from '../../src/outbound/ip-address.ts';
import { cidr } from '../support/oauth-service.ts';

const TRUSTED = ['10.0.0.0/8', 'fd00::/8', '192.0.2.7'];

function remote(peer: string | undefined, forwarded?: string, trusted: readonly string[] = TRUSTED): string {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return createRemoteAddress(trusted.map(cidr))({ socket: { remoteAddress: peer }, headers } as IncomingMessage);
}

describe('the address of a request', () => {
  const cases: readonly [string, string | undefined, string | undefined, string][] = [
    ['is the peer’s where nobody forwarded', '198.51.100.4', undefined, '198.51.100.4'],
    ['is a trusted peer’s own where it forwarded nobody', '10.0.0.1', undefined, '10.0.0.1'],
    ['is the peer’s where an untrusted one says otherwise', '198.51.100.4', '203.0.113.9', '198.51.100.4'],
    ['is what a trusted peer forwarded', '10.0.0.1', '203.0.113.9', '203.0.113.9'],
    [
      'is what the last trusted proxy saw, not what the client wrote',
      '10.0.0.1',
      '1.1.1.1, 203.0.113.9',
      '203.0.113.9',
    ],
    ['is found behind several trusted proxies', '10.0.0.1', '1.1.1.1,203.0.113.9 ,192.0.2.7, 10.9.9.9', '203.0.113.9'],
    ['is the leftmost where every one is trusted', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['stops at the proxy that forwarded something else', '10.0.0.1', '203.0.113.9, unknown', '10.0.0.1'],
    ['stops at the proxy that forwarded an empty entry', '10.0.0.1', '203.0.113.9, ', '10.0.0.1'],
    ['stops before a number that is no address', '10.0.0.1', '203.0.113.9, 010.0.0.2', '10.0.0.1'],
    ['may come with a port', '10.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
    ['may come in brackets with a port', 'fd00::1', '[2001:DB8::9]:4711', '2001:db8::9'],
    ['may come in brackets without one', 'fd00::1', '[2001:db8::9]', '2001:db8::9'],
    ['has one spelling', 'fd00::1', '2001:0db8:0:0::9', '2001:db8::9'],
    ['is IPv4 where it is mapped into IPv6', '::ffff:10.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
    ['has no zone', 'fe80::1%eth0', undefined, 'fe80::1'],
    ['is unknown where the peer has none', undefined, '203.0.113.9', 'unknown'],
  ];
  for (const [behaviour, peer, forwarded, expected] of cases) {
    it(behaviour, () => assert.equal(remote(peer, forwarded), expected));
  }

  it('is the peer’s if no proxy is trusted, with any X-Forwarded-For', () => {
    fc.assert(fc.property(fc.string(), (forwarded) => assert.equal(remote('10.0.0.1', forwarded, []), '10.0.0.1')));
  });

  it('is never left of the last untrusted one', () => {
    const left = fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), { maxLength: 5 });
    fc.assert(
      fc.property(left, (entries) => {
        assert.equal(remote('10.0.0.1', [...entries, '203.0.113.9', '10.0.0.2'].join(',')), '203.0.113.9');
      }),
    );
  });
});

describe('the network of an address', () => {
  it('is an IPv4 address itself', () => assert.equal(networkOf('203.0.113.9'), '203.0.113.9'));
  it('is unchanged if the address is unknown', () => assert.equal(networkOf('unknown'), 'unknown'));

  it('is the first half of an IPv6 address', () => {
    const half = fc.uint8Array({ minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(half, half, half, (network, one, other) => {
        const of = (host: Uint8Array): string => networkOf(formatAddress(Uint8Array.from([...network, ...host])));
        assert.equal(of(one), of(other));
        const next = network.with(7, ((network[7] ?? 0) + 1) % 256);
        assert.notEqual(of(one), networkOf(formatAddress(Uint8Array.from([...next, ...one]))));
      }),
    );
  });
});
