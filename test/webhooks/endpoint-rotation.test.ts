import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { currentApiKey, publicKeys, signingSecret, standardWebhookSecrets } from '../../src/domain/endpoint.ts';
import { viewEndpoint } from '../../src/webhooks/endpoint-schema.ts';
import { challengeAnswer } from '../../src/wire/challenge.ts';
import { startHttpsServer } from '../support/https-server.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeEndpoint, openTestServices, type TestServices } from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';
import { type Certificates, sharedCertificates } from '../support/tls.ts';

repeatsInSlowTier('postgres');

describe('a rotated secret', () => {
  it('signs immediately unless it is scheduled, and only the result of the rotation shows it', async (t) => {
    const s = await openTestServices(t);
    const before = await makeEndpoint(s);
    const { endpoint, newSecret } = await s.endpoints.rotateSecret(before.id, {}, ACTOR);
    assert.notEqual(newSecret.reveal(), before.secret.reveal());
    assert.equal(Buffer.from(newSecret.reveal(), 'base64').length, 32);
    assert.equal(signingSecret(endpoint, endpoint.updatedAt).reveal(), newSecret.reveal());
    assert.equal(viewEndpoint(endpoint, NOW).secretActivatesAt, null);
    assert.ok(
      !JSON.stringify([viewEndpoint(endpoint, NOW), await s.store.audit.list(null, 1)]).includes(newSecret.reveal()),
    );
  });

  it('signs from its time on, to the millisecond, and the former one until then', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeEndpoint(s, { secret: 'first' });
    const { newSecret } = await s.endpoints.rotateSecret(id, { secret: 'second', activateAfterSeconds: 60 }, ACTOR);
    assert.equal(newSecret.reveal(), 'second');
    const endpoint = await s.endpoints.get(id);
    const activatesAt = endpoint.updatedAt + 60_000;
    assert.equal(viewEndpoint(endpoint, NOW).secretActivatesAt, new Date(activatesAt).toISOString());
    assert.equal(viewEndpoint(endpoint, activatesAt).secretActivatesAt, null);
    const signers = [0, activatesAt - 1, activatesAt, activatesAt + 1].map((at) =>
      signingSecret(endpoint, at).reveal(),
    );
    assert.deepEqual(signers, ['first', 'first', 'second', 'second']);
  });

  it('is used now with its key, if it is scheduled, and overlaps for as long as it would have then', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeEndpoint(s, { secret: 'first', signatureType: 'ed25519' });
    await refused(() => s.endpoints.useNextSecret(id, ACTOR), { code: 'invalid_state', says: 'no new secret' });
    const rotation = { secret: 'second', activateAfterSeconds: 60, overlapSeconds: 30 };
    const { nextPublicKey } = (await s.endpoints.rotateSecret(id, rotation, ACTOR)).endpoint;
    const after = await s.endpoints.useNextSecret(id, ACTOR);
    assert.equal(signingSecret(after, after.updatedAt).reveal(), 'second');
    assert.equal(publicKeys(after, after.updatedAt)[0], nextPublicKey);
    assert.deepEqual(standardWebhookSecrets(after, after.updatedAt + 29_999).length, 2);
    assert.deepEqual(standardWebhookSecrets(after, after.updatedAt + 30_000).length, 1);
    await refused(() => s.endpoints.useNextSecret(id, ACTOR), { code: 'invalid_state', says: 'no new secret' });
  });

  it('that is scheduled is replaced by the next rotation, while the active one keeps signing', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeEndpoint(s, { secret: 'first' });
    await s.endpoints.rotateSecret(id, { secret: 'second', activateAfterSeconds: 60 }, ACTOR);
    await s.endpoints.rotateSecret(id, { secret: 'third', activateAfterSeconds: 60 }, ACTOR);
    const endpoint = await s.endpoints.get(id);
    assert.deepEqual(
      [NOW, NOW + 120_000].map((at) => signingSecret(endpoint, at).reveal()),
      ['first', 'third'],
    );
    await s.endpoints.rotateSecret(id, { secret: 'fourth' }, ACTOR);
    const after = await s.endpoints.get(id);
    assert.deepEqual(
      [NOW, NOW + 120_000].map((at) => signingSecret(after, at).reveal()),
      ['fourth', 'fourth'],
    );
  });

  it('that signs already keeps signing while the next one is scheduled', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeEndpoint(s, { secret: 'first' });
    await s.endpoints.rotateSecret(id, { secret: 'second', activateAfterSeconds: 60 }, ACTOR);
    s.advance(61_000);
    await s.endpoints.rotateSecret(id, { secret: 'third', activateAfterSeconds: 60 }, ACTOR);
    const endpoint = await s.endpoints.get(id);
    assert.deepEqual(
      [s.clock(), s.clock() + 61_000].map((at) => signingSecret(endpoint, at).reveal()),
      ['second', 'third'],
    );
  });

  it('stays scheduled through a patch, which cannot set a secret', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeEndpoint(s, { secret: 'first' });
    await s.endpoints.rotateSecret(id, { secret: 'second', activateAfterSeconds: 60 }, ACTOR);
    const patched = await s.endpoints.patch(id, { name: 'x' }, ACTOR);
    assert.deepEqual(
      [NOW, NOW + 120_000].map((at) => signingSecret(patched, at).reveal()),
      ['first', 'second'],
    );
    for (const secret of ['third', null]) {
      await leavingNothing(s, () =>
        refused(() => s.endpoints.patch(id, { secret }, ACTOR), {
          code: 'validation_failed',
          fields: ['secret'],
          says: 'rotate-secret',
        }),
      );
    }
  });

  const bad: readonly [body: unknown, field: string][] = [
    [{ secret: '' }, 'secret'],
    [{ secret: 'x'.repeat(513) }, 'secret'],
    [{ activateAfterSeconds: -1 }, 'activateAfterSeconds'],
    [{ activateAfterSeconds: 604_801 }, 'activateAfterSeconds'],
    [{ activateAt: 'now' }, 'activateAt'],
    [null, 'body'],
  ];
  for (const [body, field] of bad) {
    it(`is not made for ${JSON.stringify(body)?.slice(0, 40)}`, async (t) => {
      const s = await openTestServices(t);
      const { id } = await makeEndpoint(s);
      await leavingNothing(s, () =>
        refused(() => s.endpoints.rotateSecret(id, body, ACTOR), { code: 'validation_failed', fields: [field] }),
      );
    });
  }
});

