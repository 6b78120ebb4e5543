/** `GET /events/{id}` (contract §12.2), and reads of records in the format of a webhook (§9). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decryptBinary } from '../../src/wire/pgp-decryption.ts';
import { succeeded, tokenFor } from '../support/client.ts';
import { makeCustomer } from '../support/customers.ts';
import { importKey, makeEventType } from '../support/journey.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { startService } from '../support/service.ts';

repeatsInSlowTier('postgres');

const TYPE = 'order.placed';
type Made = { readonly id: string };
type Published = { readonly events: readonly Made[] };

describe('an event', () => {
  it('is read by those whose webhooks get it, with the digits of its data', async (t) => {
    const service = await startService(t);
    const { admin } = service;
    await makeEventType(admin, TYPE);
    const [own, other] = [await makeCustomer(service), await makeCustomer(service)];
    const pull = { mode: 'pull', eventTypes: [TYPE] };
    for (const { api } of [own, other]) await succeeded(api.post('webhooks', { name: 'w', ...pull }));
    const data = '{"n":1.50,"big":12345678901234567890}';
    const body = `{"type":"${TYPE}","customerId":"${own.id}","subject":"s","correlationId":"c","data":${data}}`;
    const reply = await fetch(`${service.url}/services/api/x/edge/v1/events`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await tokenFor(service.url, service.credentials)}`,
        'content-type': 'application/json',
      },
      body,
    });
    const { events } = (await reply.json()) as Published;
    const id = events[0]?.id ?? '';
    const read = await fetch(`${service.url}/services/api/x/edge/v1/events/${id}`, {
      headers: { authorization: `Bearer ${own.token}` },
    });
    const text = await read.text();
    assert.ok(text.endsWith(`,"data":${data}}`), text);
    assert.equal(read.headers.get('cache-control'), 'no-store');
    const tag = read.headers.get('etag') ?? '';
    assert.match(tag, /^"[\w-]{22}"$/);
    const again = await own.api.get(`events/${id}`, { 'if-none-match': tag });
    assert.equal(again.status, 304);
    assert.equal(again.headers.get('etag'), tag);
    const { timestamp, data: _, ...told } = JSON.parse(text);
    assert.deepEqual(told, { id, type: TYPE, subject: 's', correlationId: 'c', actorId: null });
    assert.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 600_000);
    assert.deepEqual((await succeeded<Made>(admin.get(`events/${id}`))).id, id);
    assert.equal((await other.api.get(`events/${id}`)).status, 404);
    assert.equal((await own.api.get(`events/${own.id}`)).status, 404);
    assert.equal((await own.api.get('events/none')).status, 404);
    assert.equal((await own.api.get(`events/${id}?webhookId=${other.id}`)).status, 404);
    await succeeded(admin.post('events/erase', { subject: 's' }));
    assert.equal((await own.api.get(`events/${id}`)).status, 404);
  });

  it('that must be encrypted is read with the key of a webhook only', async (t) => {
    const { admin, url, credentials } = await startService(t);
    const { publicKey, privateKey } = await pgpKeyPair();
    await importKey(admin, 'hr', publicKey);
    await succeeded(admin.post('event-types', { name: TYPE, encryptionRequired: true }));
    const webhook = {
      name: 'w',
      mode: 'pull',
      eventTypes: [TYPE],
      encryptionKeyName: 'hr',
      format: 'cloudevents',
      thin: true,
    };
    const { id: webhookId } = await succeeded<Made>(admin.post('webhooks', webhook));
    const { events } = await succeeded<Published>(admin.post('events', { events: [{ type: TYPE, data: { n: 1 } }] }));
    const path = `events/${events[0]?.id}`;
    assert.equal((await admin.get(path)).status, 409);
    const headers = { authorization: `Bearer ${await tokenFor(url, credentials)}` };
    const read = await fetch(`${url}/services/api/x/edge/v1/${path}?webhookId=${webhookId}`, { headers });
    assert.equal(read.headers.get('x-pgp-key-name'), 'hr');
    // This client fails unless the document describes the media type.
    assert.equal((await admin.get(`${path}?webhookId=${webhookId}`)).status, 200);
    const opened = await decryptBinary(new Uint8Array(await read.arrayBuffer()), privateKey);
    assert.ok(opened.ok);
    assert.deepEqual(JSON.parse(Buffer.from(opened.bytes).toString()).data, { n: 1 });
    // The address in the thin body leads to the encrypted event.
    const records = await fetch(`${url}/services/api/x/edge/v1/webhooks/${webhookId}/records`, { headers });
    const body = await decryptBinary(new Uint8Array(await records.arrayBuffer()), privateKey);
    assert.ok(body.ok);
    const [thin] = JSON.parse(Buffer.from(body.bytes).toString()).records;
    assert.equal(thin.url, `${url}/services/api/x/edge/v1/${path}?webhookId=${webhookId}`);
  });
});

it('records are read in the format of the webhook, and acknowledged', async (t) => {
  const { admin } = await startService(t);
  await makeEventType(admin, TYPE);
  const ids: string[] = [];
  for (const format of ['standard', 'cloudevents', 'cloudevents-binary']) {
    const webhook = { name: format, mode: 'pull', eventTypes: [TYPE], format };
    ids.push((await succeeded<Made>(admin.post('webhooks', webhook))).id);
  }
  await succeeded(admin.post('events', { events: [1, 2].map((n) => ({ type: TYPE, data: { n } })) }));
  type Records = { throughOffset: number; records: Readonly<Record<string, unknown>>[] };
  const bodies = await Promise.all(ids.map((id) => succeeded<Records>(admin.get(`webhooks/${id}/records`))));
  for (const [n, { throughOffset, records }] of bodies.entries()) {
    assert.equal(throughOffset, 1);
    assert.deepEqual(
      records.map(({ offset, type, data }) => [offset, type, data]),
      [
        [0, TYPE, { n: 1 }],
        [1, TYPE, { n: 2 }],
      ],
    );
    assert.deepEqual(
      records.map(({ specversion }) => specversion),
      n === 0 ? [undefined, undefined] : ['1.0', '1.0'],
    );
    assert.ok(records.every(({ id }) => typeof id === 'string'));
    await succeeded(admin.post(`webhooks/${ids[n]}/acknowledge`, { throughOffset }));
    assert.deepEqual((await succeeded<Records>(admin.get(`webhooks/${ids[n]}/records`))).records, []);
  }
});
