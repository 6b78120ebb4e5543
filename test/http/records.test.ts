import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { parseEnvelope } from '../../src/wire/envelope.ts';
import { decryptBinary } from '../../src/wire/pgp-decryption.ts';
import { type ApiClient, EDGE, errorOf, succeeded, tokenFor } from '../support/client.ts';
import { readWebhook, registerApplication } from '../support/journey.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';

repeatsInSlowTier('postgres');

type Records = {
  readonly subscriptionId: string;
  readonly throughOffset: number;
  readonly newestOffset: number;
  readonly records: readonly { readonly offset: number; readonly value: Readonly<Record<string, unknown>> }[];
};
type Fields = Readonly<Record<string, unknown>>;

async function prepare(
  t: TestContext,
  more: Fields = {},
): Promise<{ service: ServiceInProcess; admin: ApiClient; id: string }> {
  const service = await startService(t);
  const { admin } = service;
  await succeeded(admin.post('event-types', { name: 'order.placed' }));
  const url = 'https://receiver.example/';
  const endpoint = await succeeded<{ id: string }>(admin.post('endpoints', { name: 'receiver', url }));
  const webhook = { name: 'orders', endpointId: endpoint.id, eventTypes: ['order.placed'], ...more };
  return { service, admin, id: (await succeeded<{ id: string }>(admin.post('webhooks', webhook))).id };
}

const publish = (admin: ApiClient, numbers: readonly number[], more: Fields = {}): Promise<unknown> =>
  succeeded(admin.post('events', { events: numbers.map((n) => ({ type: 'order.placed', data: { n }, ...more })) }));
const read = (admin: ApiClient, id: string, query = ''): Promise<Records> =>
  succeeded<Records>(admin.get(`webhooks/${id}/records${query}`));
const numbersOf = ({ records }: Records): unknown[] =>
  records.map(({ value }) => (value.orderPlaced as { n: number }).n);

