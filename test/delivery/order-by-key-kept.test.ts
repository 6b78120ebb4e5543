/** Order by key beside what else changes records: erasure, retention and a page of keys, on both databases. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Erasure } from '../../src/store/port/events.ts';
import {
  type Connected,
  type Dispatching,
  isDrained,
  openDispatching,
  TYPE,
  until,
  watchDeliveries,
} from '../support/dispatching.ts';
import { count, DAY_MS, housekeepingFor } from '../support/housekeeping.ts';
import { openClient } from '../support/postgres.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR } from '../support/services.ts';
import { execute, onPostgres } from '../support/store.ts';

repeats('postgres');

const HOUR_MS = 3_600_000;
/** A failed record waits for an hour. */
const LATER = { policy: 'schedule', delaysSeconds: Array.from({ length: 50 }, () => 3600) } as const;
const BY_KEY = { ordered: 'key', maxBatchRecords: 1, retry: LATER } as const;

type Event = { readonly key: string; readonly subject?: string };

async function publish({ publish }: Dispatching, events: readonly Event[]): Promise<void> {
  const asked = events.map(({ key: orderingKey, ...more }, n) => ({ type: TYPE, data: { n }, orderingKey, ...more }));
  await publish({ events: asked }, ACTOR);
}

const statesOf = async ({ deliveries }: Dispatching, { webhook }: Connected): Promise<string[]> =>
  (await deliveries.list({ webhookId: webhook.id }, null, 200)).items.map(({ state }) => state).toReversed();

/** How many rows, or on SQLite how many places of the files, have the text. */
async function kept({ database, path }: Dispatching, text: string): Promise<number> {
  if (onPostgres) {
    const found = await database.get(
      `SELECT (SELECT count(*) FROM event WHERE ordering_key = @text) + (SELECT count(*) FROM batch WHERE order_key = @text) AS n`,
      { text },
    );
    return Number(found?.n);
  }
  const files = [path, `${path}-wal`].filter((file) => existsSync(file));
  return files.reduce((sum, file) => sum + readFileSync(file).toString('latin1').split(text).length - 1, 0);
}

async function waitingRows(d: Dispatching, records: number): Promise<void> {
  await until('the rows that wait', async () => (await count(d, 'batch', "order_key <> ''")) === records);
}

