import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LINEAR_STEP_MS } from '../../src/domain/retry.ts';
import type { AttemptView } from '../../src/webhooks/deliveries.ts';
import { startFront } from '../support/front.ts';
import { type PlannedAnswer, startRawTlsServer } from '../support/https-server.ts';
import {
  connect,
  deliveryOf,
  type Journey,
  makeEndpoint,
  makeEventType,
  makeWebhook,
  publish,
  readWebhook,
  startJourney,
  startWebhook,
} from '../support/journey.ts';
import { startReceiver } from '../support/receiver.ts';
import { sharedCertificates } from '../support/tls.ts';

const TYPE = 'order.placed';
/** The next attempt is later than the end of a test. */
const PATIENT = { retry: { policy: 'linear' } };

/** The first attempt of one event, with a newly started webhook. */
async function firstAttempt(
  { service, admin }: Journey,
  webhook: { readonly id: string },
): Promise<AttemptView & { readonly eventId: string }> {
  const [eventId = ''] = await publish(admin, TYPE, { n: 1 });
  await service.log.nextAttempt(webhook.id);
  const [attempt] = (await deliveryOf(admin, webhook, eventId)).attempts;
  assert.ok(attempt);
  return { ...attempt, eventId };
}

describe('an endpoint that does not accept a delivery', () => {
  const cases: readonly {
    readonly what: string;
    readonly answer: PlannedAnswer;
    readonly errorClass: string;
    readonly status: number | null;
    readonly webhook?: Readonly<Record<string, unknown>>;
  }[] = [
    { what: 'answers 500', answer: { status: 500 }, errorClass: 'http_status', status: 500 },
    {
      what: 'redirects',
      answer: { status: 302, headers: { location: '/elsewhere' } },
      errorClass: 'http_status',
      status: 302,
    },
    { what: 'answers 304', answer: { status: 304 }, errorClass: 'http_status', status: 304 },
    {
      what: 'closes the connection before it answers',
      answer: (_, response) => void response.destroy(),
      errorClass: 'reset',
      status: null,
    },
    {
      what: 'closes the connection in the middle of its head',
      answer: (_, response) => {
        response.socket?.write('HTTP/1.1 200 OK\r\nContent-Len', () => response.destroy());
      },
      errorClass: 'reset',
      status: null,
    },
    {
      what: 'never answers',
      answer: () => {},
      errorClass: 'timeout',
      status: null,
      webhook: { timeoutSeconds: 1 },
    },
    {
      what: 'begins its head and never ends it',
      answer: (_, response) => {
        response.socket?.write('HTTP/1.1 200 OK\r\n');
      },
      errorClass: 'timeout',
      status: null,
      webhook: { timeoutSeconds: 1 },
    },
  ];
  for (const { what, answer, errorClass, status, webhook: more = {} } of cases) {
    it(`and ${what} is tried again, and the reason is recorded`, async (t) => {
      const journey = await startJourney(t);
      const { service, admin, receiver } = journey;
      await makeEventType(admin, TYPE);
      const { at, webhook } = await connect(journey, [TYPE], { webhook: { ...PATIENT, ...more } });
      at.answer(() => answer);
      const attempt = await firstAttempt(journey, webhook);
      assert.deepEqual([attempt.errorClass, attempt.responseStatus], [errorClass, status], String(attempt.error));
      assert.equal(attempt.delivered, false);
      assert.ok(attempt.error && attempt.advice);
      assert.equal((await readWebhook(admin, webhook)).state, 'failing');
      await at.next();

      at.answer(() => ({ status: 204 }));
      service.advance(LINEAR_STEP_MS);
      assert.equal((await at.next()).envelope.attemptNumber, 2);
      assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'delivered');
      assert.equal((await deliveryOf(admin, webhook, attempt.eventId)).state, 'delivered');
      assert.equal(receiver.requests.length, 2, 'and nothing was sent anywhere else');
    });
  }

  it('that answers 200 with a body of any size has accepted it; 4 KiB of the body are kept', async (t) => {
    const journey = await startJourney(t);
    const { admin } = journey;
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE]);
    at.answer(() => ({ body: 'x'.repeat(1_000_000) }));
    const attempt = await firstAttempt(journey, webhook);
    assert.equal(attempt.delivered, true);
    assert.equal(attempt.responseBody, 'x'.repeat(4096));
  });

  it('that answers 200 with more headers than are read has accepted it, and the attempt says so', async (t) => {
    const journey = await startJourney(t);
    await makeEventType(journey.admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE]);
    at.answer(() => ({ headers: { 'x-long': 'x'.repeat(20_000) } }));
    const attempt = await firstAttempt(journey, webhook);
    assert.deepEqual([attempt.delivered, attempt.responseStatus, attempt.error], [true, 200, null]);
    assert.match(attempt.responseProblem ?? '', /headers are too large/);
  });

  it('that answers 200 and interrupts its body has accepted it; the received part is stored', async (t) => {
    const journey = await startJourney(t);
    await makeEventType(journey.admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE]);
    at.answer(() => (_, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('only this', () => response.destroy());
    });
    const attempt = await firstAttempt(journey, webhook);
    assert.deepEqual([attempt.delivered, attempt.errorClass, attempt.responseBody], [true, null, 'only this']);
  });

  it('because it does not speak HTTP is malformed_response', async (t) => {
    const journey = await startJourney(t);
    await makeEventType(journey.admin, TYPE);
    const port = await startRawTlsServer(t, sharedCertificates().server, (socket) => {
      socket.once('data', () => socket.write('SSH-2.0-OpenSSH_9.2\r\n'));
    });
    const webhook = await webhookTo(journey, `https://localhost:${port}/`);
    assert.equal((await firstAttempt(journey, webhook)).errorClass, 'malformed_response');
  });

  it('because nothing listens there is connect', async (t) => {
    const journey = await startJourney(t);
    await makeEventType(journey.admin, TYPE);
    const webhook = await webhookTo(journey, 'https://localhost:1/');
    assert.equal((await firstAttempt(journey, webhook)).errorClass, 'connect');
  });

  it('because connections are closed before the handshake is tls, and the delivery succeeds once one is not', async (t) => {
    const journey = await startJourney(t);
    const { service, admin, receiver } = journey;
    await makeEventType(admin, TYPE);
    const front = await startFront(t, (socket) => socket.destroy());
    const at = receiver.endpoint('/back');
    const endpoint = await makeEndpoint(admin, { ...at, url: `https://localhost:${front.port}${at.path}` });
    const webhook = await startWebhook(admin, await makeWebhook(admin, endpoint, [TYPE], PATIENT));
    assert.equal((await firstAttempt(journey, webhook)).errorClass, 'tls');
    assert.equal(at.deliveries.length, 0);

    front.passTo(receiver.port);
    service.advance(LINEAR_STEP_MS);
    await at.next();
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'delivered');
  });
});