describe('the records of a webhook', () => {
  it('are read in order and in parts, whether the webhook runs or not', async (t) => {
    const { admin, id } = await prepare(t);
    assert.deepEqual(
      await read(admin, id).then(({ records, throughOffset, newestOffset }) => [records, throughOffset, newestOffset]),
      [[], -1, -1],
    );
    await publish(admin, [10, 11, 12, 13, 14]);
    const first = await read(admin, id, '?limit=2');
    assert.deepEqual([numbersOf(first), first.throughOffset, first.newestOffset], [[10, 11], 1, 4]);
    const second = await read(admin, id, `?after=${first.throughOffset}`);
    assert.deepEqual([numbersOf(second), second.throughOffset], [[12, 13, 14], 4]);
    const end = await read(admin, id, '?after=4');
    assert.deepEqual([end.records, end.throughOffset, end.newestOffset], [[], 4, 4]);
  });

  it('are what a receiver reads in a delivery', async (t) => {
    const { admin, id } = await prepare(t);
    await publish(admin, [1], { correlationId: 'c-1' });
    const body = await read(admin, id);
    const parsed = parseEnvelope(Buffer.from(JSON.stringify(body)));
    assert.ok(parsed.ok);
    assert.equal(parsed.envelope.subscriptionId, id);
    assert.deepEqual(
      parsed.envelope.records.map(({ offset, correlationId, eventType, data }) => ({
        offset,
        correlationId,
        eventType,
        data,
      })),
      [{ offset: 0, correlationId: 'c-1', eventType: 'order.placed', data: { n: 1 } }],
    );
  });

  it('end before 1 MiB of data, and are at least one', async (t) => {
    const { admin, id } = await prepare(t);
    const filling = 'x'.repeat(250_000);
    for (let n = 0; n < 6; n += 1)
      await succeeded(admin.post('events', { type: 'order.placed', data: { n, filling } }));
    const first = await read(admin, id, '?limit=1000');
    assert.deepEqual([numbersOf(first), first.throughOffset], [[0, 1, 2, 3], 3]);
    assert.deepEqual(numbersOf(await read(admin, id, '?after=3')), [4, 5]);
  });

  it('leave out erased records and tell how far they go', async (t) => {
    const { admin, id } = await prepare(t);
    await publish(admin, [1, 2], { subject: 'person-1' });
    await publish(admin, [3]);
    await succeeded(admin.post('events/erase', { subject: 'person-1' }));
    const part = await read(admin, id, '?limit=2');
    assert.deepEqual([part.records, part.throughOffset, part.newestOffset], [[], 1, 2]);
    assert.deepEqual(numbersOf(await read(admin, id, '?after=1')), [3]);
  });

  it('are encrypted with the key of the webhook, and never in clear', async (t) => {
    const { publicKey, privateKey } = await pgpKeyPair();
    const { service, admin, id } = await prepare(t);
    await succeeded(admin.post('keys', { name: 'customer', publicKey }));
    await succeeded(admin.patch(`webhooks/${id}`, { encryptionKeyName: 'customer' }));
    await publish(admin, [7]);
    const reply = await fetch(`${service.url}${EDGE}/webhooks/${id}/records`, {
      headers: { authorization: `Bearer ${await tokenFor(service.url, service.credentials)}` },
    });
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'application/octet-stream');
    assert.equal(reply.headers.get('x-content-encrypted'), 'true');
    assert.equal(reply.headers.get('x-pgp-key-name'), 'customer');
    // This client fails unless the document describes the media type.
    assert.equal((await admin.get(`webhooks/${id}/records`)).status, 200);
    const opened = await decryptBinary(new Uint8Array(await reply.arrayBuffer()), privateKey);
    assert.ok(opened.ok && Buffer.from(opened.bytes).toString().includes('{"n":7}'));
    await succeeded(admin.patch(`webhooks/${id}`, { encryptionKeyName: null }));
    const type = (await succeeded<{ items: { id: string; name: string }[] }>(admin.get('event-types?limit=200'))).items;
    const placed = type.find(({ name }) => name === 'order.placed');
    await succeeded(admin.patch(`webhooks/${id}`, { eventTypes: ['webhook.*'] }));
    await succeeded(admin.patch(`event-types/${placed?.id}`, { encryptionRequired: true }));
    const refused = errorOf(await admin.get(`webhooks/${id}/records`));
    assert.equal(refused.code, 'invalid_state');
    assert.match(refused.description, /must be encrypted, and the webhook has no key/);
  });

  it('can be waited for', async (t) => {
    const { admin, id } = await prepare(t);
    await publish(admin, [1]);
    const waiting = read(admin, id, '?after=0&wait=30');
    await publish(admin, [2]);
    assert.deepEqual(numbersOf(await waiting), [2]);
    const none = await read(admin, id, '?after=1&wait=1');
    assert.deepEqual([none.records, none.throughOffset], [[], 1]);
  });

  it('are not shown to a reader whose rights ended during the wait', async (t) => {
    const { admin, id } = await prepare(t);
    const { api, application } = await registerApplication(admin, ['records:read']);
    const waiting = api.get(`webhooks/${id}/records?wait=30`);
    await readWebhook(admin, { id });
    await succeeded(admin.post(`applications/${application.id}/revoke-tokens`, {}));
    await publish(admin, [1]);
    assert.equal((await waiting).status, 401);
  });

  it('do not delay a stop', async (t) => {
    const { service, admin, id } = await prepare(t);
    const waiting = read(admin, id, '?wait=30').catch(() => null);
    await readWebhook(admin, { id });
    await service.stop();
    // It ends with the stop, not after 30 s.
    await waiting;
  });

  for (const [query, field] of [
    ['after=-2', 'after'],
    ['after=x', 'after'],
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['wait=31', 'wait'],
    ['wait=1.5', 'wait'],
    ['since=1', 'since'],
  ] as const) {
    it(`refuse ?${query}`, async (t) => {
      const { service, id } = await prepare(t);
      const reply = await fetch(`${service.url}${EDGE}/webhooks/${id}/records?${query}`, {
        headers: { authorization: `Bearer ${await tokenFor(service.url, service.credentials)}` },
      });
      assert.equal(reply.status, 400);
      const { error } = (await reply.json()) as { error: { details: { field: string }[] } };
      assert.equal(error.details[0]?.field, field);
    });
  }
});
