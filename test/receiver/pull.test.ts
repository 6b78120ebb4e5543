import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CatchUpError, catchUp, type PullOptions, pull } from '../../src/receiver/index.ts';
import { succeeded } from '../support/client.ts';
import { readWebhook } from '../support/journey.ts';
import { numbers, type Orders, publishOrders, pushWebhook, readableOrders } from '../support/readable-orders.ts';

type Got = { readonly n: number; readonly messageId: string };

const DAY_MS = 24 * 3_600_000;

/** Reads to the end. */
async function readAll(options: PullOptions): Promise<Got[]> {
  const got: Got[] = [];
  for await (const { records } of pull<Orders>(options))
    got.push(...records.map(({ data, messageId }) => ({ n: data.n, messageId })));
  return got;
}

const numbersOf = (got: readonly Got[]): number[] => got.map(({ n }) => n);

describe('a reader', () => {
  it('gets everything in order, once, and goes on where it was', async (t) => {
    const { admin, options } = await readableOrders(t, 'pull');
    assert.deepEqual(await readAll(options), []);
    await publishOrders(admin, 0, 2500);
    assert.deepEqual(numbersOf(await readAll({ ...options, limit: 1000 })), numbers(0, 2500));
    assert.deepEqual(await readAll(options), []);
    await publishOrders(admin, 2500, 2510);
    assert.deepEqual(numbersOf(await readAll({ ...options, limit: 3 })), numbers(2500, 2510));
  });

  it('gets again what it did not acknowledge, with the same message ids', async (t) => {
    const { admin, options } = await readableOrders(t, 'pull');
    await publishOrders(admin, 0, 6);
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
    const { admin, options } = await readableOrders(t, 'pull');
    await publishOrders(admin, 0, 4);
    for await (const { acknowledge, throughOffset } of pull<Orders>({ ...options, limit: 3 })) {
      await acknowledge();
      await acknowledge();
      assert.equal(throughOffset, 2);
      break;
    }
    assert.deepEqual(numbersOf(await readAll(options)), [3]);
  });

  it('shares a webhook with another one: each record is processed, and nobody ends', async (t) => {
    const { admin, options } = await readableOrders(t, 'pull');
    await publishOrders(admin, 0, 40);
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
      publishOrders(admin, 40, 80).then(() => readAll({ ...options, limit: 3 })),
      publishOrders(admin, 80, 120).then(() => readAll({ ...options, limit: 5 })),
    ]);
    const both = [...one, ...other, ...(await readAll(options))];
    assert.deepEqual(
      [...new Set(numbersOf(both))].sort((a, b) => a - b),
      numbers(40, 120),
    );
  });

  it('passes over erased records, also if there is nothing else', async (t) => {
    const { admin, id, options } = await readableOrders(t, 'pull');
    const about = (n: number, subject: string) => ({ type: 'order.placed', data: { n }, subject });
    await succeeded(admin.post('events', { events: [about(0, 'a'), about(1, 'a'), about(2, 'b'), about(3, 'a')] }));
    await succeeded(admin.post('events/erase', { subject: 'a' }));
    assert.deepEqual(numbersOf(await readAll({ ...options, limit: 2 })), [2]);
    const { acknowledgedOffset } = await succeeded<{ acknowledgedOffset: number }>(admin.get(`webhooks/${id}/records`));
    assert.equal(acknowledgedOffset, 3);
  });

  it('ends with the refusal of a stopped webhook, and of one in mode push', async (t) => {
    const { admin, id, options } = await readableOrders(t, 'pull');
    await publishOrders(admin, 0, 1);
    await succeeded(admin.post(`webhooks/${id}/stop`));
    await assert.rejects(readAll(options), (error) => error instanceof CatchUpError && error.status === 409);
    const push = await pushWebhook(admin);
    await assert.rejects(readAll({ ...options, webhookId: push }), { message: /is in mode push/ });
    assert.equal((await readWebhook(admin, { id: push })).state, 'stopped');
  });
});

describe('a receiver that was away for a week', () => {
  it('gets everything in order, once, in both modes', async (t) => {
    const { service, admin: before, options } = await readableOrders(t, 'pull');
    const push = await pushWebhook(before);
    const caughtUp: number[] = [];
    const catchUpFrom = (after: number): Promise<number> =>
      catchUp<Orders>({
        ...options,
        webhookId: push,
        after,
        onRecords: (records) => void caughtUp.push(...records.map(({ data }) => data.n)),
      });
    await publishOrders(before, 0, 10);
    const pulled = numbersOf(await readAll(options));
    let last = await catchUpFrom(-1);
    for (let day = 0; day < 7; day += 1) {
      service.advance(DAY_MS);
      await publishOrders(await service.signIn(), 10 + day * 300, 10 + (day + 1) * 300);
    }
    pulled.push(...numbersOf(await readAll(options)));
    last = await catchUpFrom(last);
    assert.equal(last, 2109);
    assert.deepEqual(pulled, numbers(0, 2110));
    assert.deepEqual(caughtUp, numbers(0, 2110));
  });
});
