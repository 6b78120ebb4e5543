/** A receiver reads every format of a webhook (contract §12.1), and answers the handshake of CloudEvents (§12.3). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createReceiver, type EventDelivery, eventFormats, type VerifyOptions } from '../../src/receiver/index.ts';
import { encodePayload } from '../../src/wire/payload.ts';
import { formatRequest } from '../support/format-requests.ts';
import { eventsOf, type FormatVector, formatVectors, sourceOf } from '../support/format-vectors.ts';
import { API_KEY, PATH, type RawRequest, SECRET, signedRequest, withHeader } from '../support/signed-request.ts';

type Events = Record<string, unknown>;
/** The events that a vector must give. */
function wanted(vector: FormatVector): unknown[] {
  const isStandard = vector.format === 'standard';
  return eventsOf(vector).map((event) => ({
    messageId: event.messageId,
    eventType: event.eventType,
    createdAt: event.createdAt,
    subject: isStandard ? null : event.subject,
    source: isStandard ? null : sourceOf(event),
    correlationId: isStandard ? null : event.correlationId,
    ...(vector.test && { test: true }),
    ...(vector.thin
      ? { url: formatVectors.url.join(event.messageId) }
      : { data: JSON.parse(event.dataJson) as unknown, url: null }),
  }));
}

function receiverWith(
  options: Partial<VerifyOptions> = {},
  handshake?: { origins: '*' | string[]; requestsPerMinute?: number },
) {
  const came: EventDelivery<Events>[] = [];
  const fresh: string[] = [];
  const onEvents = (events: readonly { messageId: string }[], delivery: EventDelivery<Events>): void => {
    came.push(delivery);
    fresh.push(...events.map(({ messageId }) => messageId));
  };
  const events = eventFormats<Events>({ onEvents, ...(handshake && { handshake }) });
  const receiver = createReceiver<Events>({ secrets: SECRET, apiKey: API_KEY, ...options, events });
  const receive = ({ path, ...request }: RawRequest) => receiver.receive({ ...request, pathAndQuery: path });
  return { came, fresh, receive };
}

