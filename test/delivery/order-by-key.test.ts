/** `ordered: "key"`: the order of each key, at a real receiver and on both databases. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ReceivedRecord } from '../../src/wire/envelope.ts';
import { type Dispatching, isDrained, offsets, openDispatching, TYPE, until } from '../support/dispatching.ts';
import type { ReceivingEndpoint } from '../support/receiver.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR } from '../support/services.ts';

repeats('postgres');

const BY_KEY = { ordered: 'key', maxBatchRecords: 1 } as const;

/** Publishes an event for each key, in one request; null: without a key. */
async function publish({ publish }: Dispatching, keys: readonly (string | null)[]): Promise<void> {
  for (let from = 0; from < keys.length; from += 1000) {
    const events = keys.slice(from, from + 1000).map((orderingKey) => ({
      type: TYPE,
      data: { key: orderingKey },
      ...(orderingKey === null ? {} : { orderingKey }),
    }));
    await publish({ events }, ACTOR);
  }
}

const keyOf = ({ data }: Pick<ReceivedRecord, 'data'>): string | null => (data as { readonly key: string | null }).key;

/** The arrived events of each key, in order. */
function byKey(at: ReceivingEndpoint): ReadonlyMap<string | null, readonly number[]> {
  const found = new Map<string | null, number[]>();
  for (const { records } of at.deliveries)
    for (const record of records) {
      const list = found.get(keyOf(record)) ?? [];
      found.set(keyOf(record), list);
      list.push(record.offset);
    }
  return found;
}

function assertOrdered(at: ReceivingEndpoint): void {
  for (const [key, found] of byKey(at)) {
    if (key === null) continue;
    assert.deepEqual(
      found.filter((offset, n) => n === 0 || offset !== found[n - 1]),
      [...new Set(found)].toSorted((one, other) => one - other),
      `the order of ${key}`,
    );
  }
}

