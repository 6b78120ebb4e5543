import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import type { Verification } from '../../src/domain/endpoint.ts';
import { RESPONSE_KEPT_BYTES } from '../../src/domain/outcome.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { viewEndpoint } from '../../src/webhooks/endpoint-schema.ts';
import { createChallenge } from '../../src/webhooks/verification.ts';
import { challengeAnswer } from '../../src/wire/challenge.ts';
import { deferred } from '../support/deferred.ts';
import { type HttpsServer, type PlannedAnswer, type SeenRequest, startHttpsServer } from '../support/https-server.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, openTestServices, type TestServices } from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';
import { type Certificates, sharedCertificates } from '../support/tls.ts';
import { loopbackTransport } from '../support/transport.ts';

repeatsInSlowTier('postgres');

const SECRET = 'c2VjcmV0IG9mIHRoZSBlbmRwb2ludA==';
const PATH = '/Hook?Tenant=Ä';

let certificates: Certificates;
before(() => {
  certificates = sharedCertificates();
});

/** Answers every challenge as the holder of this secret. */
const answering =
  (secret: string): PlannedAnswer =>
  ({ url, headers }, response) => {
    const token = String(headers['x-challenge-sha256']);
    response
      .writeHead(200, { 'x-challenge-sha256': challengeAnswer({ pathAndQuery: url, token, secret }) })
      .end('welcome');
  };

type Meeting = { readonly s: TestServices; readonly server: HttpsServer; readonly url: string };

async function open(t: TestContext, answer: PlannedAnswer = answering(SECRET)): Promise<Meeting> {
  const server = await startHttpsServer(certificates.server, { answer });
  t.after(() => server.close());
  const s = await openTestServices(t, { caPem: certificates.ca });
  return { s, server, url: `${server.origin}${PATH}` };
}

const create = ({ s, url }: Meeting, more: Record<string, unknown> = {}) =>
  s.endpoints.create({ name: 'Receiver', url, secret: SECRET, tokenChallenge: true, ...more }, ACTOR);
const bodyOf = ({ body }: SeenRequest): unknown => JSON.parse(body.toString());

describe('a challenge', () => {
  it('that a stop of the service cuts short changes nothing of the endpoint', async (t) => {
    const asked = deferred();
    const m = await open(t, () => asked.resolve());
    const transport = loopbackTransport(t, { caPem: certificates.ca });
    const endpoint = await create(m, { tokenChallenge: false });
    const challenged = createChallenge({ transport, clock: m.s.clock, random: randomBytes, publicUrl: () => null })(
      endpoint,
    );
    await asked.promise;
    await transport.close();
    await refused(() => challenged, { code: 'unavailable', says: 'the service stopped before the answer' });
  });
});

