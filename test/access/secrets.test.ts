import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { viewApplication } from '../../src/access/applications.ts';
import { isoInstant } from '../../src/kernel/schemas.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeApplication, makeUser, openTestServices, type TestServices, tokenOf } from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';

repeatsInSlowTier('postgres');

const works = async (s: TestServices, clientId: string, clientSecret: string): Promise<boolean> =>
  s.tokens.authenticate({ clientId, clientSecret }).then(
    () => true,
    () => false,
  );
const lets = async ({ gate }: TestServices, token: string): Promise<boolean> => {
  try {
    await gate.authenticate([`Bearer ${token}`]);
    return true;
  } catch {
    return false;
  }
};

describe('a regenerated client secret', () => {
  it('works immediately, and the previous one no longer does', async (t) => {
    const s = await openTestServices(t);
    const { application, clientSecret: first } = await makeApplication(s);
    const { clientId, id } = application;
    const { clientSecret: second, application: after } = await s.applications.regenerateSecret(id, {}, ACTOR);
    assert.notEqual(second, first);
    assert.deepEqual([await works(s, clientId, first), await works(s, clientId, second)], [false, true]);
    assert.equal(viewApplication(after, NOW).previousSecretExpiresAt, null);
    assert.equal(after.clientId, clientId);
  });

  it('keeps the previous one valid exactly until the end of the overlap', async (t) => {
    const s = await openTestServices(t);
    const { application, clientSecret: first } = await makeApplication(s);
    const { clientId, id } = application;
    const { clientSecret: second, application: after } = await s.applications.regenerateSecret(
      id,
      { overlapSeconds: 60 },
      ACTOR,
    );
    const endsAt = after.previousSecretExpiresAt ?? 0;
    assert.equal(endsAt, after.updatedAt + 60_000);
    assert.equal(viewApplication(after, endsAt - 1).previousSecretExpiresAt, new Date(endsAt).toISOString());
    assert.equal(viewApplication(after, endsAt).previousSecretExpiresAt, null);
    s.advance(endsAt - 1 - s.clock());
    assert.deepEqual([await works(s, clientId, first), await works(s, clientId, second)], [true, true]);
    s.advance(1);
    assert.deepEqual([await works(s, clientId, first), await works(s, clientId, second)], [false, true]);
  });

  it('ends the one before the previous immediately: at most two are valid at a time', async (t) => {
    const s = await openTestServices(t);
    const { application, clientSecret: first } = await makeApplication(s);
    const { clientId, id } = application;
    const { clientSecret: second } = await s.applications.regenerateSecret(id, { overlapSeconds: 600 }, ACTOR);
    const { clientSecret: third } = await s.applications.regenerateSecret(id, { overlapSeconds: 600 }, ACTOR);
    const all = [first, second, third].map((secret) => works(s, clientId, secret));
    assert.deepEqual(await Promise.all(all), [false, true, true]);
    await s.applications.regenerateSecret(id, {}, ACTOR);
    assert.equal(await works(s, clientId, third), false);
  });

  it('keeps existing tokens unless they are to be revoked', async (t) => {
    const s = await openTestServices(t);
    const { application, clientSecret } = await makeApplication(s);
    const token = await tokenOf(s, application.clientId, clientSecret);
    const { clientSecret: second } = await s.applications.regenerateSecret(application.id, {}, ACTOR);
    assert.equal(await lets(s, token), true);
    const { clientSecret: third } = await s.applications.regenerateSecret(
      application.id,
      { revokeTokens: true },
      ACTOR,
    );
    assert.equal(await lets(s, token), false);
    assert.equal(await works(s, application.clientId, second), false);
    assert.equal(await lets(s, await tokenOf(s, application.clientId, third)), true);
  });

  it('is audited without the secret', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s);
    const { clientSecret } = await s.applications.regenerateSecret(application.id, { overlapSeconds: 5 }, ACTOR);
    const [entry] = await s.store.audit.list(null, 1);
    assert.equal(entry?.action, 'application.regenerate-secret');
    assert.deepEqual(entry.changes, {
      clientSecret: { from: '[secret]', to: '[secret]' },
      previousClientSecret: { from: null, to: '[secret]' },
      previousSecretExpiresAt: { from: null, to: isoInstant(application.updatedAt + 5001) },
    });
    await s.applications.revokeTokens(application.id, ACTOR);
    const [revocation] = await s.store.audit.list(null, 1);
    assert.deepEqual(revocation?.changes, { tokensRevokedAt: { from: null, to: isoInstant(s.clock()) } });
    assert.ok(!JSON.stringify(entry).includes(clientSecret));
  });

  const bad: readonly [body: unknown, field: string][] = [
    [{ overlapSeconds: -1 }, 'overlapSeconds'],
    [{ overlapSeconds: 604_801 }, 'overlapSeconds'],
    [{ overlapSeconds: 1.5 }, 'overlapSeconds'],
    [{ revokeTokens: 'yes' }, 'revokeTokens'],
    [{ clientSecret: 'mine' }, 'clientSecret'],
    [[], 'body'],
  ];
  for (const [body, field] of bad) {
    it(`is not made for ${JSON.stringify(body)}`, async (t) => {
      const s = await openTestServices(t);
      const { application } = await makeApplication(s);
      await leavingNothing(s, () =>
        refused(() => s.applications.regenerateSecret(application.id, body, ACTOR), {
          code: 'validation_failed',
          fields: [field],
        }),
      );
    });
  }
});

