import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CLAIMED_PER_WEBHOOK,
  DELIVERIES_IN_FLIGHT,
  DELIVERIES_IN_FLIGHT_PER_ENDPOINT,
} from '../../src/delivery/limits.ts';
import { PROBES_UNPACED } from '../../src/domain/judge.ts';
import type { Store } from '../../src/store/port/store.ts';
import { addBacklog } from '../support/backlog.ts';
import { deferred } from '../support/deferred.ts';
import {
  type Connected,
  type Dispatching,
  isDrained,
  offsets,
  openDispatching,
  takeRecords,
  until,
} from '../support/dispatching.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { execute, onSqlite } from '../support/store.ts';

repeatsInSlowTier('postgres');

/** More than a look takes or a claim holds. No statement reads more of them: the query plans are tested below. */
const STUCK = 5000;
/** Long enough that a response held back on a slow machine never times out. */
const SINGLE = { maxBatchRecords: 1, timeoutSeconds: 60 };

/** A further webhook at the endpoint of another. */
function beside(
  d: Dispatching,
  { at, webhook }: Connected,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Connected> {
  return d.connect({ at, webhook: { endpointId: webhook.endpointId, ...more } });
}

/** A store that counts the records that claims read from logs. Of webhooks that send single records, that is how many are claimed. */
function countingClaims({ store }: Dispatching): { readonly store: Store; readonly claimed: () => number } {
  let claimed = 0;
  const waiting: Store['dispatch']['waiting'] = async (...asked) => {
    const found = await store.dispatch.waiting(...asked);
    claimed += found.length;
    return found;
  };
  return { store: { ...store, dispatch: { ...store.dispatch, waiting } }, claimed: () => claimed };
}

/** SQLite's query plan of a statement. */
function explain({ sqlite: database }: Dispatching, sql: string): { detail: string }[] {
  const named = Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, 0]));
  const placed = [...sql.matchAll(/\?/g)].map(() => 0);
  return database.connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(named, placed) as { detail: string }[];
}

describe('a webhook with thousands of stuck batches', () => {
  onSqlite('is never scanned: an index serves every statement on a table that grows', async (t) => {
    const d = await openDispatching(t);
    const seen = new Set<string>();
    const { connection } = d.sqlite;
    const prepare = connection.prepare.bind(connection);
    connection.prepare = ((sql: string) => {
      seen.add(sql);
      return prepare(sql);
    }) as typeof connection.prepare;
    const plain = await d.connect({ webhook: SINGLE });
    const ordered = await d.connect({ webhook: { ordered: true } });
    plain.at.answer(({ envelope }) => ({ status: envelope.attemptNumber === 1 ? 500 : 200 }));
    const dispatcher = await d.start();
    await d.looked();
    const atStart = new Set(seen);
    await d.publishMany(3);
    await plain.at.next();
    await takeRecords(ordered.at, 3);
    await until('the end', () => {
      d.advance(5000);
      dispatcher.wake();
      return isDrained(d);
    });
    const read = [...seen].filter((sql) => /\b(batch|outbox|event|attempt|webhook_progress)\b/.test(sql));
    const plans = read.filter((sql) => !/count\(\*\)/.test(sql)).map((sql) => ({ sql, plan: explain(d, sql) }));
    assert.ok(plans.length > 12, `${plans.length} statements`);
    const large = /^SCAN (batch|outbox|event|attempt|webhook_progress|b|o|e|a|p)\b/;
    // Once at a start every webhook is looked at, and every lease: as many as requests were under way.
    const largeAtStart = /^SCAN (batch|outbox|event|attempt|b|o|e|a)\b(?! USING INDEX batch_leased)/;
    for (const { sql, plan } of plans) {
      // It sorts as many rows as it reads, which is bounded by the events of one request.
      const mayGrow = !sql.includes('INSERT INTO outbox');
      const scanned = atStart.has(sql) ? largeAtStart : large;
      const scans = plan.filter(({ detail }) => scanned.test(detail) || (mayGrow && detail.includes('TEMP B-TREE')));
      assert.deepEqual(scans, [], sql);
    }
    const used = plans.flatMap(({ plan }) => plan.map(({ detail }) => detail)).join('\n');
    const indexes = ['batch_due', 'batch_leased', 'batch_pending'];
    for (const index of indexes) assert.match(used, new RegExp(index));
  });

  // How fast it is beside them: `npm run bench`, isolation.
  onSqlite(
    'goes first in no look: another webhook gets each record while the stuck one is probed at most once',
    async (t) => {
      const stuck = await openDispatching(t, { now: Date.now() });
      const beside = await stuck.connect({ webhook: SINGLE });
      const ill = await stuck.connect({ webhook: SINGLE });
      ill.at.answer(() => ({ status: 503 }));
      await execute(stuck, `DELETE FROM subscription WHERE webhook_number = ${ill.number}`);
      addBacklog(stuck, ill.number, { count: STUCK, state: 'pending' });
      const dispatcher = await stuck.start();
      // The first failures are followed by another probe immediately. From then on, probes wait for the clock.
      await takeRecords(ill.at, PROBES_UNPACED + 1);
      const before = ill.at.deliveries.length;
      for (let n = 1; n <= 100; n += 1) {
        // The stuck one is due for another probe, which may also come after the record.
        stuck.advance(400_000);
        await stuck.publishMany(1);
        dispatcher.wake();
        await beside.at.next();
        const probes = ill.at.deliveries.length - before;
        assert.ok(probes <= n, `${probes} probes before record ${n}`);
      }
      assert.ok(ill.at.deliveries.length > before, 'the stuck one was probed');
    },
  );

  onSqlite('takes a bounded share of memory: the rest stays in the file', async (t) => {
    const d = await openDispatching(t);
    const { at, number } = await d.connect({ webhook: SINGLE });
    const open = deferred();
    at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    addBacklog(d, number, { count: STUCK, state: 'waiting' });
    await execute(d, `UPDATE webhook_progress SET state = 'running' WHERE webhook_number = ${number}`);
    const { store, claimed } = countingClaims(d);
    await d.start({ store });
    await takeRecords(at, DELIVERIES_IN_FLIGHT_PER_ENDPOINT);
    await until('a full claim', () => claimed() === CLAIMED_PER_WEBHOOK);
    d.advance(60_000);
    await d.publishMany(1);
    await d.looked();
    assert.equal(claimed(), CLAIMED_PER_WEBHOOK);
    assert.equal(at.deliveries.length, DELIVERIES_IN_FLIGHT_PER_ENDPOINT);
    open.resolve();
    for (let n = 0; n < 2 * CLAIMED_PER_WEBHOOK; n += 1) {
      await at.next();
      assert.ok(claimed() - at.deliveries.length <= CLAIMED_PER_WEBHOOK);
    }
  });
});

