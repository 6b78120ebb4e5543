import assert from 'node:assert/strict';
import { scryptSync } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  hashPassword,
  makePassword,
  PASSWORD_LOG2_N,
  PASSWORDS_WAITING_MAX,
  PASSWORDS_WAITING_PER_OWNER,
  setPasswordCost,
  verifyPassword,
} from '../../src/access/password.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { refused } from '../support/refusals.ts';
import '../support/password-cost.ts';

let full: Promise<string> | null = null;

/**
 * The hash of `correct horse` at the service's cost, which takes a third of a second of processor time. Tests in the same process may have
 * lowered the cost.
 */
function fullHash(): Promise<string> {
  if (full !== null) return full;
  const former = setPasswordCost(PASSWORD_LOG2_N);
  full = hashPassword('correct horse', randomBytes);
  setPasswordCost(former);
  return full;
}

/** A hash with parameters that cost little, as one of another time might have. */
function cheapHash(password: string, ln = 4): string {
  const salt = Buffer.alloc(16, 7);
  const hash = scryptSync(password, salt, 32, { N: 2 ** ln, r: 8, p: 1 });
  const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
  return `$scrypt$ln=${ln},r=8,p=1$${unpadded(salt)}$${unpadded(hash)}`;
}

test('a password is verified by its hash and no other one is', async () => {
  assert.equal(await verifyPassword('correct horse', await fullHash()), true);
  const hash = await hashPassword('correct horse', randomBytes);
  assert.equal(await verifyPassword('correct horse', hash), true);
  assert.equal(await verifyPassword('correct horsf', hash), false);
  assert.equal(await verifyPassword('', hash), false);
});

test("a hash contains its parameters, OWASP's first recommendation, and a new salt each time", async () => {
  assert.match(await fullHash(), /^\$scrypt\$ln=17,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  const [one, other] = await Promise.all([hashPassword('a', randomBytes), hashPassword('a', randomBytes)]);
  assert.notEqual(one.split('$').at(-2), other.split('$').at(-2));
});

test('a hash is the scrypt of the password with its own parameters and salt', async () => {
  const [, , , salt = '', hash] = (await fullHash()).split('$');
  const expected = scryptSync('correct horse', Buffer.from(salt, 'base64'), 32, {
    N: 2 ** 17,
    r: 8,
    p: 1,
    maxmem: 2 ** 28,
  });
  assert.deepEqual(Buffer.from(hash ?? '', 'base64'), expected);
});

test('hashes with other parameters are verified with theirs', async () => {
  assert.equal(await verifyPassword('correct horse', cheapHash('correct horse')), true);
  assert.equal(await verifyPassword('incorrect horse', cheapHash('correct horse')), false);
});

test('without a hash, no password is right', async () => {
  assert.equal(await verifyPassword('', null), false);
  assert.equal(await verifyPassword('correct horse', null), false);
});

test('the form in which a letter was typed does not matter', async () => {
  assert.equal(await verifyPassword('Zoe\u0308', cheapHash('Zo\u00eb')), true);
});

test('a password longer than any that is set is refused', async () => {
  const long = 'a'.repeat(257);
  assert.equal(await verifyPassword(long, cheapHash(long)), false);
  assert.equal(await verifyPassword('a'.repeat(256), cheapHash('a'.repeat(256))), true);
});

test('a malformed hash is a fault, and takes no memory', async () => {
  const bad = [
    '',
    'correct horse',
    cheapHash('a').replace('$scrypt$', '$argon2id$'),
    cheapHash('a').slice(0, -1),
    `${cheapHash('a')}A`,
    cheapHash('a').replace('ln=4', 'ln=30'),
    cheapHash('a').replace('r=8', 'r=99'),
  ];
  for (const hash of bad) await assert.rejects(verifyPassword('a', hash), /not one that this version can check/, hash);
});

test('a made password has four groups of six symbols that look like no other, each of five random bits', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 24, maxLength: 24 }), (bytes) => {
      const password = makePassword(() => bytes);
      assert.match(password, /^([a-z2-9]{6}-){3}[a-z2-9]{6}$/);
      assert.doesNotMatch(password, /[lo01]/);
    }),
  );
  const symbols = Array.from({ length: 256 }, (_, byte) => makePassword(() => new Uint8Array(24).fill(byte))[0]);
  const counts = new Map<string | undefined, number>();
  for (const symbol of symbols) counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
  assert.equal(counts.size, 32);
  assert.deepEqual(new Set(counts.values()), new Set([8]));
});

test('a bounded number of passwords wait to be checked or set; further ones are refused with Retry-After', async () => {
  const hash = cheapHash('correct horse');
  const check = (owner: string | null): Promise<boolean> => verifyPassword('correct horse', hash, owner);
  // The first one does not wait.
  const first = check('one');
  const own = Array.from({ length: PASSWORDS_WAITING_PER_OWNER }, () => check('one'));
  const { headers } = await refused(() => check('one'), {
    code: 'too_many_requests',
    says: 'you have too many passwords',
  });
  assert.deepEqual(headers, { 'Retry-After': '5' });
  const set = hashPassword('correct horse', randomBytes);
  const others = Array.from({ length: PASSWORDS_WAITING_MAX - own.length - 1 }, () => check(null));
  for (const work of [() => check(null), () => hashPassword('correct horse', randomBytes), () => check('other')])
    assert.deepEqual((await refused(work, { code: 'unavailable', says: 'too many passwords' })).headers, headers);
  assert.ok((await Promise.all([first, ...own, ...others])).every((isRight) => isRight));
  assert.equal(await verifyPassword('correct horse', await set), true);
});

test('the passwords of one network are checked in turn with those of others', async () => {
  const hash = cheapHash('correct horse');
  const checked: string[] = [];
  const check = async (owner: string): Promise<void> => {
    await verifyPassword('correct horse', hash, owner);
    checked.push(owner);
  };
  await Promise.all([...Array.from({ length: 5 }, () => check('one')), check('other')]);
  assert.equal(checked.indexOf('other'), 2, checked.join());
});
