import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createGate } from '../../src/access/gate.ts';
import { createTokens } from '../../src/access/tokens.ts';
import type { Client } from '../../src/domain/application.ts';
import { hashCredential, mintCredential, mintToken, tokenRowKey } from '../../src/domain/credential.ts';
import { randomBytes, rowKeyTime } from '../../src/kernel/ids.ts';
import { ConstraintViolation, StaleWrite } from '../../src/store/port/errors.ts';
import type { Store } from '../../src/store/port/store.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR, makeApplication, makeUser, openTestServices, type TestServices, tokenOf } from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';

repeats('postgres');

const SCOPES = ['employees:create', 'employees:edit', 'employees:view'];

async function clientOf(s: TestServices, more: Record<string, unknown> = {}): Promise<Client> {
  const { application, clientSecret } = await makeApplication(s, { scopes: SCOPES, ...more });
  return s.tokens.authenticate({ clientId: application.clientId, clientSecret });
}

describe('authentication', () => {
  it('never tells why it failed: the same code and text for every reason, and nothing written', async (t) => {
    const s = await openTestServices(t);
    const good = await makeApplication(s);
    const inactive = await makeApplication(s);
    await s.applications.patch(inactive.application.id, { active: false }, ACTOR);
    const userless = await makeApplication(s);
    await s.users.patch(userless.application.userId, { active: false }, ACTOR);
    const clientId = good.application.clientId;
    const attempts: readonly [clientId: string, clientSecret: string][] = [
      [mintCredential('spc', randomBytes), good.clientSecret],
      [`${clientId.slice(0, -1)}${clientId.endsWith('0') ? '1' : '0'}`, good.clientSecret],
      [clientId.toLowerCase(), good.clientSecret],
      ['', ''],
      ["' OR ''='", good.clientSecret],
      [clientId, mintCredential('sps', randomBytes)],
      [clientId, inactive.clientSecret],
      [clientId, ''],
      [clientId, good.clientSecret.slice(0, -1)],
      [clientId, `${good.clientSecret} `],
      [clientId, good.clientSecret.toUpperCase()],
      [clientId, hashCredential(good.clientSecret).toString('hex')],
      [clientId, '\0'.repeat(32)],
      [inactive.application.clientId, inactive.clientSecret],
      [userless.application.clientId, userless.clientSecret],
    ];
    await leavingNothing(s, async () => {
      for (const [id, clientSecret] of attempts) {
        const refusal = await refused(() => s.tokens.authenticate({ clientId: id, clientSecret }), {
          code: 'invalid_client',
        });
        assert.deepEqual(
          [refusal.message, refusal.details, refusal.headers],
          ['the client credentials are not valid', null, {}],
        );
      }
    });
    assert.equal((await s.tokens.authenticate({ clientId, clientSecret: good.clientSecret })).id, good.application.id);
  });
});

/** The store, and how often applications and tokens were looked for in it. */
function countingLooks({ store }: TestServices): { store: Store; looks(): number } {
  let looks = 0;
  const counted =
    <K, R>(find: (key: K) => R) =>
    (key: K): R => {
      looks += 1;
      return find(key);
    };
  const applications = { ...store.applications, getClient: counted(store.applications.getClient) };
  const tokens = { ...store.tokens, find: counted(store.tokens.find) };
  return { store: { ...store, applications, tokens }, looks: () => looks };
}

describe('an unknown client', () => {
  it('is looked up once, so that refusing it lasts no longer than a wrong secret, and again after a change of access', async (t) => {
    const s = await openTestServices(t);
    const { store, looks } = countingLooks(s);
    const { authenticate } = createTokens({ ...s, random: randomBytes, store });
    const clientId = mintCredential('spc', randomBytes);
    const credentials = { clientId, clientSecret: mintCredential('sps', randomBytes) };
    for (let n = 0; n < 3; n += 1) await refused(() => authenticate(credentials), { code: 'invalid_client' });
    assert.equal(looks(), 1);
    const { application } = await makeApplication(s);
    await s.applications.patch(application.id, { active: false }, ACTOR);
    await refused(() => authenticate(credentials), { code: 'invalid_client' });
    assert.equal(looks(), 2);
  });
});

