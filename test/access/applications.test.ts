import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { viewApplication } from '../../src/access/applications.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeApplication, makeUser, openTestServices } from '../support/services.ts';
import { leavingNothing, NOW, onSqlite } from '../support/store.ts';

repeatsInSlowTier('postgres');

const UNKNOWN = '0193a1f0-0000-7000-8000-00000000ffff';

describe('applications', () => {
  it('have a client id, a secret that is shown once, and tokens valid for one hour', async (t) => {
    const s = await openTestServices(t);
    const { id: userId } = await makeUser(s);
    const body = { name: 'Billing', userId, scopes: ['employees:view', 'employees:create'] };
    const { application, clientSecret } = await s.applications.create(body, ACTOR);
    assert.match(application.clientId, /^spc_[0-9A-Za-z]{28}$/);
    assert.match(clientSecret, /^sps_[0-9A-Za-z]{49}$/);
    const { id, clientId, ...view } = viewApplication(application, NOW);
    const at = '2026-11-21T05:00:00.000Z';
    assert.deepEqual(view, {
      customerId: null,
      name: 'Billing',
      userId,
      accessTokenValiditySeconds: 3600,
      scopes: ['employees:create', 'employees:view'],
      active: true,
      lastUsedAt: null,
      previousSecretExpiresAt: null,
      secretCreatedAt: at,
      createdAt: at,
      updatedAt: at,
    });
    assert.deepEqual(await s.applications.get(id), application);
  });

  onSqlite('do not store the secret in any table or in the audit log', async (t) => {
    const s = await openTestServices(t);
    const { application, clientSecret } = await makeApplication(s);
    const { clientSecret: second } = await s.applications.regenerateSecret(
      application.id,
      { overlapSeconds: 60 },
      ACTOR,
    );
    await s.database.close();
    const file = readFileSync(s.path).toString('latin1');
    assert.ok(file.includes(application.clientId));
    for (const text of [clientSecret, second, clientSecret.slice(4, 40)]) assert.ok(!file.includes(text));
  });

  it('have distinct client ids and secrets', async (t) => {
    const s = await openTestServices(t);
    const made = await Promise.all(Array.from({ length: 20 }, () => makeApplication(s)));
    assert.equal(new Set(made.map(({ application }) => application.clientId)).size, 20);
    assert.equal(new Set(made.map(({ clientSecret }) => clientSecret)).size, 20);
  });

  it('keep client id and secret in a patch', async (t) => {
    const s = await openTestServices(t);
    const { application: before } = await makeApplication(s, { scopes: ['employees:view'] });
    const after = await s.applications.patch(before.id, { name: 'New', accessTokenValiditySeconds: 300 }, ACTOR);
    assert.deepEqual(after, { ...before, name: 'New', accessTokenValiditySeconds: 300, updatedAt: NOW + 1 });
  });

  it('use one hour of validity for null, when created and when changed', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s, { accessTokenValiditySeconds: null });
    assert.equal(application.accessTokenValiditySeconds, 3600);
    const changed = await s.applications.patch(application.id, { accessTokenValiditySeconds: 300 }, ACTOR);
    assert.equal(changed.accessTokenValiditySeconds, 300);
    const restored = await s.applications.patch(application.id, { accessTokenValiditySeconds: null }, ACTOR);
    assert.equal(restored.accessTokenValiditySeconds, 3600);
  });

  const bad: readonly [what: string, more: Record<string, unknown>, fields: readonly string[]][] = [
    ['a validity of 299 seconds', { accessTokenValiditySeconds: 299 }, ['accessTokenValiditySeconds']],
    ['a validity of 86401 seconds', { accessTokenValiditySeconds: 86_401 }, ['accessTokenValiditySeconds']],
    ['a validity of 300.5 seconds', { accessTokenValiditySeconds: 300.5 }, ['accessTokenValiditySeconds']],
    ['a validity in words', { accessTokenValiditySeconds: '3600' }, ['accessTokenValiditySeconds']],
    ['no name', { name: '' }, ['name']],
    ['a name of 201 characters', { name: 'x'.repeat(201) }, ['name']],
    ['an unknown user', { userId: UNKNOWN }, ['userId']],
    ['a user id that is none', { userId: "' OR ''='" }, ['userId']],
    ['scopes of no product', { scopes: ['employees:view', 'no:such', 'nor:this'] }, ['scopes[1]', 'scopes[2]']],
    ['a scope named all', { scopes: ['all'] }, ['scopes[0]']],
    ['a repeated scope', { scopes: ['employees:view', 'employees:view'] }, ['scopes[1]']],
    ['scopes as a text', { scopes: 'employees:view' }, ['scopes']],
    ['1001 scopes', { scopes: Array.from({ length: 1001 }, (_, n) => `s:${n}`) }, ['scopes']],
    ['a client id', { clientId: 'spc_mine' }, ['clientId']],
    ['a client secret', { clientSecret: 'mine' }, ['clientSecret']],
    ['the hash of a secret', { secretHash: 'mine' }, ['secretHash']],
    ['an instant of change', { updatedAt: '2026-11-21T05:00:00.000Z' }, ['updatedAt']],
    ['an unknown field', { tokensRevokedThrough: 0 }, ['tokensRevokedThrough']],
  ];
  for (const [what, more, fields] of bad) {
    it(`are refused with ${what}, when made and when changed`, async (t) => {
      const s = await openTestServices(t);
      const { application } = await makeApplication(s);
      const body = { name: 'a', userId: application.userId, ...more };
      await leavingNothing(s, async () => {
        await refused(() => s.applications.create(body, ACTOR), { code: 'validation_failed', fields });
        await refused(() => s.applications.patch(application.id, more, ACTOR), { code: 'validation_failed', fields });
      });
    });
  }

  it('accept validities of 300 and 86400 seconds', async (t) => {
    const s = await openTestServices(t);
    for (const accessTokenValiditySeconds of [300, 86_400]) {
      const { application } = await makeApplication(s, { accessTokenValiditySeconds });
      assert.equal(application.accessTokenValiditySeconds, accessTokenValiditySeconds);
    }
  });

  it('may hold more than the 20 scopes that one request may name', async (t) => {
    const s = await openTestServices(t);
    const scopes = Array.from({ length: 25 }, (_, n) => `many:s${n}`);
    await s.products.create({ name: 'Many', scopes: scopes.map((name) => ({ name })) }, ACTOR);
    assert.equal((await makeApplication(s, { scopes })).application.scopes.length, 25);
  });

  it('cannot be bound to an inactive user, but stay bound to one that was deactivated later', async (t) => {
    const s = await openTestServices(t);
    const { id: userId } = await makeUser(s, { active: false });
    const { application } = await makeApplication(s);
    await leavingNothing(s, async () => {
      await refused(() => s.applications.create({ name: 'a', userId }, ACTOR), {
        code: 'validation_failed',
        fields: ['userId'],
        says: 'not active',
      });
      await refused(() => s.applications.patch(application.id, { userId }, ACTOR), {
        code: 'validation_failed',
        fields: ['userId'],
      });
    });
    await s.users.patch(application.userId, { active: false }, ACTOR);
    assert.equal((await s.applications.patch(application.id, { name: 'renamed' }, ACTOR)).name, 'renamed');
  });

  it('can be deleted, which leaves an audit entry without secrets', async (t) => {
    const s = await openTestServices(t);
    const { application, clientSecret } = await makeApplication(s);
    await s.applications.remove(application.id, ACTOR);
    await refused(() => s.applications.get(application.id), { code: 'not_found' });
    await refused(() => s.applications.remove(application.id, ACTOR), { code: 'not_found' });
    await refused(() => s.tokens.authenticate({ clientId: application.clientId, clientSecret }), {
      code: 'invalid_client',
    });
    const [entry] = await s.store.audit.list(null, 1);
    assert.deepEqual(
      [entry?.action, entry?.changes.clientSecret],
      ['application.delete', { from: '[secret]', to: null }],
    );
  });
});
