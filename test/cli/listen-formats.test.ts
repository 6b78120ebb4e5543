/** `sallyport listen` verifies and shows deliveries in every format (contract §12.1), and answers the handshake of CloudEvents. */
import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { signatureOf } from '../../src/webhooks/signature-schema.ts';
import { asymmetricSignatures, ed25519Key, ed25519PublicKey } from '../../src/wire/ed25519.ts';
import { compileTemplate, SIGNATURE_PRESETS, textKey } from '../../src/wire/signature-template.ts';
import { cleanUp } from '../support/cleanup.ts';
import { formatRequest } from '../support/format-requests.ts';
import { eventsOf, type FormatVector, formatVectors } from '../support/format-vectors.ts';
import { exchange, startListener } from '../support/listening.ts';
import { createMailbox } from '../support/mailbox.ts';
import { API_KEY, headerOf, PATH, type RawRequest, SECRET, signedRequest } from '../support/signed-request.ts';

const GIVEN = ['--secret', `whsec_${SECRET}`, '--api-key', API_KEY];

function vectorOf(format: string, thin: boolean = false): FormatVector {
  const found = formatVectors.bodies.find((one) => one.format === format && !one.batch && one.thin === thin);
  assert.ok(found);
  return found;
}

/** Adds the signature of another product, as the service makes it. */
function signedBy(
  request: RawRequest,
  template: ReturnType<typeof signatureOf>,
  secrets: readonly string[] = [SECRET],
): RawRequest {
  const url = new URL(PATH, 'https://localhost');
  const [first = textKey(''), ...others] = secrets.map(textKey);
  const message = { body: request.body, at: Date.now(), id: 'msg_1', url };
  const { headers } = compileTemplate(template)(message, [first, ...others]);
  return { ...request, headers: [...request.headers, ...Object.entries(headers)] };
}

describe('sallyport listen', () => {
  it('verifies and shows deliveries in every format', async (t) => {
    const listener = await startListener(t, GIVEN);
    for (const vector of formatVectors.bodies) {
      const [status, shown] = await exchange(listener, formatRequest(vector));
      assert.equal(status, 204, vector.name);
      assert.deepEqual([shown.what, shown.secretIndex], ['delivery', 0]);
      const events = shown.events as { messageId: string; eventType: string }[];
      const wanted = eventsOf(vector).map(({ messageId, eventType }) => [messageId, eventType]);
      assert.deepEqual(
        events.map(({ messageId, eventType }) => [messageId, eventType]),
        wanted,
        vector.name,
      );
      assert.equal(JSON.stringify(shown.delivery), JSON.stringify(vector.body === '' ? null : JSON.parse(vector.body)));
    }
  });

  it('answers the handshake of CloudEvents', async (t) => {
    const listener = await startListener(t, GIVEN);
    const headers = [
      ['x-api-key', API_KEY],
      ['webhook-request-origin', 'edge.example'],
    ] as const;
    const { status } = await listener.send({ method: 'OPTIONS', path: PATH, headers, body: new Uint8Array(0) });
    assert.equal(status, 200);
    assert.equal((await listener.next()).what, 'handshake');
  });

  it('verifies the signatures of other products by their headers, and during a rotation both', async (t) => {
    const listener = await startListener(t, [...GIVEN, '--secret', 'the next secret']);
    for (const preset of Object.keys(SIGNATURE_PRESETS) as (keyof typeof SIGNATURE_PRESETS)[]) {
      const template = signatureOf({ preset });
      const request = await signedRequest();
      const [status, shown] = await exchange(listener, signedBy(request, template, ['the next secret', SECRET]));
      assert.deepEqual([status, shown.signatures], [204, [template.header]], preset);
      const [refused, why] = await exchange(listener, signedBy(request, template, ['another secret']));
      assert.deepEqual([refused, why.code], [400, 'wrong_signature'], preset);
      assert.match(String(why.description), new RegExp(`^${template.header} is not the signature`));
    }
  });

  it('verifies the template of --signature', async (t) => {
    const given = { header: 'X-Signature', value: 't={timestamp};s={signature}', content: '{path}.{timestamp}.{body}' };
    const listener = await startListener(t, [...GIVEN, '--signature', JSON.stringify(given)]);
    const template = signatureOf(given);
    const [status, shown] = await exchange(listener, signedBy(await signedRequest(), template));
    assert.deepEqual([status, shown.signatures], [204, ['X-Signature']]);
    assert.equal((await exchange(listener, signedBy(await signedRequest(), template, ['x'])))[0], 400);
  });

  it('verifies Ed25519 by --public-key', async (t) => {
    const [seed, other] = [3, 4].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [string, string];
    const listener = await startListener(t, [...GIVEN, '--public-key', `whpk_${ed25519PublicKey(seed)}`]);
    const request = formatRequest(vectorOf('standard'));
    const message = {
      id: headerOf(request, 'webhook-id'),
      timestamp: headerOf(request, 'webhook-timestamp'),
      body: request.body,
    };
    for (const [key, wanted] of [
      [seed, 204],
      [other, 400],
    ] as const) {
      const signature = asymmetricSignatures(message, [ed25519Key(key)]);
      const [status] = await exchange(
        listener,
        formatRequest(vectorOf('standard'), { 'webhook-signature': signature }),
      );
      assert.equal(status, wanted);
    }
  });

  it('accepts the password of --basic and the token of --bearer, and shows neither', async (t) => {
    const listener = await startListener(t, [...GIVEN, '--basic', 'me:the password', '--bearer', 'the-token']);
    const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`;
    for (const [authorization, wanted] of [
      [basic('me:the password'), 204],
      ['Bearer the-token', 204],
      [basic('me:other'), 401],
      ['Bearer other', 401],
    ] as const) {
      const [status] = await exchange(listener, formatRequest(vectorOf('cloudevents'), { authorization }));
      assert.equal(status, wanted, authorization);
    }
    const { stdout } = await listener.end();
    for (const secret of ['the password', basic('me:the password').slice(6), 'the-token'])
      assert.ok(!stdout.includes(secret));
  });

  it('forwards a binary CloudEvent with its attributes', async (t) => {
    const { url, next } = await startProgram(t);
    const listener = await startListener(t, [...GIVEN, '--forward', url]);
    for (const vector of [
      vectorOf('cloudevents-binary'),
      vectorOf('cloudevents-binary', true),
      vectorOf('cloudevents'),
    ]) {
      const [status] = await exchange(listener, formatRequest(vector));
      assert.equal(status, 202);
      const { headers, body } = await next();
      for (const [name, value] of Object.entries(vector.headers)) assert.equal(headers[name], value, name);
      assert.equal(body, vector.body);
    }
  });
});

/** The program behind `--forward`. */
async function startProgram(t: TestContext) {
  const came = createMailbox<{ readonly headers: IncomingHttpHeaders; readonly body: string }>('a forwarded request');
  const server = createServer(async (request, response) => {
    came.put({ headers: request.headers, body: (await request.setEncoding('utf8').toArray()).join('') });
    response.writeHead(202).end();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  cleanUp(t, async () => void server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, next: came.take };
}
