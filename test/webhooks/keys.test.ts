import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isExpired, viewKey } from '../../src/webhooks/keys.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR, makeWebhook, openTestServices } from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';
import { type PgpVectorName, pgpVector } from '../support/vectors.ts';

repeats('postgres');

/** A private key made on the spot, and its public half. */
async function freshPair(): Promise<{ privateKey: string; publicKey: string }> {
  const { generateKey } = await import('openpgp');
  return generateKey({ userIDs: [{ email: 'test@example.com' }], date: new Date(NOW - 1000), format: 'armored' });
}

describe('keys', () => {
  const usable: readonly [vector: PgpVectorName, algorithm: string][] = [
    ['curve25519', 'curve25519'],
    ['rsa2048', 'rsa2048'],
    ['rsa4096', 'rsa4096'],
  ];
  for (const [vector, algorithm] of usable) {
    it(`may be ${vector}, and show their algorithm and fingerprint`, async (t) => {
      const s = await openTestServices(t);
      const key = await s.keys.create({ name: 'HR Payroll (2026)', publicKey: pgpVector(vector) }, ACTOR);
      const view = viewKey(key, NOW);
      assert.deepEqual(
        [view.name, view.publicKey, view.algorithm, view.expired],
        ['HR Payroll (2026)', pgpVector(vector), algorithm, false],
      );
      assert.match(view.fingerprint, /^[0-9A-F]{40}$/);
      assert.deepEqual(await s.keys.get(key.id), key);
    });
  }

  it('expire at the exact millisecond', () => {
    assert.deepEqual(
      [isExpired({ expiresAt: NOW }, NOW), isExpired({ expiresAt: NOW + 1 }, NOW), isExpired({ expiresAt: null }, NOW)],
      [true, false, false],
    );
  });

  const bad: readonly [what: string, publicKey: string, says: string][] = [
    ['an expired key', pgpVector('expired'), 'expired_key'],
    ['a revoked key', pgpVector('revoked'), 'revoked_key'],
    ['a key that can only sign', pgpVector('sign-only'), 'cannot_encrypt'],
    ['RSA of 1024 bits', pgpVector('weak-rsa1024'), 'weak_key'],
    ['text that is no key', 'no key', 'malformed_key'],
    ['a key that was cut', pgpVector('rsa2048').slice(0, 400), 'malformed_key'],
    ['two keys', pgpVector('rsa2048') + pgpVector('curve25519'), 'malformed_key'],
  ];
  for (const [what, publicKey, says] of bad) {
    it(`are refused for ${what}, with its own message, when created and when changed`, async (t) => {
      const s = await openTestServices(t);
      const { id } = await s.keys.create({ name: 'good', publicKey: pgpVector('curve25519') }, ACTOR);
      await leavingNothing(s, async () => {
        await refused(() => s.keys.create({ name: 'bad', publicKey }, ACTOR), {
          code: 'validation_failed',
          fields: ['publicKey'],
          says,
        });
        await refused(() => s.keys.patch(id, { publicKey }, ACTOR), {
          code: 'validation_failed',
          fields: ['publicKey'],
          says,
        });
      });
    });
  }

  it('are refused if they are private, and nothing of the key is stored or repeated', async (t) => {
    const s = await openTestServices(t);
    const { privateKey, publicKey } = await freshPair();
    for (const given of [privateKey, publicKey + privateKey, privateKey.replaceAll('PRIVATE', 'PUBLIC')]) {
      const refusal = await leavingNothing(s, () =>
        refused(() => s.keys.create({ name: 'mine', publicKey: given }, ACTOR), {
          code: 'validation_failed',
          fields: ['publicKey'],
          says: 'private_key',
        }),
      );
      assert.ok(!JSON.stringify([refusal.message, refusal.details]).includes(privateKey.slice(200, 240)));
    }
    assert.equal((await s.keys.create({ name: 'mine', publicKey }, ACTOR)).algorithm, 'curve25519');
  });

  const badFields: readonly [what: string, body: Record<string, unknown>, field: string][] = [
    ['no public key', { name: 'a', publicKey: undefined }, 'publicKey'],
    ['a public key of 64 KiB and a byte', { publicKey: 'x'.repeat(65_537) }, 'publicKey'],
    ['a number for the public key', { publicKey: 5 }, 'publicKey'],
    ['an empty name', { name: '' }, 'name'],
    ['a name that no header could hold', { name: 'Schlüssel' }, 'name'],
    ['a name with a space at its end', { name: 'a ' }, 'name'],
    ['a name with a space at its beginning', { name: ' a' }, 'name'],
    ['a name with a line break', { name: 'a\nb' }, 'name'],
    ['a name of 101 characters', { name: 'x'.repeat(101) }, 'name'],
    ['a fingerprint', { fingerprint: 'AB' }, 'fingerprint'],
    ['an end', { expiresAt: null }, 'expiresAt'],
    ['the warning given last', { warnedDays: 30 }, 'warnedDays'],
  ];
  for (const [what, more, field] of badFields) {
    it(`are refused with ${what}`, async (t) => {
      const s = await openTestServices(t);
      const body = { name: 'key', publicKey: pgpVector('curve25519'), ...more };
      await leavingNothing(s, () =>
        refused(() => s.keys.create(body, ACTOR), { code: 'validation_failed', fields: [field] }),
      );
    });
  }

  it('have unique names', async (t) => {
    const s = await openTestServices(t);
    const publicKey = pgpVector('curve25519');
    await s.keys.create({ name: 'one', publicKey }, ACTOR);
    const { id } = await s.keys.create({ name: 'two', publicKey }, ACTOR);
    await leavingNothing(s, async () => {
      await refused(() => s.keys.create({ name: 'one', publicKey }, ACTOR), { code: 'conflict', fields: ['name'] });
      await refused(() => s.keys.patch(id, { name: 'one' }, ACTOR), { code: 'conflict', fields: ['name'] });
    });
  });

  it('that a webhook uses cannot be deleted; renamed, the webhook keeps them', async (t) => {
    const s = await openTestServices(t);
    const webhook = await makeWebhook(s, ['employee.*'], { key: true });
    const key = await s.store.keys.getByName(null, webhook.encryptionKeyName ?? '');
    const id = key?.id ?? '';
    await leavingNothing(s, () =>
      refused(() => s.keys.remove(id, ACTOR), { code: 'in_use', says: `webhook ${webhook.name} (${webhook.id})` }),
    );
    await s.keys.patch(id, { name: 'renamed' }, ACTOR);
    assert.equal((await s.webhooks.get(webhook.id)).encryptionKeyName, 'renamed');
    await s.webhooks.remove(webhook.id, ACTOR);
    await s.keys.remove(id, ACTOR);
    await refused(() => s.keys.get(id), { code: 'not_found' });
  });

  it('with another public key are checked again and may be warned about again; renamed, they are not', async (t) => {
    const s = await openTestServices(t);
    const { id, expiresAt, fingerprint } = await s.keys.create({ name: 'key', publicKey: pgpVector('rsa2048') }, ACTOR);
    await s.database.commit([{ sql: 'UPDATE pgp_key SET warned_days = 7, expires_at = 5', params: {} }]);
    const renamed = await s.keys.patch(id, { name: 'renamed' }, ACTOR);
    assert.deepEqual([renamed.warnedDays, renamed.expiresAt, renamed.fingerprint], [7, 5, fingerprint]);
    const changed = await s.keys.patch(id, { publicKey: pgpVector('curve25519') }, ACTOR);
    assert.notEqual(changed.fingerprint, fingerprint);
    assert.deepEqual([changed.warnedDays, changed.expiresAt], [null, expiresAt]);
  });
});
