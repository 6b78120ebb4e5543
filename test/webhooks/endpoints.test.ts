import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { isoInstant } from '../../src/kernel/schemas.ts';
import { viewEndpoint } from '../../src/webhooks/endpoint-schema.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeEndpoint, makeWebhook, openTestServices } from '../support/services.ts';
import { leavingNothing, NOW, onSqlite } from '../support/store.ts';

repeatsInSlowTier('postgres');

const URL = 'https://receiver.example/hook';
const OAUTH = { clientId: 'me', clientSecret: 'hunter2-oauth', tokenUrl: 'https://login.example/token' };

describe('endpoints', () => {
  it('are created enabled, with a random API key and a secret that no read shows', async (t) => {
    const s = await openTestServices(t);
    const endpoint = await s.endpoints.create({ name: 'Receiver', url: URL }, ACTOR);
    const secret = endpoint.secret.reveal();
    assert.equal(Buffer.from(secret, 'base64').length, 32);
    const { id, apiKey, ...view } = viewEndpoint(endpoint, NOW);
    assert.match(apiKey, /^[0-9a-f]{32}$/);
    assert.deepEqual(
      [view.name, view.url, view.contentEncoding, view.tokenChallenge, view.verified, view.enabled, view.oauth],
      ['Receiver', URL, null, false, false, true, null],
    );
    assert.deepEqual([view.clientCertificate, view.secretActivatesAt, view.lastVerification], [null, null, null]);
    assert.ok(!JSON.stringify(viewEndpoint(await s.endpoints.get(id), NOW)).includes(secret));
  });

  it('have different API keys and secrets', async (t) => {
    const s = await openTestServices(t);
    const made = await Promise.all(Array.from({ length: 10 }, () => makeEndpoint(s)));
    for (const part of ['apiKey', 'secret'] as const)
      assert.equal(new Set(made.map((one) => one[part].reveal())).size, 10);
  });

  it('keep the given values', async (t) => {
    const s = await openTestServices(t);
    const given = {
      apiKey: '0123456789abcdefABCDEF0123456789',
      secret: 'not Base64!',
      contentEncoding: 'gzip',
      oauth: { ...OAUTH, scopes: 'a b', tokenExpirationMinutes: 5 },
    };
    const { id } = await s.endpoints.create({ name: 'Receiver', url: URL, ...given }, ACTOR);
    const endpoint = await s.endpoints.get(id);
    const view = viewEndpoint(endpoint, NOW);
    assert.deepEqual(
      [view.apiKey, endpoint.secret.reveal(), view.contentEncoding],
      [given.apiKey, given.secret, 'gzip'],
    );
    const { clientSecret, ...oauth } = given.oauth;
    assert.deepEqual(view.oauth, oauth);
    assert.equal(endpoint.oauthClientSecret?.reveal(), clientSecret);
  });

  onSqlite('have no secret in clear in the database or the audit log', async (t) => {
    const s = await openTestServices(t);
    const texts = { apiKey: 'aaaabbbbccccddddeeeeffff00001111', secret: 'hunter2-secret' };
    const { id } = await s.endpoints.create({ name: 'Receiver', url: URL, ...texts, oauth: OAUTH }, ACTOR);
    await s.endpoints.rotateSecret(id, { secret: 'hunter2-rotated', activateAfterSeconds: 5 }, ACTOR);
    await s.endpoints.patch(id, { oauth: { clientSecret: 'hunter2-changed' } }, ACTOR);
    const log = await s.store.audit.list(null, 3);
    assert.deepEqual(log[0]?.changes, { 'oauth.clientSecret': { from: '[secret]', to: '[secret]' } });
    assert.deepEqual(log[1]?.changes, {
      nextSecret: { from: null, to: '[secret]' },
      secretActivatesAt: { from: null, to: isoInstant((log[1]?.at ?? 0) + 5000) },
      secretOverlapEndsAt: { from: null, to: isoInstant((log[1]?.at ?? 0) + 5000) },
    });
    assert.deepEqual(log[2]?.changes.apiKey, { from: null, to: '[secret]' });
    assert.deepEqual(log[2]?.changes['oauth.tokenUrl'], { from: null, to: OAUTH.tokenUrl });
    await s.database.close();
    const file = readFileSync(s.path).toString('latin1');
    assert.ok(file.includes(URL));
    assert.ok(!file.includes('hunter2') && !file.includes(texts.apiKey));
  });

  for (const column of ['secret', 'api_key', 'oauth_client_secret']) {
    it(`are not read once their ${column} was put in the place of another’s`, async (t) => {
      const s = await openTestServices(t);
      const [one, other] = [await makeEndpoint(s, { oauth: OAUTH }), await makeEndpoint(s, { oauth: OAUTH })];
      const sql = `UPDATE endpoint SET ${column} = (SELECT ${column} FROM endpoint WHERE id = @from) WHERE id = @to`;
      await s.database.commit([{ sql, params: { from: other.id, to: one.id } }]);
      await assert.rejects(s.endpoints.get(one.id), {
        message: new RegExp(`^endpoint.${column}:${one.id} was altered`),
      });
      assert.equal((await s.endpoints.get(other.id)).secret.reveal(), other.secret.reveal());
    });
  }

  it('are patched member by member: secrets that the patch does not name stay', async (t) => {
    const s = await openTestServices(t);
    const before = await makeEndpoint(s, { oauth: { ...OAUTH, scopes: 'a' } });
    const after = await s.endpoints.patch(
      before.id,
      { name: 'New', oauth: { tokenExpirationMinutes: 5, scopes: null } },
      ACTOR,
    );
    assert.deepEqual(viewEndpoint(after, NOW).oauth, {
      clientId: 'me',
      tokenUrl: OAUTH.tokenUrl,
      tokenExpirationMinutes: 5,
      scopes: null,
    });
    for (const part of ['apiKey', 'secret', 'oauthClientSecret'] as const)
      assert.equal(after[part]?.reveal(), before[part]?.reveal());
    const { oauthClientId, oauthClientSecret, oauthTokenUrl } = await s.endpoints.patch(
      before.id,
      { oauth: null },
      ACTOR,
    );
    assert.deepEqual([oauthClientId, oauthClientSecret, oauthTokenUrl], [null, null, null]);
  });

  it('do not send a client secret to another server: a new origin needs the secret again', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeEndpoint(s, { oauth: OAUTH });
    const patched = async (oauth: object) => (await s.endpoints.patch(id, { oauth }, ACTOR)).oauthTokenUrl;
    for (const tokenUrl of ['https://elsewhere.example/token', 'https://login.example:8443/token']) {
      await leavingNothing(s, () =>
        refused(() => patched({ tokenUrl }), { code: 'validation_failed', fields: ['oauth.clientSecret'] }),
      );
    }
    const moved = 'https://login.example/v2/token?tenant=1';
    assert.equal(await patched({ tokenUrl: moved }), moved, 'the same server may have it at another path');
    const elsewhere = 'https://elsewhere.example/token';
    const { clientSecret } = OAUTH;
    assert.equal(
      await patched({ tokenUrl: elsewhere, clientSecret }),
      elsewhere,
      'the same secret, from one who knows it',
    );
    assert.equal((await s.endpoints.get(id)).oauthClientSecret?.reveal(), clientSecret);
    // Without OAuth settings no secret is stored.
    await s.endpoints.patch(id, { oauth: null }, ACTOR);
    assert.equal(await patched(OAUTH), OAUTH.tokenUrl);
  });

  it('are disabled and enabled', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeEndpoint(s);
    const enabled = async (patch: object) => (await s.endpoints.patch(id, patch, ACTOR)).enabled;
    assert.deepEqual(
      [
        await enabled({ enabled: false }),
        await enabled({ name: 'still off' }),
        await enabled({ enabled: true }),
        await enabled({ name: 'still on' }),
      ],
      [false, false, true, true],
    );
    assert.equal((await makeEndpoint(s, { enabled: false })).enabled, false);
  });

  it('whose URL would now be refused can be disabled, but not moved to another such URL', async (t) => {
    const s = await openTestServices(t, { egress: { allow: [] } });
    const { id } = await makeEndpoint(s, { oauth: OAUTH });
    await s.database.commit([
      { sql: "UPDATE endpoint SET url = 'https://10.0.0.1/', oauth_token_url = 'https://10.0.0.2/'", params: {} },
    ]);
    assert.equal((await s.endpoints.patch(id, { enabled: false }, ACTOR)).enabled, false);
    await leavingNothing(s, async () => {
      await refused(() => s.endpoints.patch(id, { url: 'https://10.0.0.3/' }, ACTOR), {
        code: 'validation_failed',
        fields: ['url'],
      });
      await refused(() => s.endpoints.patch(id, { oauth: { tokenUrl: 'https://10.0.0.3/' } }, ACTOR), {
        code: 'validation_failed',
        fields: ['oauth.tokenUrl'],
      });
    });
  });

  it('that a webhook uses cannot be deleted, and the refusal names the webhook', async (t) => {
    const s = await openTestServices(t);
    const webhook = await makeWebhook(s, ['webhook.failed']);
    await leavingNothing(s, () =>
      refused(() => s.endpoints.remove(webhook.endpointId, ACTOR), {
        code: 'in_use',
        says: `webhook ${webhook.name} (${webhook.id})`,
      }),
    );
    await s.webhooks.remove(webhook.id, ACTOR);
    await s.endpoints.remove(webhook.endpointId, ACTOR);
    await refused(() => s.endpoints.get(webhook.endpointId), { code: 'not_found' });
  });

  const bad: readonly [what: string, more: Record<string, unknown>, field: string][] = [
    ['no name', { name: '' }, 'name'],
    ['no URL', { url: '' }, 'url'],
    ['a number for the URL', { url: 5 }, 'url'],
    ['an http: URL', { url: 'http://receiver.example/' }, 'url'],
    ['credentials in the URL', { url: 'https://a:b@receiver.example/' }, 'url'],
    ['a fragment in the URL', { url: 'https://receiver.example/#a' }, 'url'],
    ['a private address', { url: 'https://192.168.1.1/' }, 'url'],
    ['a URL of 2049 characters', { url: `https://receiver.example/${'x'.repeat(2024)}` }, 'url'],
    ['an API key of 31 digits', { apiKey: 'a'.repeat(31) }, 'apiKey'],
    ['an API key that is not hexadecimal', { apiKey: 'g'.repeat(32) }, 'apiKey'],
    ['another encoding', { contentEncoding: 'br' }, 'contentEncoding'],
    ['a text for tokenChallenge', { tokenChallenge: 'true' }, 'tokenChallenge'],
    ['OAuth without a secret', { oauth: { clientId: 'a', tokenUrl: OAUTH.tokenUrl } }, 'oauth.clientSecret'],
    ['a backslash in the URL', { url: 'https://hooks.example\\@other.example/' }, 'url'],
    [
      'a backslash in the token URL',
      { oauth: { ...OAUTH, tokenUrl: 'https://login.example\\@other/' } },
      'oauth.tokenUrl',
    ],
    ['port 0 in the token URL', { oauth: { ...OAUTH, tokenUrl: 'https://login.example:0/' } }, 'oauth.tokenUrl'],
    ['an http: token URL', { oauth: { ...OAUTH, tokenUrl: 'http://login.example/' } }, 'oauth.tokenUrl'],
    [
      'a token URL at a private address',
      { oauth: { ...OAUTH, tokenUrl: 'https://[::ffff:10.0.0.1]/' } },
      'oauth.tokenUrl',
    ],
    ['a colon in the OAuth client id', { oauth: { ...OAUTH, clientId: 'a:b' } }, 'oauth.clientId'],
    ['an OAuth client id beyond ASCII', { oauth: { ...OAUTH, clientId: 'ä' } }, 'oauth.clientId'],
    [
      'a control character in the OAuth client secret',
      { oauth: { ...OAUTH, clientSecret: 'a\u0085b' } },
      'oauth.clientSecret',
    ],
    ['a control character in the OAuth client id', { oauth: { ...OAUTH, clientId: 'a\r\nb' } }, 'oauth.clientId'],
    ['tokens that last no minute', { oauth: { ...OAUTH, tokenExpirationMinutes: 0 } }, 'oauth.tokenExpirationMinutes'],
    ['an unknown member of oauth', { oauth: { ...OAUTH, audience: 'x' } }, 'oauth.audience'],
    ['the mark of what is verified', { verified: true }, 'verified'],
    ['a verification', { lastVerification: null }, 'lastVerification'],
    ['the instant of a rotation', { secretActivatesAt: null }, 'secretActivatesAt'],
    ['an unknown field', { enableWhenVerified: true }, 'enableWhenVerified'],
  ];
  for (const [what, more, field] of bad) {
    it(`are refused with ${what}, when made and when changed`, async (t) => {
      const s = await openTestServices(t);
      const { id } = await makeEndpoint(s);
      await leavingNothing(s, async () => {
        await refused(() => s.endpoints.create({ name: 'a', url: URL, ...more }, ACTOR), {
          code: 'validation_failed',
          fields: [field],
        });
        await refused(() => s.endpoints.patch(id, more, ACTOR), { code: 'validation_failed', fields: [field] });
      });
    });
  }

  for (const secret of ['', 'x'.repeat(513), 5]) {
    it(`are made with no secret ${JSON.stringify(secret).slice(0, 10)}`, async (t) => {
      const s = await openTestServices(t);
      await leavingNothing(s, () =>
        refused(() => s.endpoints.create({ name: 'a', url: URL, secret }, ACTOR), {
          code: 'validation_failed',
          fields: ['secret'],
        }),
      );
    });
  }
});
