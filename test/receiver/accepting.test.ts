import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createReceiver, type Delivery, type Refusal, standardWebhooks } from '../../src/receiver/index.ts';
import { verifyChallengeAnswer } from '../../src/wire/challenge.ts';
import { type Options, type Reply, type Send, TRANSPORTS, type Transport } from '../support/receiver-transports.ts';
import { API_KEY, PATH, type RawRequest, SECRET, signedRequest, withHeader } from '../support/signed-request.ts';

type Taken = {
  readonly send: Send;
  readonly deliveries: Delivery<Record<string, unknown>>[];
  readonly refusals: Refusal[];
};

async function receiver({ start }: Transport, t: TestContext, options: Partial<Options> = {}): Promise<Taken> {
  const deliveries: Taken['deliveries'] = [];
  const refusals: Refusal[] = [];
  const send = await start(t, {
    secrets: SECRET,
    apiKey: API_KEY,
    // Objects of the sandbox have other prototypes.
    onRecords: (_records, delivery) => void deliveries.push(structuredClone(delivery)),
    onRefusal: (refusal) => void refusals.push(refusal),
    onError: (error) => assert.fail(String(error)),
    ...options,
  });
  return { send, deliveries, refusals };
}

/** A success has no body. */
function assertTaken({ status, body }: Reply): void {
  assert.deepEqual([status, body], [204, '']);
}

