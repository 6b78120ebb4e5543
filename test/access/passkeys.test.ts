/** Refusals of passkeys before any signature is checked; test/portal/passkeys.slow.test.ts has a browser with real ones. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CHALLENGE_MS, createChallenges } from '../../src/access/passkey-challenges.ts';
import { PASSWORDS_WAITING_PER_OWNER } from '../../src/access/password.ts';
import { SERVICE } from '../../src/domain/acting.ts';
import { PASSKEYS_PER_USER_MAX, type Passkey } from '../../src/domain/user.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { createVault, MASTER_KEY_BYTES } from '../../src/kernel/vault.ts';
import { StaleWrite } from '../../src/store/port/errors.ts';
import { createMemoryValues } from '../../src/store/sqlite/short-lived.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import { makeUser, openTestServices, type TestServices } from '../support/services.ts';

repeats('postgres');

const PLACE = { origin: 'https://edge.example', visitor: 'visitor' };
/** Where a passkey is made: the portal of customers, by its name. */
const NEW = { ...PLACE, portal: 'Cargo Bikes' };

async function addPasskey(services: TestServices, userId: string, more: Partial<Passkey> = {}): Promise<Passkey> {
  const now = services.clock();
  const passkey: Passkey = {
    id: services.ids.uuid(),
    userId,
    credentialId: randomBytes(16),
    publicKey: randomBytes(32),
    host: 'edge.example',
    name: 'Laptop',
    counter: 3,
    createdAt: now,
    usedAt: null,
    ...more,
  };
  await services.store.passkeys.add(passkey, services.entry());
  return passkey;
}

describe('a passkey challenge', () => {
  const vault = createVault(randomBytes(MASTER_KEY_BYTES), randomBytes);
  const open = (answered = createMemoryValues(100), by = vault) =>
    createChallenges({
      random: randomBytes,
      vault: by,
      answered: { putIfAbsent: async (...put) => answered.putIfAbsent(...put) },
    });
  const textOf = (challenge: Uint8Array): string => Buffer.from(challenge).toString('base64url');

  it('is accepted from its visitor, within five minutes, as it was made', () => {
    const challenges = open();
    const challenge = textOf(challenges.make('one', 0));
    assert.ok(challenges.expect('one', CHALLENGE_MS - 1).accepts(challenge));
    assert.ok(!challenges.expect('one', CHALLENGE_MS).accepts(challenge));
    assert.ok(!challenges.expect('other', 0).accepts(challenge));
    const other = createVault(randomBytes(MASTER_KEY_BYTES), randomBytes);
    assert.ok(!open(undefined, other).expect('one', 0).accepts(challenge));
    const bytes = Buffer.from(challenge, 'base64url');
    for (const at of bytes.keys()) {
      const changed = Uint8Array.from(bytes, (byte, index) => (index === at ? byte ^ 1 : byte));
      assert.ok(!challenges.expect('one', 0).accepts(textOf(changed)), String(at));
    }
    for (const text of ['', 'A', textOf(bytes.subarray(0, 20)), textOf(Buffer.concat([bytes, bytes]))])
      assert.ok(!challenges.expect('one', 0).accepts(text), text);
  });

  it('is answered once, however many others were made in the meantime', async () => {
    const challenges = open();
    const challenge = textOf(challenges.make('one', 0));
    for (let n = 0; n < 1000; n += 1) challenges.make(`visitor ${n}`, 0);
    const [first, second] = [challenges.expect('one', 1), challenges.expect('one', 1)];
    assert.ok(first.accepts(challenge) && second.accepts(challenge));
    assert.deepEqual(await Promise.all([first.isFirstAnswer(), second.isFirstAnswer()]), [true, false]);
    assert.equal(await challenges.expect('one', 1).isFirstAnswer(), false);
  });
});