describe('order by key', () => {
  it('sends the records of a key one after another, and those of others at the same time', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: BY_KEY });
    const underWay = new Set<string | null>();
    let most = 0;
    at.answer(async ({ records }) => {
      const key = keyOf(records[0] ?? assert.fail());
      assert.ok(!underWay.has(key), `two requests of ${key}`);
      underWay.add(key);
      most = Math.max(most, underWay.size);
      await new Promise((resolve) => setTimeout(resolve, 2));
      underWay.delete(key);
      return { status: 200 };
    });
    await publish(
      d,
      Array.from({ length: 60 }, (_, n) => `key-${n % 6}`),
    );
    await d.start();
    await until('the end', () => isDrained(d));
    assert.equal(at.deliveries.length, 60);
    assertOrdered(at);
    assert.ok(most > 1, 'keys share nothing');
  });

  for (const maxBatchRecords of [1, 5])
    it(`holds back only the records of a failing key, with batches of ${maxBatchRecords}`, async (t) => {
      const d = await openDispatching(t);
      const { at } = await d.connect({ webhook: { ...BY_KEY, maxBatchRecords } });
      let isFailing = true;
      at.answer(({ records }) => ({
        status: isFailing && records.some((record) => keyOf(record) === 'bad') ? 500 : 200,
      }));
      const keys = Array.from({ length: 40 }, (_, n) => (n % 4 === 1 ? 'bad' : `key-${n % 7}`));
      await publish(d, keys);
      await d.start();
      const good = keys.filter((key) => key !== 'bad').length;
      await until('the others', async () => {
        d.advance(1000);
        const [row] = await d.rows(
          "SELECT coalesce(sum(last_offset - first_offset + 1), 0) AS n FROM batch WHERE state = 'delivered'",
        );
        return Number(row?.n) === good;
      });
      isFailing = false;
      await until('the end', async () => {
        d.advance(10_000);
        return isDrained(d);
      });
      assert.deepEqual(
        [...new Set(offsets(at))].toSorted((one, other) => one - other),
        keys.map((_, n) => n),
      );
      const delivered = at.deliveries.flatMap(({ records }) => records.map(({ offset }) => offset));
      const bad = delivered
        .filter((offset) => keys[offset] === 'bad')
        .filter((offset, n, all) => all.indexOf(offset) === n);
      assert.deepEqual(
        bad,
        bad.toSorted((one, other) => one - other),
      );
    });

  it('goes on with a key after its dead record', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: { ...BY_KEY, retry: { policy: 'exponential', maxAttempts: 1 } } });
    at.answer(({ records }) => ({ status: records[0]?.offset === 0 ? 422 : 200 }));
    await publish(d, ['a', 'a', 'a', 'b']);
    await d.start();
    await until('the end', () => isDrained(d));
    assertOrdered(at);
    const states = await d.rows('SELECT first_offset, state FROM batch ORDER BY first_offset');
    assert.deepEqual(
      states.map(({ state }) => state),
      ['dead', 'delivered', 'delivered', 'delivered'],
    );
  });

  it('keeps the order over a crash, a replay and a change of the order', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: { ...BY_KEY, maxBatchRecords: 3 } });
    let isFailing = true;
    at.answer(() => ({ status: isFailing ? 500 : 200 }));
    const keys = Array.from({ length: 30 }, (_, n) => (n % 10 === 0 ? null : `key-${n % 3}`));
    await publish(d, keys);
    const first = await d.start();
    await at.next();
    await at.next();
    await first.stop();
    isFailing = false;
    const second = await d.start();
    await until('the end', async () => {
      d.advance(30_000);
      return isDrained(d);
    });
    await second.stop();
    const before = at.deliveries.length;
    await d.webhooks.replay(webhook.id, { states: ['delivered'] }, ACTOR);
    const third = await d.start();
    await until('the replay', () => isDrained(d));
    const replayed = at.deliveries.slice(before).flatMap(({ records }) => records);
    assert.equal(replayed.length, 30);
    for (const key of ['key-0', 'key-1', 'key-2']) {
      const found = replayed.filter((record) => keyOf(record) === key).map(({ offset }) => offset);
      assert.deepEqual(
        found,
        found.toSorted((one, other) => one - other),
      );
    }
    isFailing = true;
    await publish(d, keys);
    await until('a failure', async () => (await d.rows("SELECT 1 FROM batch WHERE state = 'pending'")).length > 0);
    await d.webhooks.patch(webhook.id, { ordered: false }, ACTOR);
    isFailing = false;
    await until('the end without an order', async () => {
      d.advance(30_000);
      return isDrained(d);
    });
    await third.stop();
    assert.deepEqual(await d.rows("SELECT 1 FROM batch WHERE state = 'pending'"), []);
  });

  it('sends rows that waited for their keys under another order, however they came to be', async (t) => {
    for (const ordered of [false, true]) {
      const d = await openDispatching(t);
      const { at } = await d.connect({ webhook: { ordered, maxBatchRecords: 1 } });
      at.answer(() => ({ status: 500 }));
      await publish(d, ['order-1']);
      const first = await d.start();
      await at.next();
      await first.stop();
      await d.database.commit([{ sql: "UPDATE batch SET next_attempt_at = NULL, order_key = 'order-1'", params: {} }]);
      at.answer(() => ({ status: 200 }));
      d.advance(60_000);
      const second = await d.start();
      await until('the row', () => isDrained(d));
      await second.stop();
    }
  });

  it('names the keys that wait, gives up the records of one, and sends its records again', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: BY_KEY });
    let isFailing = true;
    at.answer(({ records }) => ({
      status: isFailing && records.some((record) => keyOf(record) === 'order-17') ? 500 : 200,
    }));
    await publish(
      d,
      Array.from({ length: 12 }, (_, n) => (n % 3 === 0 ? 'order-17' : `order-${n}`)),
    );
    await d.start();
    const { keyOrder } = d.webhooks;
    const waiting = () => keyOrder.waitingKeys(webhook.id, { cursor: null, limit: 10 });
    await until('the rows of the key', async () => (await waiting()).items[0]?.waitingRecords === 4);
    const { items, nextCursor } = await waiting();
    assert.equal(nextCursor, null);
    assert.deepEqual(
      items.map(({ orderingKey, firstOffset, responseStatus }) => [orderingKey, firstOffset, responseStatus]),
      [['order-17', 0, 500]],
    );
    assert.ok((items[0]?.attemptCount ?? 0) >= 1);
    await until('the others', async () => (await d.rows("SELECT 1 FROM batch WHERE state = 'delivered'")).length === 8);
    assert.deepEqual(await keyOrder.giveUp(webhook.id, { orderingKey: 'order-17' }, ACTOR), { givenUp: 4 });
    assert.deepEqual((await waiting()).items, []);
    assert.deepEqual(await d.rows('SELECT pending_records FROM webhook_position'), [{ pending_records: 0 }]);
    isFailing = false;
    await publish(d, ['order-17', 'order-18']);
    await until('the later records', async () => isDrained(d));
    const replay = { orderingKey: 'order-17', states: ['dead', 'delivered'] as const };
    assert.equal(await d.deliveries.countReplay(webhook.id, { ...replay, states: [...replay.states] }), 5);
    const before = at.deliveries.length;
    assert.deepEqual(await d.webhooks.replay(webhook.id, { orderingKey: 'order-17' }, ACTOR), { replayed: 4 });
    await until('the replay', () => isDrained(d));
    const again = at.deliveries.slice(before).flatMap(({ records }) => records.map(({ offset }) => offset));
    assert.deepEqual(again, [0, 3, 6, 9]);
    const [entry] = await d.store.audit.list(null, 1, { exactAction: 'webhook.give-up' });
    assert.deepEqual(entry?.changes, { orderingKey: { from: 'order-17', to: null } });
  });

  it('has no keys that wait if the webhook keeps no order by key', async (t) => {
    const d = await openDispatching(t);
    const { webhook } = await d.connect({ webhook: { ordered: true } });
    const { keyOrder } = d.webhooks;
    await refused(() => keyOrder.waitingKeys(webhook.id, { cursor: null, limit: 1 }), { code: 'invalid_state' });
    await refused(() => keyOrder.giveUp(webhook.id, { orderingKey: 'k' }, ACTOR), { code: 'invalid_state' });
  });
});
