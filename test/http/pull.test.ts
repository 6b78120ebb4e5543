import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { decryptBinary } from '../../src/wire/pgp-decryption.ts';
import {
  type ApiClient,
  type ApiReply,
  EDGE,
  EMPLOYEES,
  errorOf,
  type Page,
  succeeded,
  tokenFor,
} from '../support/client.ts';
import { type DeliveryDetail, importKey, makeEventType, readWebhook, registerApplication } from '../support/journey.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';

repeatsInSlowTier('postgres');

type Fields = Readonly<Record<string, unknown>>;
type Records = {
  readonly sessionId: string;
  readonly throughOffset: number;
  readonly newestOffset: number;
  readonly acknowledgedOffset?: number;
  readonly records: readonly { readonly offset: number; readonly value: Readonly<Record<string, unknown>> }[];
};
type Pull = { readonly service: ServiceInProcess; readonly admin: ApiClient; readonly id: string };

async function prepare(t: TestContext, more: Fields = {}): Promise<Pull> {
  const service = await startService(t);
  const { admin } = service;
  await makeEventType(admin, 'order.placed');
  return { service, admin, id: await pullWebhook(admin, more) };
}

async function pullWebhook(admin: ApiClient, more: Fields = {}): Promise<string> {
  const body = { name: 'orders', mode: 'pull', eventTypes: ['order.placed'], ...more };
  return (await succeeded<{ id: string }>(admin.post('webhooks', body))).id;
}

const publish = (admin: ApiClient, numbers: readonly number[], more: Fields = {}): Promise<unknown> =>
  succeeded(admin.post('events', { events: numbers.map((n) => ({ type: 'order.placed', data: { n }, ...more })) }));
const read = (admin: ApiClient, id: string, query = ''): Promise<Records> =>
  succeeded<Records>(admin.get(`webhooks/${id}/records${query}`));
const acknowledge = (admin: ApiClient, id: string, throughOffset: unknown): Promise<ApiReply<unknown>> =>
  admin.post(`webhooks/${id}/acknowledge`, { throughOffset });
const numbersOf = ({ records }: Records): unknown[] =>
  records.map(({ value }) => (value.orderPlaced as { n: number }).n);
const deliveriesOf = async (admin: ApiClient, id: string, query = ''): Promise<[number, string, number][]> =>
  (await succeeded<Page<DeliveryDetail>>(admin.get(`deliveries?webhookId=${id}${query}`))).items.map(
    ({ offset, state, attemptCount }) => [offset, state, attemptCount],
  );
async function pushWebhook(admin: ApiClient): Promise<{ id: string }> {
  const endpoint = { name: 'receiver', url: 'https://receiver.example/' };
  const { id: endpointId } = await succeeded<{ id: string }>(admin.post('endpoints', endpoint));
  return succeeded(admin.post('webhooks', { name: 'sent', endpointId, eventTypes: ['order.placed'] }));
}