describe('an endpoint with tokenChallenge', () => {
  it('is challenged at its creation, and is verified and enabled by a correct answer', async (t) => {
    const m = await open(t);
    const endpoint = await create(m);
    assert.deepEqual([endpoint.verified, endpoint.enabled], [true, true]);
    const { exchange, ...told } = endpoint.lastVerification as Verification;
    assert.deepEqual(told, {
      at: NOW,
      verified: true,
      responseStatus: 200,
      responseBody: 'welcome',
      error: null,
    });
    assert.deepEqual(await m.s.endpoints.get(endpoint.id).then(({ verified, enabled }) => [verified, enabled]), [
      true,
      true,
    ]);
    const [request] = m.server.requests;
    assert.ok(request !== undefined && m.server.requests.length === 1);
    assert.deepEqual([request.method, request.url], ['POST', '/Hook?Tenant=%C3%84']);
    assert.deepEqual(bodyOf(request), { type: 'endpoint.challenge', endpointId: endpoint.id });
    const {
      'content-type': type,
      'x-api-key': apiKey,
      'x-challenge-sha256': token,
      'user-agent': agent,
    } = request.headers;
    assert.deepEqual([type, apiKey], ['application/json', endpoint.apiKey.reveal()]);
    assert.match(String(token), /^[A-Za-z0-9_-]{43}$/);
    const wanted = challengeAnswer({ pathAndQuery: '/Hook?Tenant=%C3%84', token: String(token), secret: SECRET });
    assert.deepEqual(exchange, { token, wanted, came: wanted });
    assert.match(String(agent), /^Sallyport\/\d/);
  });

  it('gets another token each time', async (t) => {
    const m = await open(t);
    const { id } = await create(m);
    await m.s.endpoints.verify(id, ACTOR);
    const tokens = m.server.requests.map(({ headers }) => headers['x-challenge-sha256']);
    assert.equal(new Set(tokens).size, 2);
  });

  const failing: readonly [what: string, answer: PlannedAnswer, status: number | null, error: RegExp, body?: string][] =
    [
      ['another secret', answering('b3RoZXI='), 200, /^wrong_answer: /, 'welcome'],
      ['no answer header', { body: 'hello' }, 200, /^missing_answer: /, 'hello'],
      [
        'its own challenge',
        ({ headers }, response) =>
          void response.writeHead(200, { 'x-challenge-sha256': String(headers['x-challenge-sha256']) }).end(),
        200,
        /^malformed_answer: /,
      ],
      [
        'the right answer with status 201',
        (request, response) => {
          const { writeHead } = response;
          response.writeHead = ((_: number, headers: Record<string, string>) =>
            writeHead.call(response, 201, headers)) as typeof writeHead;
          return (answering(SECRET) as (seen: SeenRequest, to: typeof response) => void)(request, response);
        },
        201,
        /answered 201 instead of 200/,
        'welcome',
      ],
      ['a redirect', { status: 302, headers: { location: 'https://elsewhere.example/' } }, 302, /answered 302/],
      [
        'an error',
        { status: 500, body: 'x'.repeat(RESPONSE_KEPT_BYTES + 500) },
        500,
        /answered 500/,
        'x'.repeat(RESPONSE_KEPT_BYTES),
      ],
      ['a closed connection', (_, response) => void response.destroy(), null, /^reset: /],
    ];
  for (const [what, answer, responseStatus, error, responseBody] of failing) {
    it(`stays unverified and disabled when it answers with ${what}, and says so`, async (t) => {
      const m = await open(t, answer);
      const { id } = await create(m);
      const { verified, enabled, lastVerification } = await m.s.endpoints.get(id);
      assert.deepEqual([verified, enabled], [false, false]);
      const { error: told, exchange, ...rest } = lastVerification as Verification;
      assert.deepEqual(rest, {
        at: NOW,
        verified: false,
        responseStatus,
        responseBody: responseBody ?? (responseStatus === null ? null : ''),
      });
      assert.match(told ?? '', error);
      assert.equal(exchange?.wanted.length, 44);
      assert.equal(m.server.requests.length, 1);
    });
  }

  it('stays unverified when nothing listens there, its certificate is not trusted, or its address is refused', async (t) => {
    const untrusted = await startHttpsServer(certificates.untrusted, { answer: answering(SECRET) });
    t.after(() => untrusted.close());
    const m = await open(t);
    await m.server.close();
    const errors = [];
    for (const url of [m.url, untrusted.origin, 'https://localhost.example:1/']) {
      errors.push((await create({ ...m, url })).lastVerification?.error?.split(':')[0]);
    }
    assert.deepEqual(errors, ['connect', 'tls_untrusted', 'connect']);
    assert.equal(untrusted.requests.length, 0);
    const guarded = await openTestServices(t, { egress: { allow: [] }, caPem: certificates.ca });
    const { lastVerification } = await create({ ...m, s: guarded, url: untrusted.origin });
    assert.match(lastVerification?.error ?? '', /^egress_refused: /);
  });

  it('that was disabled stays disabled although verified, until it is enabled', async (t) => {
    const m = await open(t);
    const { id, verified, enabled } = await create(m, { enabled: false });
    assert.deepEqual([verified, enabled], [true, false]);
    assert.equal((await m.s.endpoints.verify(id, ACTOR)).enabled, false);
    assert.equal((await m.s.endpoints.patch(id, { enabled: true }, ACTOR)).enabled, true);
  });

  it('cannot be enabled until verified, and the verification enables it', async (t) => {
    const m = await open(t, { status: 503 });
    const { id } = await create(m);
    await leavingNothing(m.s, () =>
      refused(() => m.s.endpoints.patch(id, { enabled: true }, ACTOR), {
        code: 'not_verified',
        fields: ['enabled'],
        says: `verify it first: POST /endpoints/${id}/verify`,
      }),
    );
    assert.equal((await m.s.endpoints.patch(id, { name: 'renamed' }, ACTOR)).enabled, false);
    assert.equal(m.server.requests.length, 1);
    m.server.answer(answering(SECRET));
    const { verified, enabled } = await m.s.endpoints.verify(id, ACTOR);
    assert.deepEqual([verified, enabled], [true, true]);
    const [entry] = await m.s.store.audit.list(null, 1);
    assert.deepEqual([entry?.action, entry?.changes.verified], ['endpoint.verify', { from: false, to: true }]);
    // Like the endpoint's view, without the token and without the answer, which would prove the secret.
    const { lastVerification } = viewEndpoint(await m.s.endpoints.get(id), NOW);
    assert.deepEqual(entry?.changes.lastVerification?.to, lastVerification);
    assert.ok(!JSON.stringify(entry.changes).includes('exchange'));
  });

  for (const [who, acting] of [
    ['a person', ACTOR],
    ['a command', COMMAND_LINE],
  ] as const) {
    it(`that fails a later verification of ${who} keeps all that it had, and shows the failure`, async (t) => {
      const m = await open(t);
      const { id } = await create(m);
      const { updatedAt: _, lastVerification: __, ...before } = viewEndpoint(await m.s.endpoints.get(id), NOW);
      m.server.answer({ status: 404 });
      const refusedNow = viewEndpoint(await m.s.endpoints.verify(id, acting), NOW);
      const { updatedAt: ___, lastVerification: wrong, ...after } = refusedNow;
      assert.deepEqual(after, before);
      assert.deepEqual([before.verified, before.enabled], [true, true]);
      assert.deepEqual([wrong?.verified, wrong?.responseStatus], [false, 404]);
      const [entry] = await m.s.store.audit.list(null, 1);
      assert.deepEqual([entry?.action, Object.keys(entry?.changes ?? {})], ['endpoint.verify', ['lastVerification']]);
      await m.server.close();
      const { lastVerification: none, verified, enabled } = await m.s.endpoints.verify(id, acting);
      assert.deepEqual([verified, enabled, none?.verified, none?.responseStatus], [true, true, false, null]);
      assert.match(none?.error ?? '', /^connect: /);
      assert.deepEqual(await m.s.endpoints.get(id).then((kept) => kept.lastVerification), none);
    });
  }

  it('is challenged at a new URL, and is unverified if that does not answer', async (t) => {
    const m = await open(t);
    const { id } = await create(m);
    const moved = await m.s.endpoints.patch(id, { url: `${m.server.origin}/other` }, ACTOR);
    assert.deepEqual([moved.verified, moved.enabled, m.server.requests.at(-1)?.url], [true, true, '/other']);
    m.server.answer({ status: 404 });
    const lost = await m.s.endpoints.patch(id, { url: `${m.server.origin}/gone` }, ACTOR);
    assert.deepEqual([lost.verified, lost.enabled, lost.lastVerification?.responseStatus], [false, false, 404]);
    m.server.answer(answering(SECRET));
    const back = await m.s.endpoints.patch(id, { url: m.url }, ACTOR);
    assert.deepEqual([back.verified, back.enabled, m.server.requests.length], [true, true, 4]);
  });

  it('is not challenged by any other change', async (t) => {
    const m = await open(t);
    const { id } = await create(m);
    for (const patch of [
      {},
      { name: 'x' },
      { url: m.url },
      { contentEncoding: 'gzip' },
      { enabled: false },
      { enabled: true },
    ]) {
      assert.equal((await m.s.endpoints.patch(id, patch, ACTOR)).verified, true);
    }
    await m.s.endpoints.rotateSecret(id, {}, ACTOR);
    assert.equal(m.server.requests.length, 1);
  });
});

