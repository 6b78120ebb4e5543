/** The OPTIONS handshake of CloudEvents (contract §12.3): what the receiver answers, and the rate that it allows. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { randomBytes } from '../../src/kernel/ids.ts';
import type { TransportRequest } from '../../src/outbound/transport.ts';
import { viewEndpoint } from '../../src/webhooks/endpoint-schema.ts';
import { createChallenge } from '../../src/webhooks/verification.ts';
import { openDispatching, TYPE, until } from '../support/dispatching.ts';
import { type HttpsServer, type PlannedAnswer, startHttpsServer } from '../support/https-server.ts';
import { refused } from '../support/refusals.ts';
import { ACTOR, makeWebhook, openTestServices, TEST_URL, type TestServices } from '../support/services.ts';
import { leavingNothing } from '../support/store.ts';
import { sharedCertificates } from '../support/tls.ts';
import { loopbackTransport } from '../support/transport.ts';

const ORIGIN = new URL(TEST_URL).hostname;
type Fields = Readonly<Record<string, unknown>>;
type Meeting = {
  readonly s: TestServices;
  readonly server: HttpsServer;
  create(more?: Fields): Promise<ReturnType<typeof viewEndpoint>>;
};

async function open(t: TestContext, answer: PlannedAnswer): Promise<Meeting> {
  const { ca: caPem, server: identity } = sharedCertificates();
  const server = await startHttpsServer(identity, { answer });
  t.after(() => server.close());
  const s = await openTestServices(t, { caPem });
  return {
    s,
    server,
    create: async (more = {}) => {
      const fields = { name: 'e', url: `${server.origin}/hooks?a=1`, verification: 'cloudevents', ...more };
      return viewEndpoint(await s.endpoints.create(fields, ACTOR), s.clock());
    },
  };
}

const allowing = (headers: Record<string, string>, status = 200): PlannedAnswer => ({ status, headers });

describe('the handshake of CloudEvents', () => {
  it('asks with OPTIONS and the host of the service, and enables the endpoint', async (t) => {
    const { server, create } = await open(
      t,
      allowing({ 'WebHook-Allowed-Origin': ORIGIN, 'WebHook-Allowed-Rate': '120' }),
    );
    const endpoint = await create();
    assert.deepEqual([endpoint.verified, endpoint.enabled, endpoint.allowedRequestsPerMinute], [true, true, 120]);
    assert.deepEqual([endpoint.lastVerification?.responseStatus, endpoint.lastVerification?.error], [200, null]);
    const [{ method, url, headers, body } = assert.fail()] = server.requests;
    assert.deepEqual([method, url, body.length], ['OPTIONS', '/hooks?a=1', 0]);
    assert.deepEqual([headers['webhook-request-origin'], headers['x-api-key']], [ORIGIN, endpoint.apiKey]);
    assert.equal(server.requests.length, 1);
  });

  const accepted: readonly (readonly [string, PlannedAnswer, number | null])[] = [
    ['any origin without a rate', allowing({ 'WebHook-Allowed-Origin': '*' }), null],
    ['the origin in another case, with 204', allowing({ 'webhook-allowed-origin': ORIGIN.toUpperCase() }, 204), null],
    ['any rate', allowing({ 'WebHook-Allowed-Origin': '*', 'WebHook-Allowed-Rate': '*' }), null],
    ['one request a minute', allowing({ 'WebHook-Allowed-Origin': '*', 'WebHook-Allowed-Rate': '1' }), 1],
    [
      'the largest number of 32 bits',
      allowing({ 'WebHook-Allowed-Origin': '*', 'WebHook-Allowed-Rate': '2147483647' }),
      2_147_483_647,
    ],
    [
      'the largest number of 64 bits',
      allowing({ 'WebHook-Allowed-Origin': '*', 'WebHook-Allowed-Rate': '9223372036854775807' }),
      Number.MAX_SAFE_INTEGER,
    ],
  ];
  for (const [what, answer, rate] of accepted) {
    it(`takes ${what}`, async (t) => {
      const { create } = await open(t, answer);
      const { verified, allowedRequestsPerMinute } = await create();
      assert.deepEqual([verified, allowedRequestsPerMinute], [true, rate]);
    });
  }

  const rate = (text: string): PlannedAnswer =>
    allowing({ 'WebHook-Allowed-Origin': '*', 'WebHook-Allowed-Rate': text });
  const refusals: readonly (readonly [string, PlannedAnswer, RegExp])[] = [
    ['405', { status: 405 }, /answered 405 instead of 2xx/],
    ['a redirect', { status: 307, headers: { location: '/elsewhere' } }, /answered 307 instead of 2xx/],
    ['no origin', { status: 200 }, /^missing_origin: /],
    ['another origin', allowing({ 'WebHook-Allowed-Origin': 'other.example' }), /^wrong_origin: /],
    ['rate 0', rate('0'), /^no_rate: /],
    ['a negative rate', rate('-1'), /^malformed_rate: /],
    ['a fraction', rate('1.5'), /^malformed_rate: /],
    ['a word', rate('many'), /^malformed_rate: /],
    ['the end of the connection', (_, response) => void response.destroy(), /^reset: /],
  ];
  for (const [what, answer, error] of refusals) {
    it(`that is answered with ${what} leaves the endpoint disabled and says why`, async (t) => {
      const { s, server, create } = await open(t, answer);
      const { id, verified, enabled, allowedRequestsPerMinute, lastVerification } = await create();
      assert.deepEqual([verified, enabled, allowedRequestsPerMinute], [false, false, null]);
      assert.match(lastVerification?.error ?? '', error);
      const fields = { code: 'not_verified', fields: ['enabled'] } as const;
      await refused(() => s.endpoints.patch(id, { enabled: true }, ACTOR), fields);
      server.answer(allowing({ 'WebHook-Allowed-Origin': '*' }));
      assert.equal((await s.endpoints.verify(id, ACTOR)).enabled, true);
    });
  }

  it('that is never answered times out', async (t) => {
    const { s, create } = await open(t, () => new Promise(() => {}));
    const { id } = await create({ verification: null });
    const transport = loopbackTransport(t, { caPem: sharedCertificates().ca });
    const impatient = {
      ...transport,
      post: (request: TransportRequest) => transport.post({ ...request, timeoutMs: 100 }),
    };
    const challenge = createChallenge({
      transport: impatient,
      clock: s.clock,
      random: randomBytes,
      publicUrl: () => TEST_URL,
    });
    const { verified, error } = await challenge({ ...(await s.endpoints.get(id)), verification: 'cloudevents' });
    assert.deepEqual([verified, /^timeout: /.test(error ?? '')], [false, true]);
  });

  it('cannot name the host of a service without an address', async (t) => {
    const { s, create } = await open(t, {});
    const { id } = await create({ verification: null });
    const transport = loopbackTransport(t, { caPem: sharedCertificates().ca });
    const challenge = createChallenge({ transport, clock: s.clock, random: randomBytes, publicUrl: () => null });
    const endpoint = { ...(await s.endpoints.get(id)), verification: 'cloudevents' } as const;
    await refused(() => challenge(endpoint), { code: 'unavailable', says: 'SALLYPORT_PUBLIC_URL' });
    const ofCustomer = { ...endpoint, customerId: id };
    await refused(() => challenge(ofCustomer), {
      code: 'unavailable',
      says: /^the address of this service .* provider$/,
    });
  });

  it('is asked again for a new address, and a failed look keeps the allowed rate', async (t) => {
    const { s, server, create } = await open(t, rate('60'));
    const { id } = await create();
    server.answer({ status: 500 });
    const looked = await s.endpoints.verify(id, ACTOR);
    assert.deepEqual([looked.verified, looked.enabled, looked.allowedRequestsPerMinute], [true, true, 60]);
    const moved = await s.endpoints.patch(id, { url: `${server.origin}/elsewhere` }, ACTOR);
    assert.deepEqual([moved.verified, moved.enabled, moved.allowedRequestsPerMinute], [false, false, null]);
  });

  it('replaces the challenge: with both the endpoint is refused', async (t) => {
    const { s, create } = await open(t, rate('*'));
    const both = { code: 'validation_failed', fields: ['tokenChallenge', 'verification'] } as const;
    await leavingNothing(s, () => refused(() => create({ tokenChallenge: true }), both));
    await refused(() => create({ verification: 'challenge' }), { code: 'validation_failed', fields: ['verification'] });
    const { id } = await create({ verification: null });
    assert.equal((await s.endpoints.patch(id, { verification: 'cloudevents' }, ACTOR)).verified, true);
  });
});

it('the allowed rate is shared by the webhooks of the endpoint, and counts retries', async (t) => {
  const d = await openDispatching(t);
  const times = new Map<string, number[]>();
  d.receiver.route('/rated', ({ method, headers }) => {
    if (method === 'OPTIONS') return allowing({ 'WebHook-Allowed-Origin': '*', 'WebHook-Allowed-Rate': '60' });
    const id = String(headers['ce-id']);
    times.set(id, [...(times.get(id) ?? []), d.clock()]);
    return { status: 204 };
  });
  const fields = { name: 'e', url: `${d.receiver.origin}/rated`, verification: 'cloudevents' };
  const { id: endpointId } = await d.endpoints.create(fields, ACTOR);
  const format = { endpointId, format: 'cloudevents-binary' };
  for (const name of ['one', 'two']) {
    const { id } = await makeWebhook(d, [TYPE], { name, ...format });
    await d.webhooks.start(id, ACTOR);
  }
  await d.publishMany(3);
  const count = (): number => [...times.values()].flat().length;
  await d.start();
  // Each webhook may send half of 60 a minute: one every two seconds.
  for (const wanted of [2, 4, 6]) {
    await until('the requests that are allowed', async () => count() === wanted);
    d.advance(1999);
    assert.equal(count(), wanted);
    d.advance(1);
  }
});
