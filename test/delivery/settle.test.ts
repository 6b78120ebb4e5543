import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Settlement } from '../../src/domain/batch.ts';
import type { SettlementStore } from '../../src/store/port/dispatch.ts';
import { StaleWrite } from '../../src/store/port/errors.ts';
import type { Store } from '../../src/store/port/store.ts';
import { batchOf } from '../support/attempts.ts';
import { hold } from '../support/batches.ts';
import { deferred } from '../support/deferred.ts';
import {
  type Connected,
  type Dispatching,
  isDrained,
  messageIds,
  offsets,
  openDispatching,
  takeRecords,
  until,
} from '../support/dispatching.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR } from '../support/services.ts';
import { execute } from '../support/store.ts';

repeats('postgres');

/** The store with its settlements in the hands of the test: `settle` is asked in place of the real one. */
function withSettle(
  { store }: Dispatching,
  settle: (settlement: Settlement, real: SettlementStore) => Promise<void>,
): Store {
  const { settlements } = store;
  return { ...store, settlements: { ...settlements, settle: (settlement) => settle(settlement, settlements) } };
}

const attempts = async ({ rows }: Dispatching): Promise<number> =>
  Number((await rows('SELECT count(*) AS n FROM attempt'))[0]?.n);
const states = async ({ rows }: Dispatching): Promise<unknown[]> =>
  (await rows('SELECT state FROM batch ORDER BY webhook_number, first_offset')).map(({ state }) => state);

/** Each event arrived, and none of them twice. */
function arrivedOnce({ at }: Connected, ids: readonly string[]): void {
  assert.deepEqual([...messageIds(at)].sort(), [...ids].sort());
}