describe('a rotated API key', () => {
  it('is sent from its time on, the former one until then, and a patch with another key cancels the schedule', async (t) => {
    const s = await openTestServices(t);
    const [first, second, third] = ['a', 'b', 'c'].map((digit) => digit.repeat(32));
    const { id } = await makeEndpoint(s, { apiKey: first });
    const rotated = await s.endpoints.rotateApiKey(id, { apiKey: second, activateAfterSeconds: 60 }, ACTOR);
    const sent = (endpoint: typeof rotated) => [NOW, NOW + 120_000].map((at) => currentApiKey(endpoint, at).reveal());
    assert.deepEqual(sent(rotated), [first, second]);
    assert.deepEqual(sent(await s.endpoints.patch(id, { name: 'x' }, ACTOR)), [first, second]);
    assert.deepEqual(sent(await s.endpoints.patch(id, { apiKey: third }, ACTOR)), [third, third]);
    await leavingNothing(s, () =>
      refused(() => s.endpoints.rotateApiKey(id, { apiKey: 'x' }, ACTOR), {
        code: 'validation_failed',
        fields: ['apiKey'],
      }),
    );
  });
});

describe('an API key whose rotation is over', () => {
  const [first, second, third] = ['a', 'b', 'c'].map((digit) => digit.repeat(32));
  const rotated = async (s: TestServices): Promise<string> => {
    const { id } = await makeEndpoint(s, { apiKey: first });
    await s.endpoints.rotateApiKey(id, { apiKey: second, activateAfterSeconds: 60 }, ACTOR);
    return id;
  };
  /** The secrets in use now and after the rotation, and the schedule that the API shows. */
  const sent = async (s: TestServices, id: string): Promise<unknown[]> => {
    const endpoint = await s.endpoints.get(id);
    const keys = [0, 120_000].map((later) => currentApiKey(endpoint, s.clock() + later).reveal());
    return [...keys, viewEndpoint(endpoint, s.clock()).nextApiKey];
  };

  it('can be set to the former key or to another', async (t) => {
    for (const given of [first, third]) {
      const s = await openTestServices(t);
      const id = await rotated(s);
      s.advance(61_000);
      assert.deepEqual(await sent(s, id), [second, second, null]);
      await s.endpoints.patch(id, { apiKey: given }, ACTOR);
      assert.deepEqual(await sent(s, id), [given, given, null]);
    }
  });

  it('stays the same through other patches, and if a patch repeats it', async (t) => {
    const s = await openTestServices(t);
    const id = await rotated(s);
    s.advance(61_000);
    for (const patch of [{ name: 'x' }, {}, { name: 'y', apiKey: second }]) {
      await s.endpoints.patch(id, patch, ACTOR);
      assert.deepEqual(await sent(s, id), [second, second, null]);
    }
  });

  it('stays scheduled if a patch repeats the key that is sent until then', async (t) => {
    const s = await openTestServices(t);
    const id = await rotated(s);
    await s.endpoints.patch(id, { apiKey: first }, ACTOR);
    assert.deepEqual(await sent(s, id), [first, second, second]);
    await s.endpoints.patch(id, { apiKey: second }, ACTOR);
    assert.deepEqual(await sent(s, id), [second, second, null], 'the one that waits is sent at once where it is given');
  });

  it('is replaced by a random key if a patch removes it', async (t) => {
    const s = await openTestServices(t);
    const id = await rotated(s);
    s.advance(61_000);
    await s.endpoints.patch(id, { apiKey: null }, ACTOR);
    const [made, later, next] = await sent(s, id);
    assert.match(String(made), /^[0-9a-f]{32}$/);
    assert.ok(made !== first && made !== second);
    assert.deepEqual([later, next], [made, null]);
  });
});

describe('with a real receiver', () => {
  let certificates: Certificates;
  before(() => {
    certificates = sharedCertificates();
  });

  it('the challenge is answered with the secret that signs at that moment', async (t) => {
    let held = 'first';
    const server = await startHttpsServer(certificates.server, {
      answer: ({ url, headers }, response) => {
        const token = String(headers['x-challenge-sha256']);
        response
          .writeHead(200, { 'x-challenge-sha256': challengeAnswer({ pathAndQuery: url, token, secret: held }) })
          .end();
      },
    });
    t.after(() => server.close());
    const s = await openTestServices(t, { caPem: certificates.ca });
    const { id, verified } = await s.endpoints.create(
      { name: 'r', url: server.origin, secret: held, tokenChallenge: true },
      ACTOR,
    );
    assert.equal(verified, true);
    await s.endpoints.rotateSecret(id, { secret: 'second', activateAfterSeconds: 60 }, ACTOR);
    const answeredRightly = async (): Promise<unknown> =>
      (await s.endpoints.verify(id, ACTOR)).lastVerification?.verified;
    assert.equal(await answeredRightly(), true);
    s.advance(61_000);
    assert.equal(await answeredRightly(), false);
    held = 'second';
    assert.equal(await answeredRightly(), true);
  });
});
