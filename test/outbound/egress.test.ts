import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { test } from 'node:test';
import { classifyError } from '../../src/outbound/classify.ts';
import {
  addressVerdict,
  type EgressPolicy,
  guardedLookup,
  hostVerdict,
  resolveChecked,
} from '../../src/outbound/egress.ts';
import { parseCidr } from '../../src/outbound/ip-address.ts';
import type { ResolveHost } from '../../src/outbound/resolve.ts';

const NOTHING: EgressPolicy = { allow: [] };

function allowing(...blocks: readonly string[]): EgressPolicy {
  return {
    allow: blocks.map((block) => {
      const verdict = parseCidr(block);
      return verdict.ok ? verdict.cidr : assert.fail(verdict.description);
    }),
  };
}

/** IPv4 ranges by their first and last address, with the public neighbours on both sides. */
const REFUSED_IPV4: readonly (readonly [
  range: string,
  first: string,
  last: string,
  before: string | null,
  after: string | null,
])[] = [
  ['0.0.0.0/8', '0.0.0.0', '0.255.255.255', null, '1.0.0.0'],
  ['10.0.0.0/8', '10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  ['100.64.0.0/10', '100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  ['127.0.0.0/8', '127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
  ['169.254.0.0/16', '169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
  ['172.16.0.0/12', '172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  ['192.0.0.0/24', '192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  ['192.0.2.0/24', '192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  ['192.88.99.0/24', '192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  ['192.168.0.0/16', '192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  ['198.18.0.0/15', '198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  ['198.51.100.0/24', '198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  ['203.0.113.0/24', '203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  ['224.0.0.0/4', '224.0.0.0', '239.255.255.255', '223.255.255.255', null],
  ['240.0.0.0/4', '240.0.0.0', '255.255.255.254', null, null],
  ['255.255.255.255/32', '255.255.255.255', '255.255.255.255', null, null],
  ['169.254.169.254/32', '169.254.169.254', '169.254.169.254', null, null],
  ['100.100.100.200/32', '100.100.100.200', '100.100.100.200', null, null],
  ['168.63.129.16/32', '168.63.129.16', '168.63.129.16', '168.63.129.15', '168.63.129.17'],
];

/** Every way to write an IPv4 address inside an IPv6 one. */
const CARRIERS: Readonly<Record<string, (ipv4: string) => string>> = {
  mapped: (ipv4) => `::ffff:${ipv4}`,
  'mapped, in hex': (ipv4) => `::ffff:${hex(ipv4)}`,
  compatible: (ipv4) => `::${ipv4}`,
  translated: (ipv4) => `::ffff:0:${ipv4}`,
  NAT64: (ipv4) => `64:ff9b::${ipv4}`,
  'local NAT64 /96': (ipv4) => `64:ff9b:1::${ipv4}`,
  'local NAT64 /48': (ipv4) => `64:ff9b:1:${hex(ipv4, 0)}:${hex8(ipv4, 2)}:${hex8(ipv4, 3)}00::`,
  '6to4': (ipv4) => `2002:${hex(ipv4)}::1`,
  'Teredo client': (ipv4) => `2001:0:808:808::${hex(not(ipv4))}`,
  'Teredo server': (ipv4) => `2001:0:${hex(ipv4)}::f7f7:f7f7`,
  ISATAP: (ipv4) => `2a00:1450::5efe:${ipv4}`,
  'ISATAP, universal bit': (ipv4) => `2a00:1450::200:5efe:${ipv4}`,
};

function hex(ipv4: string, from?: number): string {
  const pairs = [0, 2].map((i) => hex8(ipv4, i) + hex8(ipv4, i + 1));
  return from === undefined ? pairs.join(':') : (pairs[from] ?? '');
}

function hex8(ipv4: string, i: number): string {
  return Number(ipv4.split('.')[i]).toString(16).padStart(2, '0');
}

function not(ipv4: string): string {
  return ipv4
    .split('.')
    .map((part) => 255 - Number(part))
    .join('.');
}

function refusedFor(address: string, policy: EgressPolicy = NOTHING): string | null {
  const verdict = addressVerdict(address, policy);
  return verdict.ok ? null : verdict.range;
}

test('each IPv4 range is refused from its first to its last address and its public neighbours pass', () => {
  for (const [range, first, last, before, after] of REFUSED_IPV4) {
    for (const address of [first, last]) assert.equal(refusedFor(address), range, address);
    for (const address of [before, after]) if (address !== null) assert.equal(refusedFor(address), null, address);
  }
});

test('every IPv6 form that carries an IPv4 address is judged by the address inside', () => {
  for (const [form, write] of Object.entries(CARRIERS)) {
    for (const [range, first, last] of REFUSED_IPV4) {
      for (const ipv4 of [first, last])
        assert.ok(refusedFor(write(ipv4)) !== null, `${form} ${write(ipv4)} (${range})`);
    }
    for (const ipv4 of ['8.8.8.8', '93.184.216.34'])
      assert.equal(refusedFor(write(ipv4)), null, `${form} ${write(ipv4)}`);
  }
});

test('a local NAT64 address is refused if a refused IPv4 address is at any place where one may be', () => {
  assert.equal(refusedFor('64:ff9b:1:102::7f00:1'), '127.0.0.0/8'); // /96
  assert.equal(refusedFor('64:ff9b:1:102:7f:0:100:0'), '127.0.0.0/8'); // /64
  assert.equal(refusedFor('64:ff9b:1:17f:0:1::'), '127.0.0.0/8'); // /56
  assert.equal(refusedFor('64:ff9b:1:7f00:0:100::'), '127.0.0.0/8'); // /48
  assert.equal(refusedFor('64:ff9b:1::'), '0.0.0.0/8');
});

test('a Teredo address is refused for its server as for its client', () => {
  assert.equal(refusedFor('2001:0:7f00:1::f7f7:f7f7'), '127.0.0.0/8');
  assert.equal(refusedFor('2001:0:808:808::80ff:fffe'), '127.0.0.0/8');
});

test('IPv6 ranges are refused', () => {
  const table: Readonly<Record<string, readonly string[]>> = {
    '::/128': ['::', '0:0:0:0:0:0:0:0'],
    '::1/128': ['::1'],
    'fc00::/7': ['fc00::', 'fd00::1', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    'fd00:ec2::254/128': ['fd00:ec2::254'],
    'fd20:ce::254/128': ['fd20:ce::254'],
    'fe80::/10': ['fe80::1', 'febf:ffff::'],
    'fec0::/10': ['fec0::1', 'feff::1'],
    'ff00::/8': ['ff02::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    '2001:db8::/32': ['2001:db8::1', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
    '3fff::/20': ['3fff::1', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
    '100::/64': ['100::1'],
    '2001:2::/48': ['2001:2::1'],
    '2001::/23': ['2001:1::1', '2001:20::1', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
    '5f00::/16': ['5f00::1'],
    '::/3': ['1::1', '64:ff9a::808:808', '64:ff9b:2::808:808', '100:0:0:1::1', '1fff::1'],
    '4000::/2': ['4000::1', '7fff::1'],
    '8000::/1': ['8000::1', 'fbff::1', 'fe00::1'],
  };
  for (const [range, addresses] of Object.entries(table)) {
    for (const address of addresses) assert.equal(refusedFor(address), range, address);
  }
});

test('public addresses pass', () => {
  for (const address of [
    '1.1.1.1',
    '8.8.8.8',
    '2606:4700::1111',
    '2a00:1450:4001:82a::200e',
    '2001:4860:4860::8888',
    '2001:200::1',
    '3ffe::1',
  ]) {
    assert.deepEqual(addressVerdict(address, NOTHING), { ok: true });
  }
});

test('text that is not an address is refused, including zone ids and other spellings of IPv4', () => {
  for (const address of [
    '',
    'localhost',
    '127.1',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '2130706433',
    'fe80::1%eth0',
    '8.8.8.8%1',
    '[::1]',
  ]) {
    assert.equal(refusedFor(address), 'invalid', address);
  }
});

test('the description names the kind of the address and the address embedded in it', () => {
  const describe = (address: string): string => {
    const verdict = addressVerdict(address, NOTHING);
    return verdict.ok ? '' : verdict.description;
  };
  assert.equal(describe('10.1.2.3'), '10.1.2.3 is private (10.0.0.0/8)');
  assert.equal(describe('169.254.169.254'), '169.254.169.254 is a cloud metadata service (169.254.169.254/32)');
  assert.equal(describe('64:ff9b::7f00:1'), '64:ff9b::7f00:1 carries 127.0.0.1, which is loopback (127.0.0.0/8)');
});

test('the allow list allows only its own blocks and addresses, in both forms', () => {
  const table: readonly (readonly [string, string, boolean])[] = [
    ['127.0.0.0/8', '127.0.0.1', true],
    ['127.0.0.0/8', '::ffff:127.0.0.1', true],
    ['127.0.0.0/8', '64:ff9b::127.0.0.1', true],
    ['127.0.0.0/8', '2002:7f00:1::1', true],
    ['127.0.0.0/8', '::1', false],
    ['127.0.0.0/8', '10.0.0.1', false],
    ['::ffff:127.0.0.0/104', '127.0.0.1', true],
    ['64:ff9b::/96', '64:ff9b::10.0.0.1', true],
    ['64:ff9b::/96', '10.0.0.1', false],
    ['::/0', '::1', true],
    ['::/0', 'fd00::1', true],
    ['::/0', '127.0.0.1', false],
    ['::/0', '::ffff:127.0.0.1', false],
    ['0.0.0.0/0', '169.254.169.254', true],
    ['0.0.0.0/0', 'fd00:ec2::254', false],
    ['8.8.8.8/32', '2001:0:808:808::80ff:fffe', false],
  ];
  for (const [block, address, expected] of table) {
    assert.equal(addressVerdict(address, allowing(block)).ok, expected, `${block} ${address}`);
  }
});

test('URL hosts that are addresses are judged in every spelling that URL knows', () => {
  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '127.0.0.1.',
    '0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[0:0:0:0:0:ffff:7f00:1]',
    '１２７.0.0.1',
    '127。0。0。1',
  ];
  for (const host of hosts) assert.ok(!hostVerdict(new URL(`https://${host}/`).hostname, NOTHING).ok, host);
  assert.ok(hostVerdict('[::1]', allowing('::1')).ok);
  assert.ok(!hostVerdict('127.0.0.1...', NOTHING).ok);
  assert.ok(!hostVerdict('', NOTHING).ok);
  assert.ok(!hostVerdict('...', NOTHING).ok);
  // A search for dots at the end from each of them would take an hour.
  assert.ok(hostVerdict(`${'.'.repeat(2_000_000)}a`, NOTHING).ok);
  assert.ok(!hostVerdict('[fe80::1%eth0]', NOTHING).ok);
});

test('a name is judged by the addresses that it resolves to', async () => {
  for (const host of [
    'localhost',
    'localhost.',
    'a.localhost',
    'metadata.google.internal',
    'printer.local.',
    'example.com',
  ]) {
    assert.ok(hostVerdict(host, NOTHING).ok, host);
    await assert.rejects(resolveChecked(host, NOTHING, answering('169.254.169.254')), { errorClass: 'egress_refused' });
  }
});

function answering(...addresses: readonly string[]): ResolveHost {
  return async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
}

type LookupAnswer = {
  error: NodeJS.ErrnoException | null;
  address: string | LookupAddress[];
  family: number | undefined;
};

function lookUp(
  policy: EgressPolicy,
  resolve: ResolveHost,
  options: { all?: boolean; family?: number | 'IPv4' | 'IPv6' } = {},
): Promise<LookupAnswer> {
  return new Promise((settle) => {
    guardedLookup(policy, resolve)('receiver.test', options, (error, address, family) =>
      settle({ error, address, family }),
    );
  });
}

test('the lookup answers as Node asks: with all, with one, or of one family', async () => {
  const both = answering('2606:4700::1111', '1.1.1.1');
  const all = [
    { address: '2606:4700::1111', family: 6 },
    { address: '1.1.1.1', family: 4 },
  ];
  assert.deepEqual((await lookUp(NOTHING, both, { all: true })).address, all);
  assert.deepEqual(await lookUp(NOTHING, both), { error: null, address: '2606:4700::1111', family: 6 });
  for (const family of [4, 'IPv4'] as const) assert.equal((await lookUp(NOTHING, both, { family })).address, '1.1.1.1');
  for (const family of [6, 'IPv6'] as const)
    assert.equal((await lookUp(NOTHING, both, { family })).address, '2606:4700::1111');
  assert.equal((await lookUp(NOTHING, answering('1.1.1.1'), { family: 6 })).error?.code, 'ENOTFOUND');
});

test('one refused address refuses the name, at any position and for any family', async () => {
  for (const addresses of [
    ['1.1.1.1', '10.0.0.1'],
    ['10.0.0.1', '1.1.1.1'],
    ['1.1.1.1', '::1'],
    ['1.1.1.1', '::ffff:10.0.0.1'],
    ['1.1.1.1', 'fe80::1%eth0'],
  ]) {
    for (const options of [{ all: true }, {}, { family: 4 }]) {
      const { error, address } = await lookUp(NOTHING, answering(...addresses), options);
      assert.equal(classifyError(error).errorClass, 'egress_refused', addresses.join());
      assert.equal(address, '');
    }
  }
});

test("the family follows from the address, not from the resolver's answer", async () => {
  const lying: ResolveHost = async () => [{ address: '1.1.1.1', family: 6 }];
  assert.deepEqual((await lookUp(NOTHING, lying, { all: true })).address, [{ address: '1.1.1.1', family: 4 }]);
});

test('no answer, a failing resolver and one that throws without a code fail closed', async () => {
  const failing =
    (error: unknown): ResolveHost =>
    () =>
      Promise.reject(error);
  const throwing: ResolveHost = () => {
    throw new Error('boom');
  };
  assert.equal((await lookUp(allowing('0.0.0.0/0'), answering())).error?.code, 'ENOTFOUND');
  assert.equal(
    (await lookUp(NOTHING, failing(Object.assign(new Error('x'), { code: 'EAI_AGAIN' })))).error?.code,
    'EAI_AGAIN',
  );
  assert.equal((await lookUp(NOTHING, failing('nonsense'))).error?.code, 'EAI_FAIL');
  assert.equal((await lookUp(NOTHING, throwing)).error?.code, 'EAI_FAIL');
});

test("the system's resolver is asked when no other is given", async () => {
  const found = await resolveChecked('localhost', allowing('127.0.0.0/8', '::1'));
  assert.ok(found.some(({ address }) => address === '127.0.0.1' || address === '::1'));
  await assert.rejects(resolveChecked('localhost', NOTHING), { errorClass: 'egress_refused' });
});
