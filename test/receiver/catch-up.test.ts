import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createCalls } from '../../src/receiver/calls.ts';
import { CatchUpError, type CatchUpOptions, catchUp } from '../../src/receiver/index.ts';
import { pgpDecryption } from '../../src/receiver/pgp.ts';
import { type ApiClient, succeeded, tokenFor } from '../support/client.ts';
import { importKey, makeEventType, registerApplication } from '../support/journey.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { startService } from '../support/service.ts';

type Orders = { 'order.placed': { n: number } };

/** A stopped webhook, and the options of a receiver that reads its records. */
async function prepare(t: TestContext, webhook: Readonly<Record<string, unknown>> = {}) {
  const { admin, url } = await startService(t);
  await makeEventType(admin, 'order.placed');
  const receiver = await succeeded<{ id: string }>(
    admin.post('endpoints', { name: 'receiver', url: 'https://receiver.example/' }),
  );
  const subscription = { name: 'orders', endpointId: receiver.id, eventTypes: ['order.placed'] };
  const { id } = await succeeded<{ id: string }>(admin.post('webhooks', { ...subscription, ...webhook }));
  const { application, credentials } = await registerApplication(admin, ['records:read']);
  const got: number[] = [];
  const kept: number[] = [];
  const options: CatchUpOptions<Orders> = {
    url,
    webhookId: id,
    token: () => tokenFor(url, credentials),
    onRecords: (records, throughOffset) => {
      got.push(...records.map(({ data }) => data.n));
      kept.push(throughOffset);
    },
  };
  return { admin, id, application, options, got, kept };
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

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, n) => from + n);