for (const transport of TRANSPORTS) {
  describe(`a receiver (${transport.name})`, () => {
    it('hands over the records of a delivery with its details', async (t) => {
      const { send, deliveries } = await receiver(transport, t);
      const at = Date.now();
      const records = [
        { messageId: 'm1', actorId: 'u1', dataJson: '{"orderId":42,"name":"Zoë"}' },
        { messageId: 'm2' },
      ];
      assertTaken(
        await send(await signedRequest({ at, records, customHeaders: [{ name: 'X-Tenant', value: 'acme' }] })),
      );
      assert.equal(deliveries.length, 1);
      const { body, sentAt, records: received, ...delivery } = deliveries[0] as Delivery<Record<string, unknown>>;
      assert.deepEqual(
        { ...delivery, headers: { ...delivery.headers, date: '', 'x-content-sha256': '' } },
        {
          subscriptionId: 'w1',
          sessionId: 's1',
          attemptNumber: 1,
          secretIndex: 0,
          headers: { 'x-content-sha256': '', date: '', 'x-tenant': 'acme' },
        },
      );
      assert.equal(sentAt, Math.floor(at / 1000) * 1000);
      assert.equal(JSON.parse(Buffer.from(body).toString()).records.length, 2);
      const { lag, ...first } = received[0] as (typeof received)[0];
      assert.equal(typeof lag, 'number');
      assert.deepEqual(first, {
        offset: 0,
        createdAt: Date.parse('2026-11-21T05:00:00.000Z'),
        correlationId: 'c1',
        messageId: 'm1',
        eventType: 'order.created',
        actorId: 'u1',
        data: { orderId: 42, name: 'Zoë' },
      });
    });

    it('accepts gzip, header names in upper or lower case, another case of the path, and unknown headers', async (t) => {
      const { send, deliveries } = await receiver(transport, t);
      const request = await signedRequest({ gzip: true });
      const shouting: RawRequest = {
        ...request,
        path: PATH.toUpperCase(),
        headers: [
          ...request.headers.map(([name, value]) => [name.toUpperCase(), value] as const),
          ['Via', '1.1 a'],
          ['Via', '1.1 b'],
        ],
      };
      assertTaken(await send(shouting));
      assert.deepEqual(deliveries[0]?.records[0]?.data, { orderId: 42 });
    });

    it('accepts any of its secrets and API keys, and says which secret signed', async (t) => {
      const { send, deliveries } = await receiver(transport, t, {
        secrets: [SECRET, 'next secret!'],
        apiKey: ['old', 'new'],
      });
      assertTaken(await send(await signedRequest({ apiKey: 'old' })));
      assertTaken(await send(await signedRequest({ apiKey: 'new', secret: 'next secret!' })));
      assert.deepEqual(
        deliveries.map(({ secretIndex }) => secretIndex),
        [0, 1],
      );
    });

    it('checks no API key by default', async (t) => {
      const { start } = transport;
      const send = await start(t, { secrets: [SECRET], onRecords: () => {} });
      assertTaken(await send(withHeader(await signedRequest(), 'x-api-key', null)));
    });

    it('accepts dates within the tolerance, and any date if it is infinite', async (t) => {
      const now = Date.parse('2026-11-21T05:00:00.000Z');
      const { send } = await receiver(transport, t, { clock: () => now });
      for (const at of [now - 300_000, now + 300_000]) assertTaken(await send(await signedRequest({ at })));
      const { send: sendOld } = await receiver(transport, t, {
        toleranceSeconds: Number.POSITIVE_INFINITY,
        standardWebhooks,
      });
      assertTaken(await sendOld(await signedRequest({ at: Date.parse('2019-01-01'), standardWebhooks: true })));
    });

    it('uses the system’s clock by default', async (t) => {
      const { send, refusals } = await receiver(transport, t);
      const { status } = await send(await signedRequest({ at: Date.now() - 3_600_000 }));
      assert.deepEqual([status, refusals[0]?.code], [401, 'stale_date']);
    });

    it('answers the token challenge with the first secret, without calling onRecords', async (t) => {
      const { send, deliveries } = await receiver(transport, t, { secrets: [SECRET, 'next secret!'] });
      const token = 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA';
      const reply = await send({
        method: 'POST',
        path: PATH,
        headers: [
          ['Content-Type', 'application/json'],
          ['X-Challenge-SHA256', token],
          ['X-API-Key', API_KEY],
        ],
        body: Buffer.from('{"type":"endpoint.challenge","endpointId":"e1"}'),
      });
      assert.equal(reply.status, 200);
      const answer = reply.headers.get('x-challenge-sha256');
      assert.deepEqual(verifyChallengeAnswer({ pathAndQuery: PATH, token, secret: SECRET }, answer), { ok: true });
      assert.deepEqual(deliveries, []);
    });

    it('verifies with the path of the endpoint’s URL if a proxy changed the path of the request', async (t) => {
      const { send, refusals } = await receiver(transport, t, { url: `https://hooks.example.com${PATH}` });
      assertTaken(await send({ ...(await signedRequest()), path: '/' }));
      const reply = await send({ ...(await signedRequest({ path: '/other' })), path: '/other' });
      assert.deepEqual([reply.status, refusals[0]?.code], [401, 'wrong_signature']);
    });

    it('accepts a bearer token that the program accepts, as well as signed deliveries', async (t) => {
      const asked: string[] = [];
      const bearer = async (token: string): Promise<boolean> => asked.push(token) > 0;
      const { send, deliveries } = await receiver(transport, t, { bearer });
      const customHeaders = [{ name: 'X-Tenant', value: 'acme' }];
      assertTaken(await send(await signedRequest({ bearer: 'eyJhbGciOi.J9~+/x-_=', customHeaders })));
      assertTaken(await send(await signedRequest()));
      assert.deepEqual(asked, ['eyJhbGciOi.J9~+/x-_=']);
      assert.deepEqual(
        deliveries.map(({ secretIndex }) => secretIndex),
        [null, 0],
      );
      assert.equal(deliveries[0]?.headers['x-tenant'], 'acme');
    });

    it('checks the bearer token only after the other headers', async (t) => {
      const { send, refusals } = await receiver(transport, t, { bearer: () => assert.fail('asked about the token') });
      const { status } = await send(await signedRequest({ bearer: 'x', at: Date.now() - 3_600_000 }));
      assert.deepEqual([status, refusals[0]?.code], [401, 'stale_date']);
    });

    it('accepts a secret with whsec_', async (t) => {
      const { send, deliveries } = await receiver(transport, t, { standardWebhooks, secrets: `whsec_${SECRET}` });
      assertTaken(await send(await signedRequest({ standardWebhooks: true })));
      assert.equal(deliveries.length, 1);
    });

    it('also verifies the signature of Standard Webhooks if asked', async (t) => {
      const { send, deliveries } = await receiver(transport, t, { standardWebhooks, secrets: ['other', SECRET] });
      assertTaken(await send(await signedRequest({ standardWebhooks: true, gzip: true })));
      assert.equal(deliveries.length, 1);
    });

    it('answers a heartbeat without calling onRecords', async (t) => {
      const seen = { find: () => assert.fail('asked the store'), add: () => assert.fail('told the store') };
      const { send, deliveries } = await receiver(transport, t, { seen });
      assertTaken(await send(await signedRequest({ records: [] })));
      assert.deepEqual(deliveries, []);
    });

    it('answers 500 if onRecords throws, and passes the error only to the program', async (t) => {
      const errors: unknown[] = [];
      const { send, refusals } = await receiver(transport, t, {
        onRecords: async () => {
          throw new Error('db.internal.example is down');
        },
        onError: (error) => void errors.push(error),
      });
      const { status, body } = await send(await signedRequest());
      assert.deepEqual([status, body], [500, 'failed: see the log of the receiver']);
      assert.match(String(errors), /^Error: db\.internal\.example is down$/);
      assert.deepEqual(refusals, []);
    });
  });
}

