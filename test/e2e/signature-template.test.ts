import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { it } from 'node:test';
import type { SignaturePreview } from '../../src/delivery/trials/signature-preview.ts';
import { succeeded } from '../support/client.ts';
import type { SeenRequest } from '../support/https-server.ts';
import {
  connect,
  deliveriesOf,
  makeEventType,
  makeWebhook,
  publish,
  startJourney,
  startWebhook,
} from '../support/journey.ts';

const TYPE = 'order.placed';

function mac(secret: string, ...parts: readonly (string | Buffer)[]): string {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest('hex');
}

it('a delivery has the signature of the template beside ours, over the bytes as sent, and both secrets during a rotation', async (t) => {
  const journey = await startJourney(t);
  const { admin, service } = journey;
  await makeEventType(admin, TYPE);
  const { at, endpoint, webhook } = await connect(journey, [TYPE], {
    webhook: { signature: { preset: 'stripe' }, standardWebhooks: true },
  });
  await publish(admin, TYPE, { name: 'Zoë' });
  const first = (await at.next()).request;
  const [, time = ''] = /^t=(\d+),v1=[0-9a-f]{64}$/.exec(String(first.headers['stripe-signature'])) ?? [];
  assert.equal(first.headers['stripe-signature'], `t=${time},v1=${mac(at.secret, `${time}.`, first.body)}`);
  assert.equal(time, first.headers['webhook-timestamp']);
  assert.match(String(first.headers.authorization), /^HMAC-SHA256 /);
  await service.log.nextAttempt(webhook.id);

  const rotation = { activateAfterSeconds: 60, overlapSeconds: 60 };
  const { secret } = await succeeded<{ secret: string }>(
    admin.post(`endpoints/${endpoint.id}/rotate-secret`, rotation),
  );
  await publish(admin, TYPE, { n: 2 });
  const second = (await at.next()).request;
  const [, then = ''] = /^t=(\d+),/.exec(String(second.headers['stripe-signature'])) ?? [];
  const pieces = [at.secret, secret].map((one) => `v1=${mac(one, `${then}.`, second.body)}`);
  assert.equal(second.headers['stripe-signature'], `t=${then},${pieces.join(',')}`);
});

it('the prefix that is removed from a given secret is a part of the key if the template says so', async (t) => {
  const journey = await startJourney(t);
  await makeEventType(journey.admin, TYPE);
  const secret = '0123456789abcdef'.repeat(4);
  const { at } = await connect(journey, [TYPE], {
    receiving: { secret },
    endpoint: { secret: `whsec_${secret}` },
    webhook: { signature: { preset: 'github', key: 'prefixed' } },
  });
  await publish(journey.admin, TYPE, { n: 1 });
  const { request } = await at.next();
  assert.equal(request.headers['x-hub-signature-256'], `sha256=${mac(`whsec_${secret}`, request.body)}`);
});

it('a compressed body is signed as sent', async (t) => {
  const journey = await startJourney(t);
  await makeEventType(journey.admin, TYPE);
  const { at } = await connect(journey, [TYPE], {
    endpoint: { contentEncoding: 'gzip' },
    webhook: { signature: { preset: 'github' } },
  });
  await publish(journey.admin, TYPE, { n: 1 });
  const { request } = await at.next();
  assert.equal(request.headers['x-hub-signature-256'], `sha256=${mac(at.secret, request.body)}`);
});