describe('catching up', () => {
  it('reads everything in order, once, and goes on where it was', async (t) => {
    const { admin, options, got, kept } = await prepare(t);
    assert.equal(await catchUp(options), -1);
    await publish(admin, 0, 2500);
    assert.equal(await catchUp(options), 2499);
    assert.deepEqual(got, numbers(0, 2500));
    assert.deepEqual(kept, [999, 1999, 2499]);
    await publish(admin, 2500, 2510);
    assert.equal(await catchUp({ ...options, after: 2499 }), 2509);
    assert.deepEqual(got, numbers(0, 2510));
  });

  it('passes over erased records', async (t) => {
    const { admin, options, got } = await prepare(t);
    const about = (n: number, subject: string) => ({ type: 'order.placed', data: { n }, subject });
    await succeeded(admin.post('events', { events: [about(0, 'a'), about(1, 'b'), about(2, 'a'), about(3, 'a')] }));
    await succeeded(admin.post('events/erase', { subject: 'a' }));
    assert.equal(await catchUp(options), 3);
    assert.deepEqual(got, [1]);
  });

  it('decrypts with the key of the webhook, and says what it lacks', async (t) => {
    const { publicKey, privateKey } = await pgpKeyPair();
    const { admin, id, options, got } = await prepare(t);
    await importKey(admin, 'customer', publicKey);
    await succeeded(admin.patch(`webhooks/${id}`, { encryptionKeyName: 'customer' }));
    await publish(admin, 0, 3);
    await assert.rejects(catchUp(options), { name: 'CatchUpError', status: null, message: /^no_decryption/ });
    await catchUp({ ...options, decrypt: pgpDecryption({ customer: { privateKey } }) });
    assert.deepEqual(got, [0, 1, 2]);
  });

  it('asks for another token when one has ended, and repeats reads that failed for the moment', async (t) => {
    const { admin, application, options, got } = await prepare(t);
    await publish(admin, 0, 1500);
    const faults = [
      () => Promise.reject(new TypeError('fetch failed')),
      () => Promise.resolve(new Response('', { status: 503, headers: { 'retry-after': '0' } })),
    ];
    let tokens = 0;
    await catchUp<Orders>({
      ...options,
      token: () => {
        tokens += 1;
        return options.token();
      },
      onRecords: async (records, through) => {
        await options.onRecords(records, through);
        if (through === 999) await succeeded(admin.post(`applications/${application.id}/revoke-tokens`, {}));
      },
      fetch: (...request) => faults.shift()?.() ?? fetch(...request),
    });
    assert.deepEqual(got, numbers(0, 1500));
    assert.equal(tokens, 2);
  });

  it('waits as long as the sender asks, in seconds or until a date, but not longer than its own longest pause', async (t) => {
    const now = Date.parse('2026-11-21T05:00:00Z');
    t.mock.timers.enable({ apis: ['Date'], now });
    const pauses: unknown[] = [];
    t.mock.method(globalThis, 'setTimeout', (resume: () => void, ms: unknown) => {
      pauses.push(ms);
      queueMicrotask(resume);
    });
    const cases: readonly (readonly [header: string | null, pauseMs: number])[] = [
      ['2', 2000],
      ['86400', 30_000],
      ['9'.repeat(400), 30_000],
      ['Sat, 21 Nov 2026 05:00:20 GMT', 20_000],
      ['Saturday, 21-Nov-26 05:00:20 GMT', 20_000],
      ['Sat Nov 21 05:00:20 2026', 20_000],
      ['Sat, 21 Nov 2026 06:00:00 GMT', 30_000],
      ['Sat, 21 Nov 2026 04:00:00 GMT', 500],
      ...[null, '', '0', '-1', '1.5', '0x10', 'soon', '2099-01-01', 'Sat, 99 Nov 2026 06:00:00 GMT'].map(
        (header) => [header, 500] as const,
      ),
    ];
    for (const [header, pauseMs] of cases) {
      const headers = header === null ? {} : { 'retry-after': header };
      const answers = [new Response('', { status: 503, headers }), new Response('')];
      const fetch = () => Promise.resolve(answers.shift() ?? assert.fail());
      const options = { url: 'https://sender.example/', webhookId: 'w', token: () => 'spt_token', fetch };
      await createCalls(options).acknowledge(0);
      assert.equal(pauses.pop(), pauseMs, `${header}`);
    }
    assert.deepEqual(pauses, []);
  });

  it('counts no failure for a call whose token had ended', async () => {
    const statuses = [200, 401, 503, 200];
    const options = {
      url: 'https://sender.example/',
      webhookId: 'w',
      token: () => 'spt_token',
      fetch: () => Promise.resolve(new Response('', { status: statuses.shift() ?? 500 })),
    };
    const calls = createCalls(options, 2);
    await calls.acknowledge(0);
    await calls.acknowledge(1);
    assert.deepEqual(statuses, []);
  });

  it('ends with the refusal of the sender, and with what the program throws', async (t) => {
    const { admin, options } = await prepare(t);
    await publish(admin, 0, 1);
    await assert.rejects(catchUp({ ...options, token: () => 'spt_wrong' }), { name: 'CatchUpError', status: 401 });
    const unknown = { ...options, webhookId: '0193a1f0-0000-7000-8000-000000000000' };
    await assert.rejects(catchUp(unknown), (error) => error instanceof CatchUpError && error.status === 404);
    const full = new Error('the disk is full');
    const onRecords = (): never => {
      throw full;
    };
    await assert.rejects(catchUp({ ...options, onRecords }), full);
  });

  it('follows new records until it is ended', async (t) => {
    const { admin, options, got } = await prepare(t);
    const ending = new AbortController();
    const follows = catchUp<Orders>({
      ...options,
      follow: true,
      signal: ending.signal,
      onRecords: async (records, through) => {
        await options.onRecords(records, through);
        if (through < 4) await publish(admin, through + 1, through + 2);
        else ending.abort(new Error('enough'));
      },
    });
    await publish(admin, 0, 1);
    await assert.rejects(follows, { message: 'enough' });
    assert.deepEqual(got, [0, 1, 2, 3, 4]);
  });
});
