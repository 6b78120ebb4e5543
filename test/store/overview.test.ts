import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { claimNext, publishMany, run, settleBatch, settleNext } from '../support/batches.ts';
import { subscribe } from '../support/events.ts';
import { NOW, openTestStore, type TestStore } from '../support/store.ts';

const nameOf = ({ name }: { readonly name: string }): string => name;

function setState({ database }: TestStore, number: number, state: string, reason: string | null, more = ''): void {
  database.connection
    .prepare(`UPDATE webhook_progress SET state = ?, state_reason = ?, wake_at = NULL ${more} WHERE webhook_number = ?`)
    .run(state, reason, number);
}

describe('the overview', () => {
  it('tells how much waits in all, since when, and where the most does', async (t) => {
    const s = await openTestStore(t);
    const none = { records: 0, oldestAt: null, webhooks: 0, longest: [] };
    assert.deepEqual(await s.store.overview.backlog(5), none);
    const [orders, all, idle] = [
      await subscribe(s, ['order.*'], { name: 'orders' }),
      await subscribe(s, ['*'], { name: 'all' }),
      await subscribe(s, ['stock.low'], { name: 'idle' }),
    ];
    for (const number of [orders, all, idle]) run(s, number);
    await publishMany(s, 'order.placed', 2);
    s.advance(1000);
    await publishMany(s, 'stock.high', 3);
    const backlog = await s.store.overview.backlog(5);
    assert.deepEqual([backlog.records, backlog.oldestAt, backlog.webhooks], [7, NOW, 2]);
    assert.deepEqual(
      backlog.longest.map(({ name, records, oldestAt, state }) => [name, records, oldestAt, state]),
      [
        ['all', 5, NOW, 'running'],
        ['orders', 2, NOW, 'running'],
      ],
    );
    // What is under way waits still, and a retry is as old as its oldest record.
    await settleNext(s, orders, [2], 'delivered');
    const claimed = await claimNext(s, all, 2);
    assert.equal((await s.store.overview.backlog(5)).records, 5);
    await settleBatch(s, claimed, { kind: 'delivered', at: s.clock() });
    const later = await s.store.overview.backlog(1);
    assert.deepEqual([later.records, later.oldestAt, later.webhooks], [3, NOW + 1000, 1]);
    assert.deepEqual(later.longest.map(nameOf), ['all']);
  });

  it('tells which webhooks do not deliver, but for those that somebody stopped, the latest first', async (t) => {
    const s = await openTestStore(t);
    const make = (name: string) => subscribe(s, ['*'], { name });
    const [fine, failing, failed, gone, stopped, fresh] = [
      await make('fine'),
      await make('failing'),
      await make('failed'),
      await make('gone'),
      await make('stopped'),
      await make('fresh'),
    ];
    setState(s, fine, 'running', null);
    setState(s, failing, 'failing', 'timeout', `, failing_since_at = ${NOW + 5}, state_detail = 'no answer'`);
    setState(s, failed, 'failed', 'failing_too_long', `, state_at = ${NOW + 9}`);
    setState(s, gone, 'stopped', 'endpoint_gone', `, state_at = ${NOW + 7}`);
    setState(s, stopped, 'stopped', 'stopped_by_administrator', `, state_at = ${NOW + 8}`);
    assert.ok(fresh > stopped);
    await publishMany(s, 'order.placed', 4);
    const ailing = await s.store.overview.ailing(10);
    assert.deepEqual(ailing.map(nameOf), ['failed', 'gone', 'failing']);
    const { id, endpointId, ...told } = ailing[2] ?? assert.fail();
    assert.deepEqual(told, {
      ...{ name: 'failing', endpointName: 'receiver', state: 'failing', reason: 'timeout', detail: 'no answer' },
      ...{ since: NOW + 5, waiting: 4 },
    });
    assert.equal((await s.store.webhooks.get(id))?.endpointId, endpointId);
    assert.deepEqual((await s.store.overview.ailing(1)).map(nameOf), ['failed']);
  });

  it('counts what was given up, as far as it goes', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    run(s, number);
    assert.deepEqual(await s.store.overview.dead(), { records: 0, more: false });
    await publishMany(s, 'order.placed', 12);
    await settleNext(s, number, [3], 'delivered');
    await settleNext(s, number, [4, 2], 'dead');
    assert.deepEqual(await s.store.overview.dead(), { records: 6, more: false });
    s.database.connection.exec(`
      WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10000)
      INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, settled_at)
      SELECT 99, n, n, 'b', 'dead', 1, 0, 1 FROM n`);
    const { records, more } = await s.store.overview.dead();
    assert.ok(more && records >= 10_000);
  });

  it('scans no table that grows but the progress of webhooks', async (t) => {
    const { database, store } = await openTestStore(t);
    const prepare = database.connection.prepare.bind(database.connection);
    const plans: string[] = [];
    database.connection.prepare = ((sql: string) => {
      const values = Array.from(sql.matchAll(/\?/g), () => 1);
      const plan = prepare(`EXPLAIN QUERY PLAN ${sql}`).all(values) as { detail: string }[];
      plans.push(...plan.map(({ detail }) => detail));
      return prepare(sql);
    }) as typeof database.connection.prepare;
    await store.overview.backlog(5);
    await store.overview.ailing(5);
    await store.overview.dead();
    const scans = plans.filter((detail) => /^SCAN (?!\(|q\b)/.test(detail));
    assert.deepEqual(new Set(scans), new Set(['SCAN p', 'SCAN batch USING COVERING INDEX batch_dead']));
    assert.match(plans.join('\n'), /SEARCH batch USING COVERING INDEX batch_pending/);
  });
});