describe('an outcome', () => {
  it('that the store does not take for a while is not lost: it is written later, and nothing is sent again', async (t) => {
    const d = await openDispatching(t);
    const connected = await d.connect({ webhook: { maxBatchRecords: 1 } });
    let unwell = true;
    let refused = 0;
    const store = withSettle(d, async (settlement, real) => {
      if (!unwell) return real.settle(settlement);
      refused += 1;
      throw new Error('SQLITE_IOERR');
    });
    const ids = await d.publishMany(20);
    await d.start({ store });
    await connected.at.next();
    await until('two tries', () => refused >= 2);
    // Long after the end of every lease: the process that holds the outcome does not claim the batch again.
    d.advance(3_600_000);
    unwell = false;
    await until('the end', () => isDrained(d));
    arrivedOnce(connected, ids);
    assert.equal(await attempts(d), 20);
    assert.match(d.log.text(), /cannot be written yet/);
  });

  it('that cannot be written holds back the batches claimed ahead, and keeps only the stored part of its response', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: { maxBatchRecords: 1 } });
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    const [first, others] = [deferred(), deferred()];
    at.answer(async ({ records }) => {
      await (records[0]?.offset === 0 ? first : others).promise;
      return { status: 200, body: 'x'.repeat(50_000) };
    });
    let unwell = true;
    let refused = 0;
    const store = withSettle(d, async (settlement, real) => {
      if (!unwell) return real.settle(settlement);
      refused += 1;
      throw new Error('database or disk is full');
    });
    const held: unknown[] = [];
    const send: typeof d.send = async (...asked) => {
      const sent = await d.send(...asked);
      held.push(sent.outcome.answer?.body.buffer.byteLength);
      return sent;
    };
    const ids = await d.publishMany(60);
    await d.start({ store, send });
    await takeRecords(at, 8);
    first.resolve();
    // It gave its place to the ninth before it was known that it cannot be written.
    await takeRecords(at, 1);
    await until('the first refusal', () => refused > 0);
    others.resolve();
    await until('all that was under way', () => held.length === 9);
    const before = refused;
    await until('further refusals', () => refused > before + 1);
    assert.equal(at.deliveries.length, 9);
    assert.deepEqual(new Set(held), new Set([4096]));
    unwell = false;
    await until('the end', () => isDrained(d));
    assert.deepEqual([...messageIds(at)].sort(), [...ids].sort());
    assert.equal(await attempts(d), 60);
  });

  it('survives a storm of writes that turn out stale', async (t) => {
    const d = await openDispatching(t);
    const connected = await d.connect({ webhook: { maxBatchRecords: 1 } });
    let storm = 300;
    const store = withSettle(d, async (settlement, real) => {
      storm -= 1;
      if (storm > 0) throw new StaleWrite('UPDATE webhook_progress', 1, 0);
      return real.settle(settlement);
    });
    const ids = await d.publishMany(30);
    await d.start({ store });
    await until('the end', () => isDrained(d));
    assert.ok(storm <= 0);
    arrivedOnce(connected, ids);
    assert.equal(await attempts(d), 30);
  });

  it('whose neighbours cannot be written is written separately', async (t) => {
    const d = await openDispatching(t);
    const connected = await d.connect({ webhook: { maxBatchRecords: 1 } });
    const sizes: number[] = [];
    let ill = true;
    const store = withSettle(d, async (settlement, real) => {
      const firsts = settlement.batches.map(({ batch }) => batch?.firstOffset);
      sizes.push(firsts.length);
      if (ill && firsts.includes(7)) throw new StaleWrite('of the seventh', 1, 0);
      return real.settle(settlement);
    });
    const ids = await d.publishMany(20);
    await d.start({ store });
    await until('all but one', async () => (await states(d)).filter((state) => state === 'delivered').length === 19);
    ill = false;
    await until('the end', () => isDrained(d));
    arrivedOnce(connected, ids);
    assert.ok(Math.max(...sizes) > 1, 'several were settled together');
  });

  it('that the store goes on refusing holds up none that comes behind it', async (t) => {
    const d = await openDispatching(t);
    const connected = await d.connect({ webhook: { maxBatchRecords: 1 } });
    const refused = deferred();
    let ill = true;
    connected.at.answer(async ({ envelope }) => {
      // The first goes alone, for a webhook that has not sent yet.
      if (![0, 3].includes(envelope.records[0]?.offset ?? -1)) await refused.promise;
      return { status: 200 };
    });
    const store = withSettle(d, async (settlement, real) => {
      if (!ill || !settlement.batches.some(({ batch }) => batch?.firstOffset === 3)) return real.settle(settlement);
      refused.resolve();
      throw new StaleWrite('of the fourth', 1, 0);
    });
    const ids = await d.publishMany(20);
    await d.start({ store });
    await until('all but one', async () => (await states(d)).filter((state) => state === 'delivered').length === 19);
    ill = false;
    await until('the end', () => isDrained(d));
    arrivedOnce(connected, ids);
  });

  it('that is written apart from its neighbours is retried when it is due, although the webhook now sends one at a time', async (t) => {
    const d = await openDispatching(t);
    const connected = await d.connect({ webhook: { maxBatchRecords: 1 } });
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    const rested = deferred();
    let isWell = false;
    connected.at.answer(async ({ records }) => {
      if (records[0]?.offset !== 0) await rested.promise;
      return { status: isWell ? 200 : 503 };
    });
    // The second and third failure end in one turn: they are written together, which is refused, and each by itself is not.
    const both = deferred();
    let sent = 0;
    const send: typeof d.send = async (...asked) => {
      const one = await d.send(...asked);
      sent += 1;
      if (sent === 3) both.resolve();
      if (sent > 1) await both.promise;
      return one;
    };
    const sizes: number[] = [];
    const store = withSettle(d, async (settlement, real) => {
      sizes.push(settlement.batches.length);
      if (sizes.length === 2) throw new StaleWrite('of both', 1, 0);
      return real.settle(settlement);
    });
    await d.publishMany(3);
    await d.start({ store, send });
    await until('the first outcome', async () => (await attempts(d)) === 1);
    rested.resolve();
    await until('all three', async () => (await attempts(d)) === 3);
    assert.deepEqual(sizes, [1, 2, 1, 1]);
    isWell = true;
    const [first] = await d.rows('SELECT min(next_attempt_at) AS at FROM batch');
    d.advance(Number(first?.at) - d.clock() - 1);
    await d.publishMany(1);
    await takeRecords(connected.at, 3 + 1);
    assert.deepEqual(offsets(connected.at).slice(3), [3], 'none before it is due');
    d.advance(10_000);
    await until('the end', () => isDrained(d));
    assert.deepEqual(offsets(connected.at).slice(4).sort(), [0, 1, 2]);
  });

  it('of a webhook that was stopped in the meantime is stored, and the webhook stays stopped', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect();
    const open = deferred();
    at.answer(async () => {
      await open.promise;
      return { status: 500 };
    });
    await d.publishMany(1);
    await d.start();
    await at.next();
    await d.webhooks.stop(webhook.id, ACTOR);
    open.resolve();
    await until('the attempt', async () => (await attempts(d)) === 1);
    const { progress } = await d.webhooks.get(webhook.id);
    assert.deepEqual([progress.state, progress.stateReason], ['stopped', 'stopped_by_administrator']);
    assert.deepEqual(await states(d), ['pending']);
    assert.deepEqual(await d.rows('SELECT lease_owner FROM batch'), [{ lease_owner: null }]);
    assert.equal(progress.failureStreak, 0);
  });

  it('of a webhook that was deleted in the meantime is dropped, and other webhooks continue', async (t) => {
    const d = await openDispatching(t);
    const gone = await d.connect();
    const other = await d.connect();
    const open = deferred();
    gone.at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    await d.publishMany(1);
    const dispatcher = await d.start();
    await Promise.all([gone.at.next(), other.at.next()]);
    await d.webhooks.remove(gone.webhook.id, ACTOR);
    open.resolve();
    await d.publishMany(1);
    await other.at.next();
    await dispatcher.stop();
    assert.equal((await d.rows(`SELECT 1 FROM attempt WHERE webhook_number = ${gone.number}`)).length, 0);
    assert.equal(d.log.lines().filter(({ level }) => Number(level) >= 40).length, 0, d.log.text());
  });

  it('whose batch another process made in the meantime keeps its attempt, and the batch goes its own way', async (t) => {
    const d = await openDispatching(t);
    const { at, number } = await d.connect();
    const open = deferred();
    at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    await d.publishMany(1);
    await d.start();
    await at.next();
    await execute(
      d,
      `INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at)
       VALUES (${number}, 0, 0, 'another', 'pending', 2, 0, ${d.clock() + 60_000})`,
      `UPDATE webhook_position SET pending_records = 1 WHERE webhook_number = ${number}`,
    );
    open.resolve();
    await until('the attempt', async () => (await attempts(d)) === 1);
    assert.deepEqual(await d.rows('SELECT id, state, attempt_count FROM batch'), [
      { id: 'another', state: 'pending', attempt_count: 2 },
    ]);
    assert.match(d.log.text(), /changed or taken by others/);
    const [attempt] = await d.rows('SELECT kind, first_offset, attempt_number FROM attempt');
    assert.deepEqual(attempt, { kind: 'delivery', first_offset: 0, attempt_number: 1 });
    d.advance(60_000);
    assert.equal((await at.next()).envelope.attemptNumber, 3);
    await until('the end', () => isDrained(d));
  });

  it('of one attempt does not settle the next, although both are of the same process', async (t) => {
    const d = await openDispatching(t);
    const { number } = await d.connect();
    await d.publishMany(1);
    const batch = batchOf(0, 0, { webhookNumber: number, id: 'b', isStored: true });
    const rowOf = (attemptNumber: number, owner: string) =>
      d.store.settlements.rowOf({ ...batch, attemptNumber }, owner);
    await execute(
      d,
      `INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals,
        next_attempt_at, lease_owner)
       VALUES (${number}, 0, 0, 'b', 'pending', 2, 0, ${d.clock()}, 'me')`,
    );
    const held = await hold(d, number);
    const settlement = (attemptNumber: number): Settlement => ({
      webhookNumber: number,
      hold: held,
      owner: 'me',
      batches: [{ batch: { ...batch, attemptNumber }, fate: { kind: 'delivered', at: d.clock() }, attempt: null }],
      slow: [],
      position: null,
      now: d.clock(),
      health: null,
      changes: [],
      audit: {
        id: 'a',
        at: d.clock(),
        actor: 'service',
        action: 'webhook.stop',
        target: 'webhook:w',
        customerId: null,
        changes: {},
      },
    });
    const audited = async (): Promise<number> =>
      (await d.rows(`SELECT 1 FROM audit WHERE action = 'webhook.stop'`)).length;
    await assert.rejects(d.store.settlements.settle(settlement(1)), StaleWrite);
    assert.deepEqual([await states(d), await audited()], [['pending'], 0]);
    assert.deepEqual(
      [await rowOf(1, 'me'), await rowOf(2, 'another'), await rowOf(2, 'me')],
      ['other', 'other', 'open'],
    );
    await d.store.settlements.settle(settlement(2));
    assert.deepEqual([await states(d), await audited(), await rowOf(2, 'me')], [['delivered'], 1, 'settled']);
  });
});
