import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { CatchUpError, catchUp, type PullOptions, pull } from '../../src/receiver/index.ts';
import { pgpDecryption } from '../../src/receiver/pgp.ts';
import { type ApiClient, succeeded, tokenFor } from '../support/client.ts';
import { importKey, makeEventType, readWebhook, registerApplication } from '../support/journey.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { startService } from '../support/service.ts';

type Orders = { 'order.placed': { n: number } };
type Got = { readonly n: number; readonly messageId: string };

const DAY_MS = 24 * 3_600_000;

/** A webhook in mode pull, and the options of its reader. */
async function prepare(t: TestContext, webhook: Readonly<Record<string, unknown>> = {}) {
  const service = await startService(t);
  const { admin, url } = service;
  await makeEventType(admin, 'order.placed');
  const subscription = { name: 'orders', mode: 'pull', eventTypes: ['order.placed'] };
  const { id } = await succeeded<{ id: string }>(admin.post('webhooks', { ...subscription, ...webhook }));
  const { application, credentials } = await registerApplication(admin, ['records:read']);
  const options: PullOptions = { url, webhookId: id, token: () => tokenFor(url, credentials) };
  return { service, admin, id, application, options };
}

async function publish(admin: ApiClient, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += 1000) {
    const events = Array.from({ length: Math.min(1000, to - at) }, (_, n) => ({
      type: 'order.placed',
      data: { n: at + n },
    }));
    await succeeded(admin.post('events', { events }));
  }
}

/** Reads to the end. */
async function readAll(options: PullOptions): Promise<Got[]> {
  const got: Got[] = [];
  for await (const { records } of pull<Orders>(options))
    got.push(...records.map(({ data, messageId }) => ({ n: data.n, messageId })));
  return got;
}

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, n) => from + n);
const numbersOf = (got: readonly Got[]): number[] => got.map(({ n }) => n);