describe('a webhook in mode pull', () => {
  it('starts at its creation, has no endpoint, and keeps its records until they are acknowledged', async (t) => {
    const { admin, id } = await prepare(t);
    const made = await readWebhook(admin, { id });
    assert.deepEqual([made.mode, made.endpointId, made.state, made.stateReason], ['pull', null, 'started', null]);
    await publish(admin, [10, 11, 12, 13]);
    const first = await read(admin, id, '?limit=3');
    assert.deepEqual(
      [numbersOf(first), first.throughOffset, first.newestOffset, first.acknowledgedOffset, first.sessionId],
      [[10, 11, 12], 2, 3, -1, made.sessionId],
    );
    // Reading alone changes nothing.
    assert.deepEqual(numbersOf(await read(admin, id)), [10, 11, 12, 13]);
    assert.equal((await readWebhook(admin, { id })).state, 'started');
    assert.deepEqual((await acknowledge(admin, id, 2)).body, {
      acknowledged: 3,
      acknowledgedOffset: 2,
      newestOffset: 3,
    });
    const next = await read(admin, id);
    assert.deepEqual([numbersOf(next), next.throughOffset, next.acknowledgedOffset], [[13], 3, 2]);
    // A reader that lost acknowledged records can read them again.
    assert.deepEqual(numbersOf(await read(admin, id, '?after=-1')), [10, 11, 12, 13]);
    assert.deepEqual(await deliveriesOf(admin, id), [
      [3, 'pending', 0],
      [2, 'delivered', 0],
      [1, 'delivered', 0],
      [0, 'delivered', 0],
    ]);
    assert.deepEqual(await deliveriesOf(admin, id, '&state=pending'), [[3, 'pending', 0]]);
  });

  it('is running from the first acknowledgement on, and says so once', async (t) => {
    const { admin, id } = await prepare(t);
    const watching = await pullWebhook(admin, { name: 'watching', eventTypes: ['webhook.*'] });
    await publish(admin, [1, 2]);
    await succeeded(acknowledge(admin, id, 0));
    const { state, stateReason } = await readWebhook(admin, { id });
    assert.deepEqual([state, stateReason], ['running', null]);
    await succeeded(acknowledge(admin, id, 1));
    const told = (await read(admin, watching)).records.map(({ value }) => value.webhookRunning);
    assert.equal(told.length, 1);
    const { webhookId, endpointId, previousState } = told[0] as Fields;
    assert.deepEqual([webhookId, endpointId, previousState], [id, null, 'started']);
  });

  it('takes the same acknowledgement again and refuses one behind or beyond', async (t) => {
    const { admin, id } = await prepare(t);
    const none = errorOf(await acknowledge(admin, id, 0));
    assert.deepEqual(
      [none.code, none.description],
      ['validation_failed', 'throughOffset is past the end: there is no record yet'],
    );
    await publish(admin, [1, 2, 3]);
    await succeeded(acknowledge(admin, id, 1));
    assert.deepEqual(await succeeded(acknowledge(admin, id, 1)), {
      acknowledged: 0,
      acknowledgedOffset: 1,
      newestOffset: 2,
    });
    const behind = await acknowledge(admin, id, 0);
    assert.equal(behind.status, 409);
    const { code, details } = errorOf(behind);
    const [detail] = details ?? [];
    assert.deepEqual([code, detail?.field], ['invalid_state', 'throughOffset']);
    assert.match(detail?.problem ?? '', /^goes backwards: the records up to 1 are acknowledged already/);
    const beyond = await acknowledge(admin, id, 3);
    assert.equal(beyond.status, 400);
    assert.equal(errorOf(beyond).description, 'throughOffset is past the newest record, which is 2');
    assert.deepEqual(numbersOf(await read(admin, id)), [3]);
  });

  for (const throughOffset of [-1, 1.5, '1', null, 2 ** 53, undefined]) {
    it(`refuses to acknowledge ${throughOffset}`, async (t) => {
      const { admin, id } = await prepare(t);
      await publish(admin, [1, 2, 3]);
      const reply = await acknowledge(admin, id, throughOffset);
      assert.equal(reply.status, 400);
      assert.equal(errorOf(reply).details?.[0]?.field, 'throughOffset');
      assert.equal((await read(admin, id)).acknowledgedOffset, -1);
    });
  }

  it('refuses unknown fields of an acknowledgement, unknown webhooks and those in mode push', async (t) => {
    const { admin, id } = await prepare(t);
    await publish(admin, [1]);
    const unknown = errorOf(await admin.post(`webhooks/${id}/acknowledge`, { throughOffset: 0, force: true }));
    assert.equal(unknown.details?.[0]?.field, 'force');
    const missing = await acknowledge(admin, '0193a1f0-0000-7000-8000-000000000000', 0);
    assert.equal(missing.status, 404);
    const sent = await pushWebhook(admin);
    await publish(admin, [2]);
    const refused = await acknowledge(admin, sent.id, 0);
    assert.equal(refused.status, 409);
    assert.match(errorOf(refused).description, /in mode push/);
    assert.deepEqual(await deliveriesOf(admin, sent.id), [[0, 'pending', 0]]);
    assert.equal((await read(admin, id)).acknowledgedOffset, -1);
    // Only mode pull tells how far it is acknowledged.
    assert.equal((await read(admin, sent.id)).acknowledgedOffset, undefined);
  });

  it('honours If-Match, and needs the scope records:read', async (t) => {
    const { admin, id } = await prepare(t);
    await publish(admin, [1]);
    const body = { throughOffset: 0 };
    const stale = await admin.post(`webhooks/${id}/acknowledge`, body, { 'if-match': '"other"' });
    assert.equal(stale.status, 412);
    const { api } = await registerApplication(admin, ['webhooks:manage']);
    const refused = errorOf(await acknowledge(api, id, 0));
    assert.equal(refused.code, 'insufficient_scope');
    assert.equal((await read(admin, id)).acknowledgedOffset, -1);
    const { api: reader } = await registerApplication(admin, ['records:read']);
    await succeeded(acknowledge(reader, id, 0));
  });

  it('keeps its records while it is stopped, and neither shows nor acknowledges them', async (t) => {
    const { admin, id } = await prepare(t);
    await publish(admin, [1]);
    await succeeded(admin.post(`webhooks/${id}/stop`));
    await publish(admin, [2]);
    for (const refused of [await admin.get(`webhooks/${id}/records`), await acknowledge(admin, id, 0)]) {
      assert.equal(refused.status, 409);
      const { code, description } = errorOf(refused);
      assert.equal(code, 'invalid_state');
      assert.match(description, /is stopped: its records wait until it is started/);
    }
    const { sessionId } = await succeeded<{ sessionId: string }>(admin.post(`webhooks/${id}/start`));
    const again = await read(admin, id);
    assert.deepEqual([numbersOf(again), again.sessionId], [[1, 2], sessionId]);
  });

  it('wakes a reader that waits, and ends its wait with a stop of the webhook', async (t) => {
    const { admin, id } = await prepare(t);
    const waiting = read(admin, id, '?wait=30');
    await readWebhook(admin, { id });
    await publish(admin, [1]);
    assert.deepEqual(numbersOf(await waiting), [1]);
    const nothing = await read(admin, id, '?after=0&wait=1');
    assert.deepEqual([nothing.records, nothing.throughOffset], [[], 0]);
  });

  it('gives a new session after 24 hours', async (t) => {
    const { service, admin, id } = await prepare(t);
    await publish(admin, [1, 2]);
    const { sessionId } = await read(admin, id);
    await succeeded(acknowledge(admin, id, 0));
    assert.equal((await read(admin, id)).sessionId, sessionId);
    service.advance(24 * 3_600_000);
    const later = await service.signIn();
    await succeeded(acknowledge(later, id, 1));
    assert.notEqual((await read(later, id)).sessionId, sessionId);
  });

  it('reads records that are encrypted for its key, and stops reading with the key', async (t) => {
    const { publicKey, privateKey } = await pgpKeyPair();
    const { service, admin } = await prepare(t);
    const wanted = { name: 'people', mode: 'pull', eventTypes: ['employee.*'] };
    const refused = errorOf(await admin.post('webhooks', wanted));
    assert.equal(refused.details?.[0]?.field, 'encryptionKeyName');
    await importKey(admin, 'customer', publicKey);
    const id = await pullWebhook(admin, { ...wanted, encryptionKeyName: 'customer' });
    const employee = { userName: 'j', firstName: 'Jane', lastName: 'Doe', email: 'j@example.com', division: 'sales' };
    const { api } = await registerApplication(admin, ['employees:create']);
    await succeeded(api.post(EMPLOYEES, employee));
    const headers = { authorization: `Bearer ${await tokenFor(service.url, service.credentials)}` };
    const reply = await fetch(`${service.url}${EDGE}/webhooks/${id}/records`, { headers });
    assert.deepEqual([reply.status, reply.headers.get('x-pgp-key-name')], [200, 'customer']);
    const bytes = new Uint8Array(await reply.arrayBuffer());
    assert.ok(!Buffer.from(bytes).includes('Jane'));
    const opened = await decryptBinary(bytes, privateKey);
    assert.ok(opened.ok);
    const { records, acknowledgedOffset } = JSON.parse(Buffer.from(opened.bytes).toString()) as Records;
    assert.deepEqual([records.length, acknowledgedOffset], [1, -1]);
  });

  it('leaves out erased records, which are discarded and take an acknowledgement like others', async (t) => {
    const { admin, id } = await prepare(t);
    await publish(admin, [1], { subject: 'jane' });
    await publish(admin, [2]);
    await publish(admin, [3], { subject: 'jane' });
    await succeeded(acknowledge(admin, id, 0));
    await succeeded(admin.post('events/erase', { subject: 'jane' }));
    const part = await read(admin, id);
    assert.deepEqual([numbersOf(part), part.throughOffset], [[2], 2]);
    await succeeded(acknowledge(admin, id, part.throughOffset));
    assert.deepEqual(
      (await deliveriesOf(admin, id)).map(([offset, state]) => [offset, state]),
      [
        [2, 'discarded'],
        [1, 'delivered'],
        [0, 'delivered'],
      ],
    );
  });

  it('is neither tested nor replayed', async (t) => {
    const { admin, id } = await prepare(t);
    await publish(admin, [1]);
    await succeeded(acknowledge(admin, id, 0));
    const [delivery] = (await succeeded<Page<{ id: string }>>(admin.get(`deliveries?webhookId=${id}`))).items;
    for (const refused of [
      await admin.post(`webhooks/${id}/test`),
      await admin.post(`webhooks/${id}/replay`, { states: ['delivered'] }),
      await admin.post(`deliveries/${delivery?.id}/replay`),
    ]) {
      const { code, description } = errorOf(refused);
      assert.equal(code, 'invalid_state');
      assert.match(description, /is in mode pull/);
    }
    assert.deepEqual(await deliveriesOf(admin, id), [[0, 'delivered', 0]]);
  });

  it('shows its unread and its acknowledged records in the metrics', async (t) => {
    const { service, admin, id } = await prepare(t);
    await publish(admin, [1, 2, 3]);
    await succeeded(acknowledge(admin, id, 1));
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    assert.match(metrics, new RegExp(`sallyport_webhook_queue_records\\{webhook="${id}"\\} 1\\n`));
    assert.match(metrics, new RegExp(`sallyport_deliveries_total\\{webhook="${id}",outcome="delivered"\\} 2\\n`));
  });

  it('gets the same records as a webhook in mode push that is sent them at the same time', async (t) => {
    const { admin, id } = await prepare(t, { filter: { 'data.n': { $gte: 2 } } });
    await pushWebhook(admin);
    await publish(admin, [1, 2, 3]);
    assert.deepEqual(numbersOf(await read(admin, id)), [2, 3]);
  });
});

