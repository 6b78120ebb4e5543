import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AttemptView } from '../../src/webhooks/deliveries.ts';
import { refusalOf, succeeded } from '../support/client.ts';
import {
  connect,
  deliveriesOf,
  importKey,
  makeEndpoint,
  makeEventType,
  makeWebhook,
  only,
  publish,
  readWebhook,
  startJourney,
} from '../support/journey.ts';
import { pgpVector } from '../support/vectors.ts';

const TYPE = 'order.placed';

describe('a heartbeat', () => {
  it('is sent without records once a running webhook was silent for heartbeatSeconds, and not before', async (t) => {
    const journey = await startJourney(t);
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    await makeEventType(admin, 'other.type');
    const { at, webhook } = await connect(journey, [TYPE], { webhook: { heartbeatSeconds: 300 } });
    const mute = await connect(journey, ['other.type'], { webhook: { heartbeatSeconds: 0 } });
    const other = await connect(journey, ['nothing.*'], { webhook: { heartbeatSeconds: 60 } });
    await publish(admin, TYPE, {});
    await publish(admin, 'other.type', {});
    const first = await at.next();
    await service.log.nextAttempt(webhook.id);
    await service.log.nextAttempt(mute.webhook.id);

    // The dispatcher checked the other webhook after the clock had moved, so it would have sent this heartbeat as well.
    for (const aheadMs of [200_000, 61_000]) {
      service.advance(aheadMs);
      await other.at.next();
      await service.log.nextAttempt(other.webhook.id);
    }
    assert.equal(at.deliveries.length, 1);

    service.advance(40_000);
    const { envelope, json, request } = await at.next();
    assert.deepEqual(JSON.parse(json), {
      subscriptionId: webhook.id,
      sessionId: first.envelope.sessionId,
      attemptNumber: 1,
      records: [],
    });
    assert.equal(envelope.records.length, 0);
    assert.match(String(request.headers.authorization), /^HMAC-SHA256 /);
    assert.deepEqual((await service.log.nextAttempt(webhook.id)).kind, 'heartbeat');
    assert.equal((await deliveriesOf(admin, webhook)).length, 1, 'a heartbeat is not a delivery');

    service.advance(301_000);
    await at.next();
    await service.log.nextAttempt(webhook.id);
    assert.equal(at.deliveries.length, 3);
    assert.equal(mute.at.deliveries.length, 1, 'heartbeatSeconds 0 sends none');
  });

  it('is encrypted like a delivery', async (t) => {
    const journey = await startJourney(t);
    const { privateKey, publicKey } = await (await import('openpgp')).generateKey({ userIDs: [{ name: 'x' }] });
    await importKey(journey.admin, 'key', publicKey);
    const { at } = await connect(journey, ['employee.*'], {
      receiving: { privateKeys: { key: privateKey } },
      endpoint: { contentEncoding: 'gzip' },
      webhook: { heartbeatSeconds: 60, encryptionKeyName: 'key' },
    });
    journey.service.advance(61_000);
    const { request, records } = await at.next();
    assert.equal(records.length, 0);
    assert.equal(request.headers['x-content-encrypted'], 'true');
  });

  it('that fails makes the webhook failing, and the next successful delivery makes it running', async (t) => {
    const journey = await startJourney(t);
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE], { webhook: { heartbeatSeconds: 60 } });
    at.answer(() => ({ status: 500 }));
    service.advance(61_000);
    await at.next();
    await service.log.nextAttempt(webhook.id);
    assert.equal((await readWebhook(admin, webhook)).state, 'failing');
    at.answer(() => ({ status: 204 }));
    await publish(admin, TYPE, {});
    service.advance(2000);
    assert.equal((await at.next()).records.length, 1);
    await service.log.nextAttempt(webhook.id);
    assert.equal((await readWebhook(admin, webhook)).state, 'running');
  });
});

describe('a test record', () => {
  it('is sent immediately, also while the webhook is stopped, and the reply has the attempt', async (t) => {
    const { admin, receiver } = await startJourney(t);
    const at = receiver.endpoint('/hook');
    const webhook = await makeWebhook(admin, await makeEndpoint(admin, at), ['webhook.*']);
    at.answer(() => ({ status: 202, body: 'seen' }));
    const attempt = await succeeded<AttemptView>(admin.post(`webhooks/${webhook.id}/test`));
    assert.deepEqual([attempt.kind, attempt.delivered, attempt.responseStatus], ['test', true, 202]);
    assert.deepEqual([attempt.responseBody, attempt.requestHeaders['x-api-key']], ['seen', '[secret]']);
    const { records } = await at.next();
    const record = only(records);
    assert.equal(record.eventType, 'webhook.test');
    assert.equal((record.data as { webhookId: string }).webhookId, webhook.id);
    assert.deepEqual(await deliveriesOf(admin, webhook), []);
    assert.equal((await readWebhook(admin, webhook)).state, 'stopped');
  });

  it('that fails returns the error, and does not change the webhook', async (t) => {
    const journey = await startJourney(t);
    const { admin } = journey;
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE]);
    at.answer(() => ({ status: 500, body: 'no' }));
    const attempt = await succeeded<AttemptView>(admin.post(`webhooks/${webhook.id}/test`));
    assert.deepEqual([attempt.delivered, attempt.errorClass, attempt.responseStatus], [false, 'http_status', 500]);
    assert.ok(attempt.advice);
    assert.equal((await readWebhook(admin, webhook)).state, webhook.state);
  });

  it('is refused for a disabled endpoint', async (t) => {
    const { admin, receiver } = await startJourney(t);
    const endpoint = await makeEndpoint(admin, receiver.endpoint('/hook'), { enabled: false });
    await importKey(admin, 'key', pgpVector('curve25519'));
    const webhook = await makeWebhook(admin, endpoint, ['webhook.*'], { encryptionKeyName: 'key' });
    const { code, description } = await refusalOf(admin.post(`webhooks/${webhook.id}/test`), 409);
    assert.equal(code, 'invalid_state');
    assert.match(description, /endpoint_disabled/);
    assert.equal(receiver.requests.length, 0);
  });
});