describe('order by key', () => {
  for (const maxBatchRecords of [1, 5])
    it(`goes on when the first records of a key are erased, with batches of ${maxBatchRecords}, and keeps no key of theirs`, async (t) => {
      const d = await openDispatching(t);
      const connected = await d.connect({ webhook: { ...BY_KEY, maxBatchRecords } });
      const { at } = connected;
      let isFailing = true;
      at.answer(() => ({ status: isFailing ? 503 : 200 }));
      const key = 'order-of-jane-doe';
      await publish(d, [
        { key, subject: 'jane' },
        { key, subject: 'jane' },
        { key: 'order-18', subject: 'jane' },
        { key: 'order-18', subject: 'john' },
        { key: 'order-18', subject: 'john' },
      ]);
      const watched = watchDeliveries(d);
      const dispatcher = await d.start(watched.options);
      await until('every record in a row', async () => {
        d.advance(1000);
        const [row] = await d.rows("SELECT sum(last_offset - first_offset + 1) AS n FROM batch WHERE order_key <> ''");
        return Number(row?.n) === 5;
      });
      await until('the attempts in progress', async () => (await count(d, 'batch', 'lease_owner IS NOT NULL')) === 0);
      const attempts = at.deliveries.length;
      assert.ok((await kept(d, key)) > 0);
      isFailing = false;
      const { events, deliveriesDiscarded } = await d.erasures.erase({ subject: 'jane' }, ACTOR);
      assert.deepEqual([events, deliveriesDiscarded], [3, 3]);
      assert.equal(await kept(d, key), 0);
      assert.equal(await count(d, 'event', "ordering_key = 'order-18'"), 2);
      // A request in progress would be an hour old for its receiver.
      await watched.everythingIsSent();
      d.advance(HOUR_MS);
      await until('the end', () => isDrained(d));
      await dispatcher.stop();
      assert.deepEqual(await statesOf(d, connected), ['discarded', 'discarded', 'discarded', 'delivered', 'delivered']);
      const sent = at.deliveries.slice(attempts).flatMap(({ records }) => records.map(({ offset }) => offset));
      assert.deepEqual(sent, [3, 4]);
      assert.deepEqual(await d.rows('SELECT pending_records FROM webhook_position'), [{ pending_records: 0 }]);
    });

  it('gives no key to a row that is written after the erasure', async (t) => {
    const d = await openDispatching(t);
    const connected = await d.connect({ webhook: BY_KEY });
    const { at, number } = connected;
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
    await d.publishMany(1);
    const dispatcher = await d.start();
    await until('the first attempt, before which one request is sent at a time', () => isDrained(d));
    at.answer(async () => {
      await mayAnswer;
      return { status: 200 };
    });
    await publish(d, [{ key: 'order-17', subject: 'john' }]);
    await at.next();
    await at.next();
    await publish(d, [
      { key: 'order-17', subject: 'jane' },
      { key: 'order-17', subject: 'jane' },
      { key: 'order-18', subject: 'jack' },
      { key: 'order-17', subject: 'jack' },
    ]);
    await at.next();
    assert.equal(await count(d, 'batch', 'first_offset > 1'), 0);
    await d.erasures.erase({ subject: 'jane' }, ACTOR);
    await until('the records of Jane', async () => {
      d.advance(1000);
      assert.equal(await count(d, 'batch', "first_offset IN (2, 3) AND order_key <> ''"), 0);
      const [row] = await d.rows(`
        SELECT sum(last_offset - first_offset + 1) AS n FROM batch WHERE first_offset IN (2, 3) AND state = 'discarded'`);
      return Number(row?.n) === 2;
    });
    assert.deepEqual(await statesOf(d, connected), [
      'delivered',
      'pending',
      'discarded',
      'discarded',
      'pending',
      'pending',
    ]);
    answer();
    await until('the end', () => isDrained(d));
    await dispatcher.stop();
    assert.deepEqual(await statesOf(d, connected), [
      'delivered',
      'delivered',
      'discarded',
      'discarded',
      'delivered',
      'delivered',
    ]);
    assert.deepEqual(await d.rows(`SELECT pending_records FROM webhook_position WHERE webhook_number = ${number}`), [
      { pending_records: 0 },
    ]);
  });

  it('discards a row that got its key while the events were overwritten', async (t) => {
    const d = await openDispatching(t);
    const { number } = await d.connect({ webhook: BY_KEY });
    await publish(d, [
      { key: 'order-17', subject: 'jane' },
      { key: 'order-18', subject: 'jack' },
    ]);
    const { erasures } = d.store;
    const erasure = { id: d.ids.uuid(), subject: 'jane', actor: 'service', startedAt: d.clock() };
    await erasures.begin(erasure, d.entry());
    const begun = async (): Promise<Erasure> => (await erasures.get(erasure.id)) ?? assert.fail();
    const insert = `
      INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, order_key)
      VALUES (${number}, 0, 0, 'a', 'pending', 0, 0, 'order-17'), (${number}, 1, 1, 'b', 'pending', 0, 0, 'order-18')`;
    let discarding: Promise<unknown>;
    if (onPostgres) {
      // Another instance is writing the rows: its transaction saw the events before.
      const writer = await openClient(t, d.path);
      await writer.query('BEGIN');
      await writer.query(insert);
      assert.ok((await erasures.step(await begun(), 10)).done);
      let isOver = false;
      discarding = erasures.discardWaiting(await begun(), -1, 10).then(() => {
        isOver = true;
      });
      await until('the lock', async () => {
        const held = await d.rows("SELECT 1 FROM pg_locks WHERE relation = 'batch'::regclass AND NOT granted");
        return held.length > 0;
      });
      assert.ok(!isOver);
      await writer.query('COMMIT');
    } else {
      assert.ok((await erasures.step(await begun(), 10)).done);
      await execute(d, insert);
      discarding = erasures.discardWaiting(await begun(), -1, 10);
    }
    await discarding;
    assert.deepEqual(await d.rows('SELECT id, state, order_key FROM batch ORDER BY id'), [
      { id: 'a', state: 'discarded', order_key: null },
      { id: 'b', state: 'pending', order_key: 'order-18' },
    ]);
    assert.equal((await begun()).deliveriesDiscarded, 1);
  });

  it('gives a row no key that was read before the erasure', async (t) => {
    const d = await openDispatching(t);
    const { at, number } = await d.connect({ webhook: BY_KEY });
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    at.answer(async () => {
      arrive();
      await mayAnswer;
      return { status: 200 };
    });
    await publish(d, [
      { key: 'order-17', subject: 'jane' },
      { key: 'order-18', subject: 'jack' },
    ]);
    const later = d.clock() + HOUR_MS;
    await execute(
      d,
      `INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at)
       VALUES (${number}, 0, 0, 'a', 'pending', 1, 0, ${later}), (${number}, 1, 1, 'b', 'pending', 1, 0, ${later})`,
      'UPDATE webhook_position SET pending_records = 2',
    );
    const { store } = d;
    let isErased = false;
    const settle: typeof store.settlements.settle = async (settlement) => {
      const { labelled = [] } = settlement;
      if (labelled.length > 0 && !isErased) {
        await d.erasures.erase({ subject: 'jane' }, ACTOR);
        isErased = true;
      }
      await store.settlements.settle(settlement);
    };
    await d.start({ store: { ...store, settlements: { ...store.settlements, settle } } });
    await until('the keys', async () => (await count(d, 'batch', 'order_key IS NOT NULL')) === 2);
    const rows = 'SELECT id, order_key, next_attempt_at FROM batch ORDER BY id';
    assert.ok(isErased);
    assert.deepEqual(await d.rows(rows), [
      { id: 'a', order_key: '', next_attempt_at: later },
      { id: 'b', order_key: 'order-18', next_attempt_at: null },
    ]);
    // An hour later the receiver would refuse its date.
    await arrived;
    answer();
    d.advance(HOUR_MS);
    await until('the end', () => isDrained(d));
    assert.equal(await count(d, 'batch', "id = 'a' AND state = 'discarded'"), 1);
  });

  it('keeps records that wait for their key longer than the retention, and sends them in order', async (t) => {
    const d = await openDispatching(t);
    const connected = await d.connect({ webhook: BY_KEY });
    const { at } = connected;
    let isFailing = true;
    at.answer(({ records }) => ({ status: isFailing && (records[0]?.offset ?? 0) % 2 === 0 ? 503 : 200 }));
    await publish(
      d,
      Array.from({ length: 8 }, (_, n) => ({ key: n % 2 === 0 ? 'order-17' : `order-${n}` })),
    );
    const first = await d.start();
    await waitingRows(d, 4);
    await until('the others', async () => (await count(d, 'batch', "state = 'delivered'")) === 4);
    await first.stop();
    d.advance(1000 * DAY_MS);
    await housekeepingFor(d, { deliveredDays: 1, deadDays: 1, attemptsDays: 1 }).runOnce();
    assert.equal(await count(d, 'batch', "state = 'pending'"), 4);
    assert.equal(await count(d, 'event', "ordering_key = 'order-17' AND data IS NOT NULL"), 4);
    isFailing = false;
    const before = at.deliveries.length;
    const second = await d.start();
    await until('the end', () => isDrained(d));
    await second.stop();
    const sent = at.deliveries.slice(before).flatMap(({ records }) => records.map(({ offset }) => offset));
    assert.deepEqual(sent, [0, 2, 4, 6]);
  });

  it('lists the keys that wait page by page, whatever characters they have', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: BY_KEY });
    at.answer(() => ({ status: 503 }));
    const keys = ['a', 'a b', 'a\n', 'ä', '漢字', '😀'.repeat(200), '{"cursor":1}', '~'];
    await publish(
      d,
      keys.map((key) => ({ key })),
    );
    await d.start();
    await until('every key', async () => {
      d.advance(1000);
      return (await count(d, 'batch', "order_key <> '' AND attempt_count > 0")) === keys.length;
    });
    const { keyOrder } = d.webhooks;
    const all = (await keyOrder.waitingKeys(webhook.id, { cursor: null, limit: 200 })).items.map(
      (one) => one.orderingKey,
    );
    assert.deepEqual(new Set(all), new Set(keys));
    const found: string[] = [];
    for (let cursor: string | null = null, pages = 0; pages === 0 || cursor !== null; pages += 1) {
      const page = await keyOrder.waitingKeys(webhook.id, { cursor, limit: 3 });
      assert.ok(page.items.length <= 3);
      found.push(...page.items.map(({ orderingKey }) => orderingKey));
      cursor = page.nextCursor;
    }
    assert.deepEqual(found, all);
    for (const cursor of [
      '',
      'a',
      webhook.id,
      Buffer.from('["waiting-keys",7]').toString('base64url'),
      Buffer.from('["other","a"]').toString('base64url'),
      Buffer.from('["waiting-keys","a\\u0000"]').toString('base64url'),
    ])
      await refused(() => keyOrder.waitingKeys(webhook.id, { cursor, limit: 3 }), {
        code: 'validation_failed',
        fields: ['cursor'],
      });
  });
});