describe('a wrong checksum', () => {
  const mistyped = (text: string): string => `${text.slice(0, 10)}${text[10] === 'a' ? 'b' : 'a'}${text.slice(11)}`;

  it('of a client id or a client secret is refused without a look into the database, and without the other being worse off', async (t) => {
    const s = await openTestServices(t);
    const { application, clientSecret } = await makeApplication(s);
    const { clientId } = application;
    const { store, looks } = countingLooks(s);
    const { authenticate } = createTokens({ ...s, random: randomBytes, store });
    for (const wrong of [
      { clientId: mistyped(clientId), clientSecret },
      { clientId, clientSecret: mistyped(clientSecret) },
      { clientId: mintCredential('spc', randomBytes), clientSecret: mistyped(clientSecret) },
    ]) {
      await refused(() => authenticate(wrong), { code: 'invalid_client' });
    }
    assert.equal(looks(), 0);
    assert.equal((await authenticate({ clientId, clientSecret })).id, application.id);
    assert.equal(looks(), 1);
  });

  it('of a token is refused without a look by the gate, by introspection and by revocation', async (t) => {
    const s = await openTestServices(t);
    const client = await clientOf(s);
    const { accessToken } = await s.tokens.issue(client, undefined);
    const { store, looks } = countingLooks(s);
    const gate = createGate({ ...s, store, catalogue: s.products.compiled });
    const tokens = createTokens({ ...s, random: randomBytes, store });
    const wrong = mistyped(accessToken);
    const version = (): never => assert.fail('the gate asked the database for its version');
    const closed = createGate({
      ...s,
      store: { ...store, tokens: { ...store.tokens, version } },
      catalogue: s.products.compiled,
    });
    await refused(() => closed.authenticate([`Bearer ${wrong}`]), { code: 'invalid_token' });
    assert.deepEqual(await tokens.introspect(wrong), { active: false });
    await tokens.revoke(wrong, client);
    assert.equal(looks(), 0);
    assert.equal((await gate.authenticate([`Bearer ${accessToken}`])).clientId, client.clientId);
    assert.equal((await tokens.introspect(accessToken)).active, true);
    assert.equal(looks(), 2);
  });
});

describe('issuing a token', () => {
  const granted: readonly [what: string, asked: string | undefined, scope: string][] = [
    ['every scope for none named', undefined, SCOPES.join(' ')],
    ['every scope for the empty text', '', SCOPES.join(' ')],
    ['every scope for all', 'all', SCOPES.join(' ')],
    [
      'what is named, sorted and once each',
      'employees:view employees:create employees:view',
      'employees:create employees:view',
    ],
  ];
  for (const [what, asked, scope] of granted) {
    it(`grants ${what}`, async (t) => {
      const s = await openTestServices(t);
      const { accessToken, ...issued } = await s.tokens.issue(await clientOf(s), asked);
      assert.deepEqual(issued, { expiresInSeconds: 3600, scope });
      assert.match(accessToken, /^spt_[0-9A-Za-z]{60}$/);
    });
  }

  const twentyOne = Array.from({ length: 21 }, (_, n) => `many:s${n}`).join(' ');
  const withheld: readonly [what: string, asked: string, says: string][] = [
    ['one that is not registered for the application', 'employees:view users:view', 'users:view'],
    ['one of no product', 'no:such', 'no:such'],
    ['21 named', twentyOne, 'many:s20'],
    ['all beside a name', 'all employees:view', 'all'],
    ['what is no scope name', 'employees:view nothing', 'nothing'],
  ];
  for (const [what, asked, says] of withheld) {
    it(`refuses the whole for ${what}, naming it, and writes no token`, async (t) => {
      const s = await openTestServices(t);
      const client = await clientOf(s);
      await leavingNothing(s, () => refused(() => s.tokens.issue(client, asked), { code: 'invalid_scope', says }));
    });
  }

  it('issues nothing to a client that was deactivated or revoked in the meantime', async (t) => {
    const s = await openTestServices(t);
    const [revoked, inactive] = [await clientOf(s), await clientOf(s)];
    await s.applications.revokeTokens(revoked.id, ACTOR);
    await s.users.patch(inactive.userId, { active: false }, ACTOR);
    for (const client of [revoked, inactive]) {
      await leavingNothing(s, () => assert.rejects(s.tokens.issue(client, undefined), StaleWrite));
    }
  });

  it('keeps only the hash, under a key that is in the token and ordered by time', async (t) => {
    const s = await openTestServices(t);
    const client = await clientOf(s, { accessTokenValiditySeconds: 300 });
    const tokens = [];
    for (let n = 0; n < 3; n++) {
      tokens.push((await s.tokens.issue(client, 'employees:view')).accessToken);
      s.advance(1000);
    }
    assert.deepEqual(
      await s.rows('SELECT key, hash, application_id, scope, expires_at FROM access_token ORDER BY key'),
      tokens.map((token, n) => ({
        key: tokenRowKey(token),
        hash: hashCredential(token),
        application_id: client.id,
        scope: 'employees:view',
        expires_at: NOW + n * 1000 + 300_000,
      })),
    );
  });
});