describe('the options of a receiver', () => {
  const onRecords = (): void => {};
  type Wrong = readonly [what: string, options: object, message: RegExp];
  const wrong: readonly Wrong[] = [
    ['no secrets', { onRecords }, /^TypeError: secrets is missing or empty$/],
    ['an empty list of secrets', { onRecords, secrets: [] }, /secrets is missing or empty/],
    ['an empty secret', { onRecords, secrets: '' }, /secrets is missing or empty/],
    ['an empty secret beside another', { onRecords, secrets: [SECRET, ''] }, /secrets is missing or empty/],
    ['an undefined secret', { onRecords, secrets: [SECRET, undefined] }, /secrets is missing or empty/],
    [
      'an API key that is not there',
      { onRecords, secrets: SECRET, apiKey: undefined },
      /^TypeError: apiKey is missing/,
    ],
    ['an empty list of API keys', { onRecords, secrets: SECRET, apiKey: [] }, /apiKey is missing/],
    ['no onRecords', { secrets: SECRET }, /^TypeError: onRecords must be a function/],
    [
      'an onRecords that is not a function',
      { secrets: SECRET, onRecords: [] },
      /^TypeError: onRecords must be a function/,
    ],
    ...[-1, Number.NaN, null, '300'].map(
      (toleranceSeconds): Wrong => [
        `a tolerance of ${toleranceSeconds}`,
        { onRecords, secrets: SECRET, toleranceSeconds },
        /^TypeError: toleranceSeconds must be a number of at least 0$/,
      ],
    ),
    [
      'a secret that is cut after whsec_',
      { onRecords, secrets: ['whsec_abc'] },
      /begins with whsec_ but is not Base64/,
    ],
    ['an invalid URL', { onRecords, secrets: SECRET, url: '/hooks' }, /Invalid URL/],
  ];
  for (const [what, options, message] of wrong) {
    it(`are refused with ${what}`, () => {
      assert.throws(
        () => createReceiver(options as Options),
        (error) => message.test(String(error)),
      );
    });
  }

  it('keep their limits if they are undefined', async () => {
    const options = { secrets: SECRET, onRecords, maxBytes: undefined, toleranceSeconds: undefined };
    const { verify } = createReceiver(options as unknown as Options);
    const refusal = async (request: RawRequest): Promise<string> => {
      const verdict = await verify({ ...request, pathAndQuery: request.path });
      return verdict.ok ? 'taken' : verdict.description;
    };
    assert.match(await refusal(await signedRequest({ at: Date.now() - 3_600_000 })), /300 s allowed$/);
    const large = await signedRequest({ content: Buffer.alloc(4 * 1024 * 1024 + 1, ' ') });
    assert.equal(await refusal(large), 'the body has more than the 4194304 bytes allowed');
  });
});
