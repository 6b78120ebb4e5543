/** Order by key beside what else changes records: erasure, retention and a page of keys, on both databases. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { type Connected, type Dispatching, isDrained, openDispatching, TYPE, until } from '../support/dispatching.ts';
import { count, DAY_MS, housekeepingFor } from '../support/housekeeping.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR } from '../support/services.ts';
import { onPostgres } from '../support/store.ts';

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
      const dispatcher = await d.start();
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
      d.advance(HOUR_MS);
      await until('the end', () => isDrained(d));
      await dispatcher.stop();
      assert.deepEqual(await statesOf(d, connected), ['discarded', 'discarded', 'discarded', 'delivered', 'delivered']);
      const sent = at.deliveries.slice(attempts).flatMap(({ records }) => records.map(({ offset }) => offset));
      assert.deepEqual(sent, [3, 4]);
      assert.deepEqual(await d.rows('SELECT pending_records FROM webhook_position'), [{ pending_records: 0 }]);
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