describe('a passkey', () => {
  it('must be discoverable and require user verification', async (t) => {
    const services = await openTestServices(t);
    const user = await makeUser(services, { userName: 'grace' });
    const known = await addPasskey(services, user.id);
    const options = await services.passkeys.beginRegistration(user, NEW, 'Laptop');
    assert.deepEqual(options.rp, { name: 'Cargo Bikes', id: 'edge.example' });
    assert.deepEqual(options.user, {
      id: Buffer.from(user.id).toString('base64url'),
      name: 'grace',
      displayName: 'grace',
    });
    assert.equal(options.authenticatorSelection?.userVerification, 'required');
    assert.equal(options.authenticatorSelection?.residentKey, 'required');
    assert.equal(options.excludeCredentials?.[0]?.id, Buffer.from(known.credentialId).toString('base64url'));
    const signIn = await services.passkeys.beginSignIn(PLACE);
    assert.equal(signIn.rpId, 'edge.example');
    assert.equal(signIn.userVerification, 'required');
    assert.notEqual(signIn.challenge, options.challenge);
  });

  it('is not requested if there are too many, or at an IP address', async (t) => {
    const services = await openTestServices(t);
    const user = await makeUser(services);
    const { passkeys } = services;
    for (const origin of ['http://127.0.0.1:8080', 'https://[::1]', 'null', '']) {
      assert.equal(passkeys.isPossible(origin), false, origin);
      await refused(() => passkeys.beginSignIn({ ...PLACE, origin }), { code: 'invalid_request' });
    }
    for (let at = 0; at < PASSKEYS_PER_USER_MAX; at += 1) await addPasskey(services, user.id);
    await refused(() => passkeys.beginRegistration(user, NEW, 'Laptop'), { code: 'invalid_request' });
  });

  it('is not added beside too many, however many registrations had begun', async (t) => {
    const services = await openTestServices(t);
    const user = await makeUser(services);
    const adding = Array.from({ length: PASSKEYS_PER_USER_MAX + 3 }, () => addPasskey(services, user.id));
    const results = await Promise.allSettled(adding);
    const refusals = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    assert.deepEqual(
      refusals.map((error) => error instanceof StaleWrite),
      [true, true, true],
    );
    assert.equal((await services.store.passkeys.ofUser(user.id)).length, PASSKEYS_PER_USER_MAX);
  });

  it('is not added by an invalid response, or without a name', async (t) => {
    const services = await openTestServices(t);
    const user = await makeUser(services);
    const { passkeys } = services;
    const begin = () => passkeys.beginRegistration(user, NEW, 'Laptop');
    for (const response of ['', '{', 'null', '[]', '{"id":"x","rawId":"x","type":"public-key","response":{}}']) {
      await begin();
      await refused(() => passkeys.register(user.id, PLACE, 'Laptop', response), { code: 'invalid_request' });
    }
    await refused(() => passkeys.register(user.id, PLACE, 'Laptop', '{}'), { code: 'invalid_request' });
    for (const name of ['', '  ', 'x'.repeat(61), 'a\u0000b']) {
      await begin();
      const register = () => passkeys.register(user.id, PLACE, name, '{}');
      await refused(register, { code: 'validation_failed', fields: ['name'] });
    }
    assert.deepEqual(await passkeys.ofUser(user.id), []);
  });

  it('refuses an invalid response', async (t) => {
    const services = await openTestServices(t);
    const user = await makeUser(services, { role: 'viewer' });
    const { credentialId } = await addPasskey(services, user.id);
    const id = Buffer.from(credentialId).toString('base64url');
    const answers = [
      '',
      '{}',
      '"x"',
      '{"id":5}',
      '{"id":"unknown"}',
      JSON.stringify({ id, rawId: id, type: 'public-key', response: {} }),
    ];
    for (const answer of answers) {
      await services.passkeys.beginSignIn(PLACE);
      assert.equal(await services.passkeys.verify({ ...PLACE, address: '127.0.0.1' }, answer), null, answer);
    }
    assert.deepEqual(await services.rows("SELECT * FROM audit WHERE action = 'user.refuse-passkey'"), []);
    assert.equal(await services.passkeys.verify({ ...PLACE, address: '127.0.0.1' }, answers.at(-1) ?? ''), null);
  });

  it('can only be removed by its owner', async (t) => {
    const services = await openTestServices(t);
    const [user, other] = [await makeUser(services), await makeUser(services)];
    const { id } = await addPasskey(services, user.id);
    await refused(() => services.passkeys.remove(other.id, id), { code: 'not_found' });
    // Twice at the same moment, as two tabs of one browser do it.
    await Promise.all([
      services.passkeys.remove(user.id, id),
      refused(() => services.passkeys.remove(user.id, id), { code: 'not_found' }),
    ]);
    await refused(() => services.passkeys.remove(user.id, id), { code: 'not_found' });
    const [entry] = await services.rows("SELECT action, changes FROM audit WHERE action = 'user.remove-passkey'");
    assert.match(String(entry?.changes), /"name":"Laptop"/);
  });

  it('is deleted with its account', async (t) => {
    const services = await openTestServices(t);
    const [user] = [await makeUser(services), await makeUser(services)];
    await addPasskey(services, user.id);
    await services.users.remove(user.id, SERVICE);
    assert.deepEqual(await services.rows('SELECT * FROM passkey'), []);
  });

  it('accepts a counter once: a second signature with it counts as a copy', async (t) => {
    const services = await openTestServices(t);
    const user = await makeUser(services);
    const passkey = await addPasskey(services, user.id);
    await services.store.passkeys.use(passkey, 4, 1);
    await assert.rejects(services.store.passkeys.use(passkey, 4, 2), { name: 'StaleWrite' });
    assert.equal((await services.store.passkeys.find(passkey.credentialId))?.counter, 4);
  });
});

describe('concurrent password checks', () => {
  it('of one network are bounded, and further ones are refused', async (t) => {
    const services = await openTestServices(t);
    const visitor = { address: '127.0.0.1', userAgent: '' };
    const tries = Array.from({ length: 22 }, () =>
      services.sessions.signIn({ customerId: null, userName: 'nobody', password: 'x' }, visitor).then(
        (begun) => (begun === null ? 'refused' : 'signed in'),
        (error: { code: string }) => error.code,
      ),
    );
    const outcomes = await Promise.all(tries);
    // One is checked, and the others wait.
    const checked = 1 + PASSWORDS_WAITING_PER_OWNER;
    assert.equal(outcomes.filter((outcome) => outcome === 'refused').length, checked);
    assert.equal(outcomes.filter((outcome) => outcome === 'too_many_requests').length, 22 - checked);
  });
});