describe('webhooks at one endpoint', () => {
  it('have eight requests in progress together, and take turns', async (t) => {
    const d = await openDispatching(t);
    const first = await d.connect({ webhook: SINGLE });
    const all = [first];
    for (let n = 1; n < 10; n += 1) all.push(await beside(d, first, SINGLE));
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    let underWay = 0;
    let most = 0;
    const open = deferred();
    first.at.answer(async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await open.promise;
      await new Promise(setImmediate);
      underWay -= 1;
      return { status: 200 };
    });
    await d.publishMany(60);
    const { store, claimed } = countingClaims(d);
    await d.start({ store });
    // Turns are among the webhooks whose work is claimed, so all of it is claimed before the first answer.
    await until('every claim', () => claimed() === 600);
    await until('eight requests', () => underWay === DELIVERIES_IN_FLIGHT_PER_ENDPOINT);
    open.resolve();
    await takeRecords(first.at, 600);
    await until('the end', () => isDrained(d));
    assert.equal(most, DELIVERIES_IN_FLIGHT_PER_ENDPOINT);
    const byWebhook = new Map<string, number>();
    for (const { envelope } of first.at.deliveries.slice(0, 300)) {
      byWebhook.set(envelope.subscriptionId, (byWebhook.get(envelope.subscriptionId) ?? 0) + 1);
    }
    assert.equal(byWebhook.size, all.length);
    for (const count of byWebhook.values())
      assert.ok(count >= 20 && count <= 40, `${count} of the first 300, of ten webhooks`);
  });
});

describe('an endpoint that never answers', () => {
  it('uses its own eight slots and delays no other endpoint, however many records it has', async (t) => {
    const d = await openDispatching(t);
    const slow = await d.connect({ webhook: SINGLE });
    const second = await beside(d, slow, SINGLE);
    const fast = await d.connect({ webhook: SINGLE });
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    const open = deferred();
    slow.at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    await d.publishMany(300);
    await d.start();
    await takeRecords(fast.at, 300);
    assert.deepEqual(offsets(fast.at).length, 300);
    assert.equal(slow.at.deliveries.length, DELIVERIES_IN_FLIGHT_PER_ENDPOINT);
    open.resolve();
    await takeRecords(slow.at, 600);
    await until('the end', () => isDrained(d));
    assert.equal(second.at.deliveries.length, 600);
  });
});

describe('endpoints that stop answering, more than there are slots', () => {
  it('delay no other endpoint until their time-outs', async (t) => {
    const d = await openDispatching(t);
    const count = DELIVERIES_IN_FLIGHT / DELIVERIES_IN_FLIGHT_PER_ENDPOINT + 1;
    const hanging = [];
    for (let n = 0; n < count; n += 1)
      hanging.push(await d.connect({ webhook: { maxBatchRecords: 1, timeoutSeconds: 60 } }));
    const well = await d.connect({ webhook: { eventTypes: ['webhook.*'] } });
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    const open = deferred();
    for (const { at } of hanging) {
      at.answer(async () => {
        await open.promise;
        return { status: 204 };
      });
    }
    await d.publishMany(20);
    const dispatcher = await d.start();
    await until('no slot is free', () => d.receiver.requests.length >= DELIVERIES_IN_FLIGHT);
    // The change of state is an event for the webhook that works.
    await d.connect();
    dispatcher.wake();
    await well.at.next();
    const hung = hanging.map(({ number }) => number).join();
    const ended = await d.rows(`SELECT count(*) AS n FROM attempt WHERE webhook_number IN (${hung})`);
    assert.equal(Number(ended[0]?.n), 0, 'before any of their requests ended');
    open.resolve();
    for (const { at } of hanging) await takeRecords(at, 20);
  });
});
