import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createUsageReads, writeUsage } from '../../src/customers/usage.ts';
import { USAGE_KEPT_DAYS } from '../../src/domain/limits.ts';
import { addUsage, dayOf, noUsage, USAGE_COUNTS, type Usage } from '../../src/domain/usage.ts';
import { usageJob } from '../../src/housekeeping/usage.ts';
import type { Database, SqlParameters } from '../../src/store/port/database.ts';
import { DatabaseUnavailable } from '../../src/store/port/errors.ts';
import type { UsageStore } from '../../src/store/port/usage.ts';
import { usageStore } from '../../src/store/shared/usage.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';
import { execute, NOW, onPostgres, openTestStore } from '../support/store.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

const DAY_MS = 86_400_000;
const EVER = ['2000-01-01', '2100-01-01'] as const;

async function writeAll(usage: UsageStore): Promise<void> {
  while (usage.unwritten() > 0) await usage.write(3);
}

/** Writes the usage of as many customers on as many days from 1 January 2026. */
async function fillDays(database: Database, customers: number, days: number): Promise<void> {
  const rows = Array.from({ length: customers * days }, (_, n) => [
    `c${String(n % customers).padStart(3, '0')}`,
    dayOf(Date.UTC(2026, 0, 1 + Math.floor(n / customers))),
  ]);
  const sql = `
    INSERT INTO customer_usage (customer_id, day, ${USAGE_COUNTS.join(', ')})
    SELECT CAST(x.value ->> 0 AS TEXT), CAST(x.value ->> 1 AS TEXT), ${USAGE_COUNTS.map(() => 1).join(', ')} FROM tuples(@rows) AS x`;
  await database.commit([{ sql, params: { rows: JSON.stringify(rows) } }]);
}