describe('the mode of a webhook', () => {
  for (const [field, value] of [
    ['endpointId', '0193a1f0-0000-7000-8000-000000000000'],
    ['customHeaders', [{ name: 'x-a', value: 'b' }]],
    ['ordered', true],
    ['maxBatchRecords', 5],
    ['maxRecordsPerSecond', 5],
    ['retry', { policy: 'linear' }],
    ['standardWebhooks', true],
    ['heartbeatSeconds', 0],
    ['timeoutSeconds', 5],
  ] as const) {
    it(`pull refuses ${field}, when created and when changed`, async (t) => {
      const { admin, id } = await prepare(t);
      const wanted = { name: 'more', mode: 'pull', eventTypes: ['order.placed'] };
      for (const reply of [
        await admin.post('webhooks', { ...wanted, [field]: value }),
        await admin.patch(`webhooks/${id}`, { [field]: value }),
      ]) {
        const { code, details } = errorOf(reply);
        assert.equal(code, 'validation_failed');
        assert.ok(details?.some((detail) => detail.field === field && /in mode pull/.test(detail.problem)));
      }
      assert.equal((await succeeded<Page<unknown>>(admin.get('webhooks'))).items.length, 1);
    });
  }

  it('is push by default, which needs an endpoint, and cannot change', async (t) => {
    const { admin, id } = await prepare(t);
    const body = { name: 'sent', eventTypes: ['order.placed'] };
    for (const mode of [{}, { mode: 'push' }, { mode: 'push', endpointId: null }]) {
      const { details } = errorOf(await admin.post('webhooks', { ...body, ...mode }));
      assert.deepEqual(details, [{ field: 'endpointId', problem: 'is required in mode push' }]);
    }
    const other = errorOf(await admin.post('webhooks', { ...body, mode: 'poll' }));
    assert.equal(other.details?.[0]?.field, 'mode');
    const sent = await pushWebhook(admin);
    for (const [webhook, mode] of [
      [sent.id, 'pull'],
      [id, 'push'],
    ] as const) {
      const { details } = errorOf(await admin.patch(`webhooks/${webhook}`, { mode }));
      assert.deepEqual(
        details?.map(({ field }) => field),
        ['mode'],
      );
      assert.match(details?.[0]?.problem ?? '', /^cannot change/);
    }
    // The same mode is no change.
    await succeeded(admin.patch(`webhooks/${id}`, { mode: 'pull', name: 'renamed' }));
    const { items } = await succeeded<Page<{ id: string }>>(admin.get('webhooks?mode=pull'));
    assert.deepEqual(
      items.map((webhook) => webhook.id),
      [id],
    );
  });
});
