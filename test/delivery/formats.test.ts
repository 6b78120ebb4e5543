/** Deliveries in the formats of receivers that exist already (contract §12.1), on sockets. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { createTestDelivery } from '../../src/delivery/trials/test-delivery.ts';
import { decryptBinary } from '../../src/wire/pgp-decryption.ts';
import { type Dispatching, openDispatching, TYPE, until } from '../support/dispatching.ts';
import type { PlannedAnswer, SeenRequest } from '../support/https-server.ts';
import { createMailbox } from '../support/mailbox.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { ACTOR, makeEndpoint, makeWebhook, TEST_URL } from '../support/services.ts';

type Fields = Readonly<Record<string, unknown>>;
type Plain = {
  readonly d: Dispatching;
  readonly id: string;
  next(): Promise<SeenRequest>;
  answer(plan: PlannedAnswer): void;
};

const SECRET = Buffer.alloc(32, 7).toString('base64');

/** A started webhook at a receiver that only records requests. */
async function connected(t: TestContext, webhook: Fields, endpoint: Fields = {}): Promise<Plain> {
  // The libraries of Standard Webhooks and OpenPGP look at the clock of the system.
  const d = await openDispatching(t, { now: Date.now() });
  const came = createMailbox<SeenRequest>('request');
  let planned: PlannedAnswer = { status: 204 };
  d.receiver.route('/plain', (request) => {
    came.put(request);
    return planned;
  });
  const { id: endpointId } = await makeEndpoint(d, { url: `${d.receiver.origin}/plain`, secret: SECRET, ...endpoint });
  const { id } = await makeWebhook(d, [TYPE], { endpointId, ...webhook });
  await d.webhooks.start(id, ACTOR);
  return { d, id, next: () => came.take(), answer: (plan) => (planned = plan) };
}

const json = ({ body }: SeenRequest) => JSON.parse(body.toString('utf8'));
const event = (n: number, more: Fields = {}): Fields => ({ type: TYPE, data: { n }, ...more });

async function publish({ d }: Plain, ...events: readonly Fields[]): Promise<string[]> {
  return (await d.publish({ events }, ACTOR)).events.map(({ id }) => id);
}

async function patchType({ d }: Plain, patch: Fields): Promise<void> {
  const type = await d.store.eventTypes.getByName(TYPE);
  await d.eventTypes.patch(type?.id ?? '', patch, ACTOR);
}

describe('the format standard', () => {
  it('sends one event a request with the payload and headers of Standard Webhooks', async (t) => {
    const p = await connected(t, { format: 'standard' });
    const ids = await publish(p, event(1), event(2));
    await p.d.start();
    const requests = [await p.next(), await p.next()];
    const seen = requests.map((request) => {
      assert.equal(request.headers['content-type'], 'application/json');
      const headers = request.headers as Record<string, string>;
      return [headers['webhook-id'], new StandardWebhook(SECRET).verify(request.body.toString(), headers)];
    });
    const at = new Date(p.d.clock()).toISOString();
    const wanted = ids.map((id, n) => [id, { type: TYPE, timestamp: at, data: { n: n + 1 } }]);
    assert.deepEqual(new Map(seen as [string, unknown][]), new Map(wanted as [string, unknown][]));
  });

  it('keeps the id of the event over attempts and replays', async (t) => {
    const p = await connected(t, { format: 'standard' });
    p.answer({ status: 500 });
    const [id] = await publish(p, event(1));
    await p.d.start();
    const first = await p.next();
    await until(
      'the retry',
      async () => (await p.d.rows("SELECT 1 FROM batch WHERE lease_owner IS NULL AND state = 'pending'")).length === 1,
    );
    p.answer({ status: 204 });
    p.d.advance(60_000);
    const second = await p.next();
    await until(
      'the delivery',
      async () => (await p.d.rows("SELECT 1 FROM batch WHERE state = 'delivered'")).length === 1,
    );
    await p.d.webhooks.replay(p.id, { since: '2020-01-01T00:00:00Z' }, ACTOR);
    const third = await p.next();
    assert.deepEqual(
      [first, second, third].map(({ headers }) => headers['webhook-id']),
      [id, id, id],
    );
  });
});