describe('a reader', () => {
  it('gets everything in order, once, and goes on where it was', async (t) => {
    const { admin, options } = await prepare(t);
    assert.deepEqual(await readAll(options), []);
    await publish(admin, 0, 2500);
    assert.deepEqual(numbersOf(await readAll({ ...options, limit: 1000 })), numbers(0, 2500));
    assert.deepEqual(await readAll(options), []);
    await publish(admin, 2500, 2510);
    assert.deepEqual(numbersOf(await readAll({ ...options, limit: 3 })), numbers(2500, 2510));
  });

  it('gets again what it did not acknowledge, with the same message ids', async (t) => {
    const { admin, options } = await prepare(t);
    await publish(admin, 0, 6);
    const first: Got[] = [];
    const processing = async (): Promise<void> => {
      for await (const { records } of pull<Orders>({ ...options, limit: 2 })) {
        first.push(...records.map(({ data, messageId }) => ({ n: data.n, messageId })));
        // Asking for these has acknowledged the ones before.
        if (first.length === 4) throw new Error('the process dies after its work');
      }
    };
    await assert.rejects(processing(), { message: 'the process dies after its work' });
    const again = await readAll(options);
    assert.deepEqual(numbersOf(again), [2, 3, 4, 5]);
    assert.deepEqual(again.slice(0, 2), first.slice(2));
  });

  it('acknowledges before it leaves the loop if it says so', async (t) => {
    const { admin, options } = await prepare(t);
    await publish(admin, 0, 4);
    for await (const { acknowledge, throughOffset } of pull<Orders>({ ...options, limit: 3 })) {
      await acknowledge();
      await acknowledge();
      assert.equal(throughOffset, 2);
      break;
    }
    assert.deepEqual(numbersOf(await readAll(options)), [3]);
  });

  it('shares a webhook with another one: each record is processed, and nobody ends', async (t) => {
    const { admin, options } = await prepare(t);
    await publish(admin, 0, 40);
    const slow = pull<Orders>({ ...options, limit: 7 });
    const begun = await slow.next();
    assert.ok(begun.done === false);
    const first = begun.value.records.map(({ data }) => data.n);
    const fast = await readAll({ ...options, limit: 10 });
    assert.deepEqual(numbersOf(fast), numbers(0, 40));
    assert.deepEqual(first, numbers(0, 7));
    // The slow one is behind: its acknowledgement is passed over, and nothing is left for it.
    assert.deepEqual(await slow.next(), { done: true, value: undefined });
    const [one, other] = await Promise.all([
      publish(admin, 40, 80).then(() => readAll({ ...options, limit: 3 })),
      publish(admin, 80, 120).then(() => readAll({ ...options, limit: 5 })),
    ]);
    const both = [...one, ...other, ...(await readAll(options))];
    assert.deepEqual(
      [...new Set(numbersOf(both))].sort((a, b) => a - b),
      numbers(40, 120),
    );
  });

  it('passes over erased records, also if there is nothing else', async (t) => {
    const { admin, id, options } = await prepare(t);
    const about = (n: number, subject: string) => ({ type: 'order.placed', data: { n }, subject });
    await succeeded(admin.post('events', { events: [about(0, 'a'), about(1, 'a'), about(2, 'b'), about(3, 'a')] }));
    await succeeded(admin.post('events/erase', { subject: 'a' }));
    assert.deepEqual(numbersOf(await readAll({ ...options, limit: 2 })), [2]);
    const { acknowledgedOffset } = await succeeded<{ acknowledgedOffset: number }>(admin.get(`webhooks/${id}/records`));
    assert.equal(acknowledgedOffset, 3);
  });

  it('decrypts with the key of the webhook', async (t) => {
    const { publicKey, privateKey } = await pgpKeyPair();
    const { admin, id, options } = await prepare(t);
    await importKey(admin, 'customer', publicKey);
    await succeeded(admin.patch(`webhooks/${id}`, { encryptionKeyName: 'customer' }));
    await publish(admin, 0, 3);
    await assert.rejects(readAll(options), { name: 'CatchUpError', status: null, message: /^no_decryption/ });
    const got = await readAll({ ...options, decrypt: pgpDecryption({ customer: { privateKey } }) });
    assert.deepEqual(numbersOf(got), [0, 1, 2]);
  });

  it('asks for another token when one has ended, and repeats calls that failed for the moment', async (t) => {
    const { admin, application, options } = await prepare(t);
    await publish(admin, 0, 20);
    const unavailable = (status: number) => () =>
      Promise.resolve(new Response('', { status, headers: { 'retry-after': '0' } }));
    const faults = [() => Promise.reject(new TypeError('fetch failed')), unavailable(503), unavailable(429)];
    let tokens = 0;
    const methods: string[] = [];
    const got: number[] = [];
    const reading = pull<Orders>({
      ...options,
      limit: 10,
      token: () => {
        tokens += 1;
        return options.token();
      },
      fetch: (input, init) => {
        methods.push(init?.method ?? 'GET');
        // The acknowledgement fails too.
        return (init?.method === 'POST' || methods.length === 1 ? faults.shift()?.() : undefined) ?? fetch(input, init);
      },
    });
    for await (const { records } of reading) {
      got.push(...records.map(({ data }) => data.n));
      if (got.length === 10) await succeeded(admin.post(`applications/${application.id}/revoke-tokens`, {}));
    }
    assert.deepEqual(got, numbers(0, 20));
    assert.equal(tokens, 2);
    // One read and two acknowledgements failed, and one acknowledgement had a token that was revoked.
    assert.deepEqual(methods, ['GET', 'GET', 'POST', 'POST', 'POST', 'POST', 'GET', 'POST']);
  });

  it('ends with the refusal of the sender', async (t) => {
    const { admin, id, options } = await prepare(t);
    await publish(admin, 0, 1);
    await assert.rejects(readAll({ ...options, token: () => 'spt_wrong' }), { name: 'CatchUpError', status: 401 });
    await succeeded(admin.post(`webhooks/${id}/stop`));
    await assert.rejects(readAll(options), (error) => error instanceof CatchUpError && error.status === 409);
    const { id: endpointId } = await succeeded<{ id: string }>(
      admin.post('endpoints', { name: 'receiver', url: 'https://receiver.example/' }),
    );
    const sent = { name: 'sent', endpointId, eventTypes: ['order.placed'] };
    const push = await succeeded<{ id: string }>(admin.post('webhooks', sent));
    await assert.rejects(readAll({ ...options, webhookId: push.id }), { message: /is in mode push/ });
    assert.equal((await readWebhook(admin, push)).state, 'stopped');
  });

  it('follows new records until it is ended', async (t) => {
    const { admin, options } = await prepare(t);
    const ending = new AbortController();
    const got: number[] = [];
    const following = async (): Promise<void> => {
      for await (const { records } of pull<Orders>({ ...options, follow: true, signal: ending.signal })) {
        got.push(...records.map(({ data }) => data.n));
        if (got.length < 5) await publish(admin, got.length, got.length + 1);
        else ending.abort(new Error('enough'));
      }
    };
    const followed = following();
    await publish(admin, 0, 1);
    await assert.rejects(followed, { message: 'enough' });
    assert.deepEqual(got, [0, 1, 2, 3, 4]);
    // What it was processing when it ended is not acknowledged.
    assert.deepEqual(numbersOf(await readAll(options)), [4]);
  });
});

describe('a receiver that was away for a week', () => {
  it('gets everything in order, once, in both modes', async (t) => {
    const { service, admin: before, options } = await prepare(t);
    const { id: endpointId } = await succeeded<{ id: string }>(
      before.post('endpoints', { name: 'receiver', url: 'https://receiver.example/' }),
    );
    const sent = { name: 'sent', endpointId, eventTypes: ['order.placed'] };
    const push = await succeeded<{ id: string }>(before.post('webhooks', sent));
    const caughtUp: number[] = [];
    const catchUpFrom = (after: number): Promise<number> =>
      catchUp<Orders>({
        ...options,
        webhookId: push.id,
        after,
        onRecords: (records) => void caughtUp.push(...records.map(({ data }) => data.n)),
      });
    await publish(before, 0, 10);
    const pulled = numbersOf(await readAll(options));
    let last = await catchUpFrom(-1);
    for (let day = 0; day < 7; day += 1) {
      service.advance(DAY_MS);
      await publish(await service.signIn(), 10 + day * 300, 10 + (day + 1) * 300);
    }
    pulled.push(...numbersOf(await readAll(options)));
    last = await catchUpFrom(last);
    assert.equal(last, 2109);
    assert.deepEqual(pulled, numbers(0, 2110));
    assert.deepEqual(caughtUp, numbers(0, 2110));
  });
});