describe('the usage of customers', () => {
  it('is added to the day on which it was counted, also by several processes', async (t) => {
    const { database, store } = await openTestStore(t);
    const other = usageStore(database);
    store.usage.count('a', { events: 2, bytes: 10 }, NOW);
    store.usage.count('a', { events: 1 }, NOW + DAY_MS);
    store.usage.count(null, { tokens: 1 }, NOW);
    other.count('a', { events: 40 }, NOW);
    assert.deepEqual(await store.usage.days('a', ...EVER), [], 'nothing is written yet');
    await Promise.all([writeAll(store.usage), writeAll(other)]);
    assert.deepEqual(await store.usage.days('a', ...EVER), [
      { customerId: 'a', day: '2026-11-21', usage: { ...noUsage(), events: 42, bytes: 10 } },
      { customerId: 'a', day: '2026-11-22', usage: { ...noUsage(), events: 1 } },
    ]);
    assert.deepEqual(await store.usage.days(null, ...EVER), [
      { customerId: null, day: '2026-11-21', usage: { ...noUsage(), tokens: 1 } },
    ]);
    assert.deepEqual(await store.usage.days('b', ...EVER), []);
    assert.deepEqual((await store.usage.days('a', '2026-11-22', '2026-11-22')).length, 1);
  });

  it('is written for a read although customers go on using the service', async (t) => {
    const { store } = await openTestStore(t);
    const writes: number[] = [];
    for (let n = 0; n < 5; n += 1) store.usage.count(`before ${n}`, { tokens: 1 }, NOW);
    await writeUsage({
      unwritten: store.usage.unwritten,
      write: async (limit) => {
        writes.push(limit);
        store.usage.count(`during ${writes.length}`, { tokens: 1 }, NOW);
        return store.usage.write(limit);
      },
    });
    assert.deepEqual(writes, [5]);
    assert.equal(store.usage.unwritten(), 1);
    assert.equal((await store.usage.days('before 4', ...EVER)).length, 1);
  });

  it('equals a simple model, however counts, writes and other processes come between each other', async (t) => {
    const { database, store } = await openTestStore(t);
    const counted = fc.record({
      process: fc.nat(2),
      customerId: fc.option(fc.constantFrom('a', 'b', 'c')),
      day: fc.nat(2),
      name: fc.constantFrom('events', 'deliveries', 'bytes' as const),
      by: fc.integer({ min: 1, max: 1_000_000 }),
    });
    const step = fc.oneof(
      { weight: 4, arbitrary: counted },
      { weight: 1, arbitrary: fc.record({ writes: fc.nat(2), size: fc.integer({ min: 1, max: 4 }) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        await database.commit([{ sql: 'DELETE FROM customer_usage', params: {} }]);
        const processes = [store.usage, usageStore(database), usageStore(database)];
        const model = new Map<string, Usage>();
        const underWay: Promise<unknown>[] = [];
        for (const one of steps) {
          if ('writes' in one) {
            const writing = processes[one.writes] ?? store.usage;
            underWay.push(writing.write(one.size), writing.write(one.size));
            continue;
          }
          const at = NOW + one.day * DAY_MS;
          processes[one.process]?.count(one.customerId, { [one.name]: one.by }, at);
          const key = `${one.customerId} ${dayOf(at)}`;
          const sum = model.get(key) ?? noUsage();
          addUsage(sum, { [one.name]: one.by });
          model.set(key, sum);
        }
        await Promise.all(underWay);
        await Promise.all(processes.map(writeAll));
        const written = await store.usage.list({ since: EVER[0], until: EVER[1] }, null, 1000);
        assert.deepEqual(
          new Map(written.map(({ customerId, day, usage }) => [`${customerId} ${day}`, usage])),
          new Map([...model].sort()),
        );
      }),
      { numRuns: 25 },
    );
  });

  it('is listed by customer and day in pages, and summed by customer, without losing or repeating a row', async (t) => {
    const { store } = await openTestStore(t);
    for (const customerId of ['b', null, 'a'])
      for (let day = 0; day < 3; day++) store.usage.count(customerId, { events: 1 + day }, NOW + day * DAY_MS);
    await writeAll(store.usage);
    const period = { since: '2026-11-21', until: '2026-11-22' };
    const seen: string[] = [];
    for (let after = null; ; ) {
      const page = await store.usage.list(period, after, 2);
      seen.push(...page.map(({ customerId, day }) => `${customerId} ${day}`));
      const last = page.at(-1);
      if (page.length < 2 || last === undefined) break;
      after = last as never;
    }
    assert.deepEqual(
      seen,
      ['null', 'a', 'b'].flatMap((id) => [`${id} 2026-11-21`, `${id} 2026-11-22`]),
    );
    const sums = await store.usage.sums(period, undefined, 10);
    assert.deepEqual(
      sums.map(({ customerId, usage }) => [customerId, usage.events]),
      [
        [null, 3],
        ['a', 3],
        ['b', 3],
      ],
    );
    assert.deepEqual(
      (await store.usage.sums(period, 'a', 10)).map(({ customerId }) => customerId),
      ['b'],
    );
    assert.deepEqual(
      (await store.usage.daysOfAll('2026-11-22', '2026-11-22')).map(({ day, usage }) => [day, usage.events]),
      [['2026-11-22', 6]],
    );
    assert.equal((await store.usage.list({ ...period, customerId: null }, null, 10)).length, 2);
    assert.equal((await store.usage.list({ ...period, customerId: 'c' }, null, 10)).length, 0);
  });

  it('is read by the primary key, from the last row of the page before', async (t) => {
    const { database } = await openTestStore(t);
    await fillDays(database, 100, 300);
    if (onPostgres) await execute({ database }, 'ANALYZE customer_usage');
    const asked: { sql: string; params: SqlParameters }[] = [];
    const usage = usageStore({
      ...database,
      all: (sql, params) => {
        asked.push({ sql, params });
        return database.all(sql, params);
      },
    });
    const period = { since: '2026-02-01', until: '2026-09-30' };
    const [last] = (await usage.list(period, null, 1000)).slice(-1);
    assert.ok(last !== undefined);
    assert.equal((await usage.list(period, last, 1000)).length, 1000);
    // PostgreSQL chooses for sums: their period may have few of the rows.
    if (!onPostgres) {
      assert.equal((await usage.sums(period, undefined, 51)).length, 51);
      assert.equal((await usage.sums(period, last.customerId, 51)).length, 51);
    }
    for (const { sql, params } of asked) {
      const plan = await database.all(`EXPLAIN ${onPostgres ? '' : 'QUERY PLAN '}${sql}`, params);
      const text = plan.map((row) => String(row.detail ?? row['QUERY PLAN'])).join('\n');
      assert.match(text, /Index Scan using customer_usage_pkey|SEARCH u USING PRIMARY KEY|SCAN u(?! USING)/, sql);
      assert.doesNotMatch(text, /customer_usage_day|TEMP B-TREE|Sort Key: u\./, sql);
    }
    assert.equal(asked.length, onPostgres ? 2 : 4);
  });

  it('is written as CSV while other work runs between the pages', async (t) => {
    const { database, store } = await openTestStore(t);
    await fillDays(database, 10, 400);
    const nobody = { get: async () => assert.fail('no customer is asked for') };
    const reads = createUsageReads({ store, customers: nobody });
    let turns = 0;
    const turn = (): void => {
      turns += 1;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    t.after(() => clearImmediate(next));
    const csv = await reads.csv({ since: EVER[0], until: EVER[1], by: 'day', customerId: null });
    assert.equal(csv.split('\r\n').length, 1 + 4000 + 1);
    assert.ok(turns >= 4, `${turns} turns of the event loop`);
  });

  it('is deleted after 400 days, and by the job that writes it', async (t) => {
    const { store } = await openTestStore(t);
    const before = NOW - USAGE_KEPT_DAYS * DAY_MS;
    store.usage.count('a', { events: 1 }, before - DAY_MS);
    store.usage.count('a', { events: 2 }, before);
    store.usage.count('a', { events: 3 }, NOW);
    const step = usageJob(store.usage).begin(NOW);
    store.usage.count('later', { events: 1 }, NOW);
    for (let done = false; !done; ) done = (await step(2)).done;
    assert.deepEqual(
      (await store.usage.days('a', ...EVER)).map(({ usage }) => usage.events),
      [2, 3],
    );
  });

  it('stays counted while nothing can be written, and is not written again if the database may have kept it', async (t) => {
    const { database, clock } = await openTestStore(t);
    let failure: 'full' | 'unknown' | null = 'full';
    const failing: Database = {
      ...database,
      commit: async (list, onWritten) => {
        if (failure === 'full') throw new DatabaseUnavailable('full');
        const results = await database.commit(list, onWritten);
        if (failure === 'unknown') throw new DatabaseUnavailable('unknown');
        return results;
      },
    };
    const usage = usageStore(failing);
    usage.count('a', { events: 1 }, clock());
    await assert.rejects(usage.write(10), { reason: 'full' });
    assert.equal(usage.unwritten(), 1);
    usage.count('a', { events: 1 }, clock());
    failure = 'unknown';
    await assert.rejects(usage.write(10), { reason: 'unknown' });
    assert.equal(usage.unwritten(), 0);
    failure = null;
    usage.count('a', { events: 1 }, clock());
    await writeAll(usage);
    assert.deepEqual(
      (await usage.days('a', ...EVER)).map((one) => one.usage.events),
      [3],
    );
  });
});