describe('the format cloudevents', () => {
  it('sends structured events with the source of their type, or the address of the service', async (t) => {
    const p = await connected(t, { format: 'cloudevents' });
    const [id] = await publish(p, event(1, { subject: 'order-17', correlationId: 'c1' }));
    await p.d.start();
    const request = await p.next();
    assert.equal(request.headers['content-type'], 'application/cloudevents+json');
    assert.deepEqual(json(request), {
      specversion: '1.0',
      id,
      source: TEST_URL,
      type: TYPE,
      subject: 'order-17',
      time: new Date(p.d.clock()).toISOString(),
      correlationid: 'c1',
      datacontenttype: 'application/json',
      data: { n: 1 },
    });
    await patchType(p, { source: '/erp/orders' });
    // Sources are kept for a second.
    p.d.advance(1000);
    await publish(p, event(2));
    assert.equal(json(await p.next()).source, '/erp/orders');
  });

  it('sends batches of up to maxBatchRecords events', async (t) => {
    const p = await connected(t, { format: 'cloudevents', batch: true, maxBatchRecords: 3 });
    const ids = await publish(p, ...[1, 2, 3, 4].map((n) => event(n)));
    await p.d.start();
    const requests = [await p.next(), await p.next()];
    const sizes = requests.map((request) => {
      assert.equal(request.headers['content-type'], 'application/cloudevents-batch+json');
      return json(request).map(({ id }: { id: string }) => id);
    });
    assert.deepEqual(
      sizes.toSorted((a, b) => b.length - a.length),
      [ids.slice(0, 3), ids.slice(3)],
    );
  });

  it('sends binary events, their attributes in headers', async (t) => {
    const p = await connected(t, { format: 'cloudevents-binary' });
    const [id] = await publish(p, event(1, { subject: 'Zoë', correlationId: 'c1' }));
    await p.d.start();
    const request = await p.next();
    assert.deepEqual(json(request), { n: 1 });
    const sent = Object.entries(request.headers).filter(([name]) => name.startsWith('ce-') || name === 'content-type');
    assert.deepEqual(Object.fromEntries(sent), {
      'content-type': 'application/json',
      'ce-specversion': '1.0',
      'ce-id': id,
      'ce-source': TEST_URL,
      'ce-type': TYPE,
      'ce-subject': 'Zo%C3%AB',
      'ce-time': new Date(p.d.clock()).toISOString(),
      'ce-correlationid': 'c1',
    });
  });

  it('is compressed and encrypted as records are', async (t) => {
    const { privateKey, publicKey } = await pgpKeyPair();
    for (const format of ['cloudevents', 'cloudevents-binary'] as const) {
      const p = await connected(t, { format }, { contentEncoding: 'gzip' });
      const key = await p.d.keys.create({ name: 'k', publicKey }, ACTOR);
      await publish(p, event(1));
      await p.d.start();
      const zipped = await p.next();
      assert.equal(zipped.headers['content-encoding'], 'gzip');
      const clear = JSON.parse(gunzipSync(zipped.body).toString());
      assert.deepEqual(format === 'cloudevents' ? clear.data : clear, { n: 1 });
      await p.d.webhooks.patch(p.id, { encryptionKeyName: key.name }, ACTOR);
      const [id] = await publish(p, event(1));
      const encrypted = await p.next();
      assert.equal(encrypted.headers['content-type'], 'application/octet-stream');
      assert.equal(encrypted.headers['ce-id'], format === 'cloudevents' ? undefined : id);
      const opened = await decryptBinary(encrypted.body, privateKey);
      assert.ok(opened.ok);
      const read = JSON.parse(gunzipSync(opened.bytes).toString());
      assert.deepEqual(
        format === 'cloudevents' ? [read.id, read.data] : read,
        format === 'cloudevents' ? [id, { n: 1 }] : clear,
      );
    }
  });

  it('makes large bodies in a thread', async (t) => {
    const p = await connected(t, { format: 'cloudevents' });
    const text = 'ä'.repeat(100_000);
    await publish(p, event(1, { data: { text } }));
    await p.d.start();
    const { data, source } = json(await p.next());
    assert.deepEqual([data, source], [{ text }, TEST_URL]);
  });
});

describe('thin bodies', () => {
  it('have a url in place of the data, where the event is read', async (t) => {
    for (const format of ['standard', 'cloudevents', 'cloudevents-binary'] as const) {
      const p = await connected(t, { format, thin: true });
      const [id = ''] = await publish(p, event(1, { subject: 's', correlationId: 'c1', actorId: 'a1' }));
      await p.d.start();
      const request = await p.next();
      const { data, url } =
        format === 'cloudevents-binary' ? { data: undefined, url: request.headers['ce-url'] } : json(request);
      assert.deepEqual([data, url], [undefined, `${TEST_URL}/services/api/x/edge/v1/events/${id}`]);
      const { bytes } = await p.d.readEvent(id);
      const { timestamp, ...read } = JSON.parse(Buffer.from(bytes).toString());
      assert.equal(timestamp, new Date(p.d.clock()).toISOString());
      assert.deepEqual(read, { id, type: TYPE, subject: 's', correlationId: 'c1', actorId: 'a1', data: { n: 1 } });
    }
  });
});

describe('a webhook whose format changes', () => {
  it('sends batches that were claimed before in the new format, one event a request', async (t) => {
    const p = await connected(t, { maxBatchRecords: 5 });
    p.answer({ status: 500 });
    const ids = await publish(p, ...[1, 2, 3, 4, 5].map((n) => event(n)));
    await p.d.start();
    assert.equal(json(await p.next()).records.length, 5);
    await until(
      'the retry',
      async () => (await p.d.rows("SELECT 1 FROM batch WHERE lease_owner IS NULL AND state = 'pending'")).length === 1,
    );
    p.answer({ status: 204 });
    await p.d.webhooks.patch(p.id, { format: 'cloudevents', maxBatchRecords: 1 }, ACTOR);
    p.d.advance(60_000);
    const came = new Set<string>();
    while (came.size < ids.length) came.add(json(await p.next()).id);
    assert.deepEqual([...came].toSorted(), ids);
    await until('the end', async () => (await p.d.rows("SELECT 1 FROM batch WHERE state <> 'delivered'")).length === 0);
    // The first request, and one for each event: halving makes no attempts.
    assert.equal((await p.d.rows('SELECT 1 FROM attempt')).length, 6);
  });
});

describe('a test', () => {
  it('is sent in the format of the webhook, and the sample says that it is one', async (t) => {
    const marks = { standard: (r: SeenRequest) => json(r).test, cloudevents: (r: SeenRequest) => json(r).test };
    for (const [format, markOf] of Object.entries(marks)) {
      const p = await connected(t, { format });
      const test = createTestDelivery(p.d);
      await test(p.id, ACTOR.actor);
      const own = await p.next();
      assert.deepEqual([json(own).type, markOf(own)], ['webhook.test', undefined]);
      await patchType(p, { sample: { n: 17 } });
      await test(p.id, ACTOR.actor, TYPE);
      const sample = await p.next();
      assert.deepEqual([json(sample).type, json(sample).data, markOf(sample)], [TYPE, { n: 17 }, true]);
    }
  });
});