describe('a receiver with eventFormats', () => {
  for (const vector of formatVectors.bodies)
    it(`reads ${vector.name}`, async () => {
      const { came, receive } = receiverWith();
      const { status, body } = await receive(formatRequest(vector));
      assert.deepEqual([status, body], [204, null]);
      assert.deepEqual(came[0]?.events, wanted(vector));
      assert.equal(came[0]?.secretIndex, 0);
    });

  const vectorOf = (format: string): FormatVector => {
    const found = formatVectors.bodies.find((vector) => vector.format === format && !vector.batch && !vector.thin);
    assert.ok(found);
    return found;
  };

  it('hands each event over once, also when it comes in another format', async () => {
    const { fresh, receive } = receiverWith();
    for (const format of ['standard', 'cloudevents', 'cloudevents-binary'])
      assert.equal((await receive(formatRequest(vectorOf(format)))).status, 204);
    assert.deepEqual(
      fresh,
      wanted(vectorOf('standard')).map((event) => (event as { messageId: string }).messageId),
    );
  });

  it('reads compressed and encrypted ones', async () => {
    const { body, headers } = vectorOf('cloudevents');
    const { came, receive } = receiverWith({ decrypt: async (bytes) => ({ ok: true, bytes }) });
    const now = Date.now();
    const { bytes, ...zipped } = await encodePayload(Buffer.from(body), {
      gzip: true,
      encryption: null,
      now,
      owner: null,
    });
    const compressed = { bytes, headers: { ...zipped.headers, ...headers } };
    assert.equal((await receive(await signedRequest({ payload: compressed }))).status, 204);
    const encrypted = {
      bytes: Buffer.from(body.replace(/"id":"[^"]+"/, '"id":"other"')),
      headers: { 'content-type': 'application/octet-stream', 'x-content-encrypted': 'true', 'x-pgp-key-name': 'k' },
    };
    assert.equal((await receive(await signedRequest({ payload: encrypted }))).status, 204);
    assert.deepEqual(
      came.map(({ events }) => events.length),
      [1, 1],
    );
  });

  it('takes the id of the format standard only with its signature', async () => {
    const { came, receive } = receiverWith();
    const request = formatRequest(vectorOf('standard'));
    const other = withHeader(request, 'webhook-id', '0193a1f0-5c00-7abc-8def-0000000000ff');
    assert.match(String((await receive(other)).body), /^wrong_signature/);
    assert.match(String((await receive(withHeader(request, 'webhook-signature', null))).body), /^missing_header/);
    assert.equal(came.length, 0);
  });

  it('refuses a body that is not a valid event, with the reason', async () => {
    const { came, receive } = receiverWith();
    const structured = vectorOf('cloudevents');
    const changed = (from: string | RegExp, to: string): FormatVector => ({
      ...structured,
      body: structured.body.replace(from, to),
    });
    const binary = vectorOf('cloudevents-binary');
    for (const [vector, reason] of [
      [changed('"1.0"', '"0.3"'), 'malformed_event: specversion is not 1.0'],
      [changed(/"id":"[^"]+",/, ''), 'malformed_event: id, type or source is missing'],
      [
        changed(/"time":"[^"]+"/, '"time":"yesterday"'),
        'malformed_event: the time of the event is not an RFC 3339 timestamp',
      ],
      [changed(/,"data":.*\}$/, '}'), 'malformed_event: both data and url are missing'],
      [changed(/^.*$/s, '[]'), 'malformed_event: the batch is empty'],
      [changed(/^.*$/s, '7'), 'malformed_event: the event is not an object'],
      [changed(/\}$/, ''), 'malformed_json: the body is not JSON in UTF-8'],
      [{ ...binary, body: '{' }, 'malformed_json: the body is not JSON in UTF-8'],
      [
        { ...binary, headers: { ...binary.headers, 'content-type': 'text/plain' } },
        'unsupported_content_type: content-type is "text/plain", not application/json',
      ],
    ] as const) {
      const { status, body } = await receive(formatRequest(vector));
      assert.deepEqual([status, body], [400, reason]);
    }
    assert.match(String((await receive(await signedRequest())).body), /^unexpected_format: the webhook sends records/);
    assert.equal(came.length, 0);
  });

  it('accepts Basic and bearer in place of the signature, and nothing else', async () => {
    const basic = `Basic ${Buffer.from('Zoë:a:b').toString('base64')}`;
    const options = {
      basic: (userName: string, password: string) => userName === 'Zoë' && password === 'a:b',
      bearer: (token: string) => token === 'right',
    };
    const vector = vectorOf('cloudevents');
    const { came, receive } = receiverWith(options);
    for (const [authorization, status] of [
      [basic, 204],
      ['Bearer right', 204],
      ['Bearer wrong', 401],
      [`Basic ${Buffer.from('Zoë:a').toString('base64')}`, 401],
      [`Basic ${Buffer.from('Zoë').toString('base64')}`, 401],
      ['Basic !', 401],
      [undefined, 204],
    ] as const)
      assert.equal(
        (await receive(formatRequest(vector, authorization === undefined ? {} : { authorization }))).status,
        status,
        authorization,
      );
    assert.deepEqual(
      came.map(({ secretIndex }) => secretIndex),
      [null],
    );
    const without = receiverWith();
    assert.match(
      String((await without.receive(formatRequest(vector, { authorization: basic }))).body),
      /^wrong_scheme/,
    );
  });
});

describe('the handshake of CloudEvents', () => {
  const ask = (origin: string): RawRequest => ({
    method: 'OPTIONS',
    path: PATH,
    headers: [
      ['x-api-key', API_KEY],
      ['webhook-request-origin', origin],
    ],
    body: new Uint8Array(0),
  });

  it('is answered only for the allowed origins, with the rate', async () => {
    const { receive } = receiverWith({}, { origins: ['edge.example'], requestsPerMinute: 120 });
    const { status, headers } = await receive(ask('Edge.example'));
    assert.equal(status, 200);
    assert.deepEqual(headers, {
      'webhook-allowed-origin': 'Edge.example',
      'webhook-allowed-rate': '120',
      allow: 'POST',
    });
    assert.match(String((await receive(ask('evil.example'))).body), /^wrong_origin/);
    assert.match(String((await receive({ ...ask('edge.example'), headers: [] })).body), /^wrong_api_key/);
    assert.match(String((await receive(withHeader(ask('x'), 'webhook-request-origin', null))).body), /^wrong_origin/);
    const any = await receiverWith({}, { origins: '*' }).receive(ask('any.example'));
    assert.deepEqual([any.status, any.headers['webhook-allowed-rate']], [200, '*']);
  });

  it('is refused without the option, and so is a rate below 1', async () => {
    const { status, body } = await receiverWith().receive(ask('edge.example'));
    assert.deepEqual([status, body], [405, 'wrong_method: the method is OPTIONS, not POST']);
    for (const requestsPerMinute of [0, 1.5, Number.NaN])
      assert.throws(
        () => eventFormats({ onEvents: () => {}, handshake: { origins: '*', requestsPerMinute } }),
        /requestsPerMinute/,
      );
    assert.throws(() => eventFormats({ onEvents: 7 as never }), /onEvents must be a function/);
  });
});