describe('an endpoint without tokenChallenge', () => {
  it('is enabled without a challenge, and loses its verification if its URL changes', async (t) => {
    const m = await open(t);
    const { id, verified, enabled } = await create(m, { tokenChallenge: false });
    assert.deepEqual([verified, enabled, m.server.requests.length], [false, true, 0]);
    assert.equal((await m.s.endpoints.verify(id, ACTOR)).verified, true);
    const moved = await m.s.endpoints.patch(id, { url: `${m.server.origin}/other` }, ACTOR);
    assert.deepEqual(
      [moved.verified, moved.enabled, moved.lastVerification, m.server.requests.length],
      [false, true, null, 1],
    );
  });

  it('is challenged when tokenChallenge is turned on, and disabled until it answers', async (t) => {
    const m = await open(t, { status: 404 });
    const { id } = await create(m, { tokenChallenge: false });
    const challenged = await m.s.endpoints.patch(id, { tokenChallenge: true }, ACTOR);
    assert.deepEqual([challenged.verified, challenged.enabled, m.server.requests.length], [false, false, 1]);
    const free = await m.s.endpoints.patch(id, { tokenChallenge: false }, ACTOR);
    assert.deepEqual([free.verified, free.enabled, m.server.requests.length], [false, true, 1]);
  });
});