it('the preview has the exact bytes and the headers, for the webhook’s template or another one, and sends nothing', async (t) => {
  const journey = await startJourney(t);
  const { admin, receiver } = journey;
  await makeEventType(admin, TYPE);
  await succeeded(admin.post('event-types', { name: 'order.sampled', sample: { total: 12 } }));
  const { at, webhook } = await connect(journey, [TYPE, 'order.sampled'], {
    webhook: { signature: { preset: 'slack' } },
  });
  const path = `webhooks/${webhook.id}/signature-preview`;
  const preview = await succeeded<SignaturePreview>(admin.post(path));
  const signed = Buffer.from(preview.signedBase64, 'base64');
  const body = Buffer.from(preview.bodyBase64, 'base64');
  assert.deepEqual(signed, Buffer.concat([Buffer.from(`v0:${preview.timestamp}:`), body]));
  assert.equal(preview.signedText, signed.toString());
  assert.equal(preview.header, 'X-Slack-Signature');
  assert.equal(preview.value, `v0=${mac(at.secret, signed)}`);
  const headers = { 'X-Slack-Signature': preview.value, 'X-Slack-Request-Timestamp': String(preview.timestamp) };
  assert.deepEqual([preview.headers, preview.warnings], [headers, []]);
  assert.equal(JSON.parse(body.toString()).records[0].value.headers.eventType, 'webhook.test');

  const signature = { header: 'X-Old', algorithm: 'sha1', value: '{signature}' };
  const other = await succeeded<SignaturePreview>(admin.post(path, { signature, eventType: 'order.sampled' }));
  const bytes = Buffer.from(other.signedBase64, 'base64');
  const sampled = JSON.parse(bytes.toString());
  // Marked as in a test, so that nobody can pass it off as an event.
  assert.deepEqual([sampled.records[0].value.orderSampled.total, sampled.test], [12, true]);
  assert.equal(other.value, createHmac('sha1', at.secret).update(bytes).digest('hex'));
  assert.match(other.warnings.join(), /sha1/);
  assert.ok(!JSON.stringify([preview, other]).includes(at.secret));

  const wrong = await admin.post(path, { signature: { ...signature, content: '{text}' } });
  assert.deepEqual(
    [wrong.status, (wrong.body as { error: { details: { field: string }[] } }).error.details[0]?.field],
    [400, 'signature.content'],
  );
  assert.equal((await admin.post(path, { eventType: 'order.unknown' })).status, 400);
  const { webhook: plain } = await connect(journey, [TYPE]);
  assert.equal((await admin.post(`webhooks/${plain.id}/signature-preview`)).status, 409);
  assert.deepEqual(receiver.requests, []);
});

it('no template signs what reads as a delivery of the service, so that a preview forges none', async (t) => {
  const journey = await startJourney(t);
  const { admin } = journey;
  await makeEventType(admin, TYPE);
  const { webhook } = await connect(journey, [TYPE]);
  const hash = createHash('sha256').update('{"forged":true}').digest('base64');
  const signature = {
    header: 'X-Forged',
    key: 'decoded',
    encoding: 'base64',
    value: '{signature}',
    content: `POST\n{path}\n${hash};Sat, 21 Nov 2026 05:00:00 GMT`,
  };
  const refusals = [
    await admin.post(`webhooks/${webhook.id}/signature-preview`, { signature }),
    await admin.patch(`webhooks/${webhook.id}`, { signature }),
  ];
  for (const { status, body } of refusals) {
    const { details } = (body as { error: { details: { field: string }[] } }).error;
    assert.deepEqual([status, details[0]?.field], [400, 'signature.content']);
  }
});

it('the preview and `{id}` follow the format: `standard` has the id of the event, the same in a replay', async (t) => {
  const journey = await startJourney(t);
  const { admin, service, receiver } = journey;
  await makeEventType(admin, TYPE);
  const requests: SeenRequest[] = [];
  receiver.route('/standard', (request) => {
    requests.push(request);
    return { status: 204 };
  });
  const endpoint = await succeeded<{ id: string; secret: string }>(
    admin.post('endpoints', { name: 'e', url: `${receiver.origin}/standard` }),
  );
  const signature = { header: 'X-Sent', value: '{signature}', content: '{id}.{body}', idHeader: 'X-Id' };
  const webhook = await makeWebhook(admin, endpoint, [TYPE], { format: 'standard', signature });
  await startWebhook(admin, webhook);
  const [eventId = ''] = await publish(admin, TYPE, { n: 1 });
  await service.log.nextAttempt(webhook.id);
  const [delivery] = await deliveriesOf(admin, webhook);
  await succeeded(admin.post(`deliveries/${delivery?.id}/replay`));
  await service.log.nextAttempt(webhook.id);
  const sent = requests.map(({ headers, body }) => [headers['webhook-id'], headers['x-id'], headers['x-sent'], body]);
  const wanted = requests.map(({ body }) => [eventId, eventId, mac(endpoint.secret, `${eventId}.`, body), body]);
  assert.deepEqual([sent.length, sent], [2, wanted]);

  const path = `webhooks/${webhook.id}/signature-preview`;
  const bodyOf = async (format: string): Promise<unknown> => {
    await succeeded(admin.patch(`webhooks/${webhook.id}`, { format }));
    const { bodyBase64, signedBase64, id } = await succeeded<SignaturePreview>(admin.post(path));
    const body = Buffer.from(bodyBase64, 'base64');
    assert.deepEqual(Buffer.from(signedBase64, 'base64'), Buffer.concat([Buffer.from(`${id}.`), body]));
    return JSON.parse(body.toString());
  };
  const { type, data } = (await bodyOf('standard')) as { type: string; data: { webhookId: string } };
  assert.deepEqual([type, data.webhookId], ['webhook.test', webhook.id]);
  assert.equal(((await bodyOf('cloudevents')) as { specversion: string }).specversion, '1.0');
  assert.equal(((await bodyOf('cloudevents-binary')) as { webhookId: string }).webhookId, webhook.id);
});
