import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type CatchUpOptions, catchUp } from '../../src/receiver/index.ts';
import { succeeded } from '../support/client.ts';
import { numbers, type Orders, publishOrders, readableOrders } from '../support/readable-orders.ts';

/** A stopped webhook, and the options of a receiver that reads its records. */
async function prepare(t: TestContext) {
  const { admin, options: calls } = await readableOrders(t, 'push');
  const got: number[] = [];
  const kept: number[] = [];
  const options: CatchUpOptions<Orders> = {
    ...calls,
    onRecords: (records, throughOffset) => {
      got.push(...records.map(({ data }) => data.n));
      kept.push(throughOffset);
    },
  };
  return { admin, options, got, kept };
}

describe('catching up', () => {
  it('reads everything in order, once, and goes on where it was', async (t) => {
    const { admin, options, got, kept } = await prepare(t);
    assert.equal(await catchUp(options), -1);
    await publishOrders(admin, 0, 2500);
    assert.equal(await catchUp(options), 2499);
    assert.deepEqual(got, numbers(0, 2500));
    assert.deepEqual(kept, [999, 1999, 2499]);
    await publishOrders(admin, 2500, 2510);
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

  it('ends with what the program throws', async (t) => {
    const { admin, options } = await prepare(t);
    await publishOrders(admin, 0, 1);
    const full = new Error('the disk is full');
    const onRecords = (): never => {
      throw full;
    };
    await assert.rejects(catchUp({ ...options, onRecords }), full);
  });
});