describe('revoking the tokens of an application', () => {
  it('refuses all earlier tokens and no later ones, even in the same millisecond, and none of other applications', async (t) => {
    const s = await openTestServices(t);
    const { application, clientSecret } = await makeApplication(s);
    const other = await makeApplication(s);
    const token = () => tokenOf(s, application.clientId, clientSecret);
    const before = [await token(), await token()];
    const others = await tokenOf(s, other.application.clientId, other.clientSecret);
    await s.applications.revokeTokens(application.id, ACTOR);
    const after = await token();
    assert.deepEqual(await Promise.all(before.map((one) => lets(s, one))), [false, false]);
    assert.deepEqual([await lets(s, after), await lets(s, others)], [true, true]);
  });

  it('also happens on deactivation, and activation restores no token', async (t) => {
    const s = await openTestServices(t);
    const { application, clientSecret } = await makeApplication(s);
    const { id, clientId } = application;
    const token = await tokenOf(s, clientId, clientSecret);
    await s.applications.patch(id, { active: false }, ACTOR);
    assert.equal(await lets(s, token), false);
    await refused(() => s.tokens.authenticate({ clientId, clientSecret }), { code: 'invalid_client' });
    await s.applications.patch(id, { active: true }, ACTOR);
    assert.equal(await lets(s, token), false);
    assert.equal(await lets(s, await tokenOf(s, clientId, clientSecret)), true);
  });

  it('also happens when its user is deactivated', async (t) => {
    const s = await openTestServices(t);
    const { application, clientSecret } = await makeApplication(s);
    const { userId, clientId } = application;
    const token = await tokenOf(s, clientId, clientSecret);
    await s.users.patch(userId, { active: false }, ACTOR);
    assert.equal(await lets(s, token), false);
    await refused(() => s.tokens.authenticate({ clientId, clientSecret }), { code: 'invalid_client' });
    await s.users.patch(userId, { active: true }, ACTOR);
    assert.equal(await lets(s, token), false);
    assert.equal(await lets(s, await tokenOf(s, clientId, clientSecret)), true);
  });

  it('is refused for an application that does not exist', async (t) => {
    const s = await openTestServices(t);
    await leavingNothing(s, () => refused(() => s.applications.revokeTokens('nobody', ACTOR), { code: 'not_found' }));
  });
});

describe('an application that is bound to another user', () => {
  it('loses its tokens, which would change identity, and gets new ones', async (t) => {
    const s = await openTestServices(t);
    const { application, clientSecret } = await makeApplication(s, { scopes: ['employees:view'] });
    const issued = await tokenOf(s, application.clientId, clientSecret);
    const { id: userId, userName } = await makeUser(s);
    await s.applications.patch(application.id, { name: 'renamed' }, ACTOR);
    assert.equal((await s.gate.authenticate([`Bearer ${issued}`])).userId, application.userId);
    await s.applications.patch(application.id, { userId }, ACTOR);
    await refused(() => s.gate.authenticate([`Bearer ${issued}`]), { code: 'invalid_token' });
    await s.applications.patch(application.id, { userId: application.userId }, ACTOR);
    await refused(() => s.gate.authenticate([`Bearer ${issued}`]), { code: 'invalid_token' });
    await s.applications.patch(application.id, { userId }, ACTOR);
    const fresh = await tokenOf(s, application.clientId, clientSecret);
    assert.equal((await s.gate.authenticate([`Bearer ${fresh}`])).userName, userName);
  });
});