describe('a certificate', () => {
  for (const [which, errorClass] of [
    ['expired', 'tls_expired'],
    ['wrongHost', 'tls_wrong_host'],
    ['untrusted', 'tls_untrusted'],
  ] as const) {
    it(`that is ${which} is ${errorClass}, and not a byte is sent`, async (t) => {
      const journey = await startJourney(t);
      await makeEventType(journey.admin, TYPE);
      const bad = await startReceiver(t, sharedCertificates()[which]);
      const { webhook } = await connect({ admin: journey.admin, receiver: bad }, [TYPE]);
      const attempt = await firstAttempt(journey, webhook);
      assert.equal(attempt.errorClass, errorClass);
      assert.equal(bad.requests.length, 0);
    });
  }
});

describe('the egress guard', () => {
  it('refuses a name that resolves to a blocked address, without connecting', async (t) => {
    const journey = await startJourney(t, { env: { SALLYPORT_EGRESS_ALLOW: '' } });
    await makeEventType(journey.admin, TYPE);
    const { endpoint, webhook } = await connect(journey, [TYPE], { endpoint: { tokenChallenge: false } });
    assert.match(endpoint.url, /^https:\/\/localhost:/);
    const attempt = await firstAttempt(journey, webhook);
    assert.equal(attempt.errorClass, 'egress_refused');
    assert.match(String(attempt.error), /loopback/);
    assert.equal(journey.receiver.connections(), 0);
  });

  it('fails closed on a name that does not resolve', async (t) => {
    const journey = await startJourney(t);
    await makeEventType(journey.admin, TYPE);
    // The only foreign name that tests resolve. No name under `invalid` exists (RFC 6761 §6.4).
    const webhook = await webhookTo(journey, 'https://nowhere.invalid/hook');
    assert.equal((await firstAttempt(journey, webhook)).errorClass, 'dns');
  });
});

async function webhookTo({ admin }: Journey, url: string): Promise<{ readonly id: string }> {
  const apiKey = '0123456789abcdef0123456789abcdef';
  const endpoint = await makeEndpoint(admin, { url, secret: 'a secret', apiKey });
  return startWebhook(admin, await makeWebhook(admin, endpoint, [TYPE]));
}