describe('introspection', () => {
  it('tells what RFC 7662 names of a token that is worth something', async (t) => {
    const s = await openTestServices(t);
    const client = await clientOf(s);
    const user = await s.users.get(client.userId);
    const { accessToken } = await s.tokens.issue(client, 'employees:view');
    const issuedAt = rowKeyTime(tokenRowKey(accessToken) ?? 0);
    assert.deepEqual(await s.tokens.introspect(accessToken), {
      active: true,
      scope: 'employees:view',
      client_id: client.clientId,
      username: user.userName,
      token_type: 'Bearer',
      exp: Math.floor(NOW / 1000) + 3600,
      iat: Math.floor(issuedAt / 1000),
      sub: user.id,
      jti: String(tokenRowKey(accessToken)),
      permissions: user.permissions,
      constraints: user.constraints,
    });
  });

  it('tells only that it is not active of any other', async (t) => {
    const s = await openTestServices(t);
    const client = await clientOf(s);
    const { accessToken } = await s.tokens.issue(client, undefined);
    const key = tokenRowKey(accessToken) ?? 0;
    for (const text of [
      '',
      'x',
      accessToken.slice(0, -1),
      mintToken(key, randomBytes),
      mintToken(key + 1, randomBytes),
    ]) {
      assert.deepEqual(await s.tokens.introspect(text), { active: false });
    }
    s.advance(3_600_000);
    assert.deepEqual(await s.tokens.introspect(accessToken), { active: false });
  });
});

describe('revocation', () => {
  it('ends a token of the client’s own and no other', async (t) => {
    const s = await openTestServices(t);
    const client = await clientOf(s);
    const { accessToken: one } = await s.tokens.issue(client, undefined);
    const { accessToken: other } = await s.tokens.issue(client, undefined);
    await s.tokens.revoke(one, client);
    assert.deepEqual(await s.tokens.introspect(one), { active: false });
    assert.equal((await s.tokens.introspect(other)).active, true);
  });

  it('ignores unknown, forged and expired tokens and those of other clients, without an error', async (t) => {
    const s = await openTestServices(t);
    const [client, stranger] = [await clientOf(s), await clientOf(s)];
    const { accessToken } = await s.tokens.issue(client, undefined);
    const forged = mintToken(tokenRowKey(accessToken) ?? 0, randomBytes);
    await leavingNothing(s, async () => {
      for (const text of ['', 'x', forged, mintToken(5, randomBytes)]) await s.tokens.revoke(text, client);
      await s.tokens.revoke(accessToken, stranger);
    });
    assert.equal((await s.tokens.introspect(accessToken)).active, true);
  });

  it('fails if it cannot be written, so that no caller believes a valid token to be revoked', async (t) => {
    const s = await openTestServices(t);
    const { application, clientSecret } = await makeApplication(s);
    const client = await s.tokens.authenticate({ clientId: application.clientId, clientSecret });
    const token = await tokenOf(s, application.clientId, clientSecret);
    const holding = [
      'CREATE TABLE holding (key BIGINT REFERENCES access_token (key))',
      'INSERT INTO holding SELECT key FROM access_token',
    ];
    for (const sql of holding) await s.database.commit([{ sql, params: {} }]);
    await assert.rejects(s.tokens.revoke(token, client), ConstraintViolation);
    assert.equal((await s.tokens.introspect(token)).active, true);
  });
});

describe('a client', () => {
  it('is one and the same in authentication and in the token: no other application’s user or scopes', async (t) => {
    const s = await openTestServices(t);
    const [mine, theirs] = await Promise.all([
      makeUser(s, { permissions: ['mine:x'] }),
      makeUser(s, { permissions: ['theirs:x'] }),
    ]);
    const a = await makeApplication(s, { userId: mine.id, scopes: ['employees:view'] });
    await makeApplication(s, { userId: theirs.id, scopes: ['employees:edit'] });
    const token = await tokenOf(s, a.application.clientId, a.clientSecret);
    const caller = await s.gate.authenticate([`Bearer ${token}`]);
    assert.deepEqual(
      [caller.applicationId, caller.userId, caller.scope, caller.permissions],
      [a.application.id, mine.id, ['employees:view'], ['mine:x']],
    );
  });
});
