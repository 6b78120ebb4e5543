/** Deliveries of records whose data was erased: their attempts stay on record, and nothing shows the data. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Delivery } from '../../src/domain/webhook.ts';
import { newEvent } from '../support/events.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import {
  ACTOR,
  actingAs,
  makeEventType,
  makeWebhook,
  openTestServices,
  type TestServices,
} from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';

repeats('postgres');

const SOMEBODY = 'somebody';

type Log = {
  readonly s: TestServices;
  readonly webhookId: string;
  readonly webhookNumber: number;
  readonly deliveries: () => Promise<Delivery[]>;
};

/** Six records in one batch, settled or not. The records at odd offsets are about one subject. */
async function open(t: TestContext, state: 'pending' | 'delivered' | 'dead', attemptCount: number): Promise<Log> {
  const s = await openTestServices(t);
  await makeEventType(s, 'order.placed');
  const { id: webhookId } = await makeWebhook(s, ['order.*']);
  const { webhookNumber } = (await s.webhooks.get(webhookId)).progress;
  for (let n = 0; n < 6; n += 1)
    await s.publish({ type: 'order.placed', data: { n }, ...(n % 2 === 1 && { subject: SOMEBODY }) }, actingAs('me'));
  const insert = `
    INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, settled_at)
    VALUES (@webhookNumber, 0, 5, 'a batch', @state, @attemptCount, 0, @nextAttemptAt, @settledAt)`;
  const times = state === 'pending' ? { nextAttemptAt: NOW, settledAt: null } : { nextAttemptAt: null, settledAt: NOW };
  await s.database.commit([
    { sql: insert, params: { webhookNumber, state, attemptCount, ...times } },
    { sql: 'UPDATE webhook_position SET covered_offset = 6', params: {} },
  ]);
  const deliveries = async (): Promise<Delivery[]> =>
    (await s.deliveries.list({ webhookId }, null, 100)).items.toReversed();
  return { s, webhookId, webhookNumber, deliveries };
}

async function attempt({ s, webhookNumber }: Log, n: number): Promise<void> {
  const sql = `
    INSERT INTO attempt (key, id, webhook_number, kind, first_offset, last_offset, attempt_number, started_at, request_headers, timings)
    VALUES (@n, @id, @webhookNumber, 'delivery', 0, 5, @n, @at, '{}', '{}')`;
  await s.database.commit([{ sql, params: { n, id: `attempt ${n}`, webhookNumber, at: s.clock() } }]);
}

const statesOf = async (log: Log): Promise<string> =>
  (await log.deliveries()).map(({ state, settledAt }) => (settledAt === null ? state : `${state}.`)).join(' ');

describe('a record that was erased after it was settled', () => {
  for (const state of ['delivered', 'dead'] as const) {
    it(`stays ${state} when the records around it are replayed`, async (t) => {
      const log = await open(t, state, 1);
      const { s, webhookId } = log;
      s.advance(1000);
      await s.erasures.erase({ subject: SOMEBODY }, ACTOR);
      const body = { states: [state] };
      assert.equal(await s.deliveries.countReplay(webhookId, body), 3);
      assert.deepEqual(await s.webhooks.replay(webhookId, body, ACTOR), { replayed: 3 });
      assert.equal(await statesOf(log), `pending ${state}. pending ${state}. pending ${state}.`);
      const [progress] = await s.rows('SELECT pending_records FROM webhook_position');
      assert.equal(progress?.pending_records, 3);
    });
  }

  it('cannot be replayed, and is skipped among others', async (t) => {
    const log = await open(t, 'delivered', 1);
    const { s } = log;
    s.advance(1000);
    await s.erasures.erase({ subject: SOMEBODY }, ACTOR);
    const ids = (await log.deliveries()).map(({ id }) => id);
    await leavingNothing(s, async () => {
      const says = /^the delivery has no data any more, which was erased$/;
      await refused(() => s.deliveries.replay(ids[3] ?? '', ACTOR), { code: 'invalid_state', says });
    });
    assert.deepEqual(await s.deliveries.replaySelected(ids.slice(0, 4), ACTOR), { replayed: 2 });
    assert.equal(await statesOf(log), 'pending delivered. pending delivered. delivered. delivered.');
  });

  it('leaves no audit entry of a replay if nothing else was chosen', async (t) => {
    const log = await open(t, 'delivered', 1);
    const { s, webhookId, webhookNumber } = log;
    s.advance(1000);
    await s.erasures.erase({ subject: SOMEBODY }, ACTOR);
    const range = { webhookNumber, first: 3, last: 3, states: ['delivered'] as const };
    const entry = {
      id: s.ids.uuid(),
      at: s.clock(),
      actor: ACTOR.actor,
      action: 'webhook.replay' as const,
      target: webhookId,
      customerId: null,
      changes: {},
    };
    assert.equal(await s.store.replays.replay({ ...range, now: s.clock(), newId: s.ids.uuid }, entry), 0);
    assert.equal((await s.store.audit.list(null, 1))[0]?.id, entry.id);
  });
});

describe('a log in which two processes published at the same moment', () => {
  /**
   * The last of eight records was made behind the second and written after all others, as by a command that waited for the server.
   * Each is delivered in its own batch. The records in `erased` have a subject.
   */
  async function disordered(t: TestContext, erased: readonly number[]): Promise<Log> {
    const s = await openTestServices(t);
    await makeEventType(s, 'order.placed');
    const { id: webhookId } = await makeWebhook(s, ['order.*']);
    const { webhookNumber } = (await s.webhooks.get(webhookId)).progress;
    const about = (at: number) => ({ subject: erased.includes(at) ? SOMEBODY : null });
    const publish = async (at: number): Promise<void> => {
      s.advance(1000);
      await s.store.events.publish([newEvent(s, 'order.placed', about(at))]);
    };
    for (const at of [0, 1]) await publish(at);
    const early = newEvent(s, 'order.placed', about(7));
    for (const at of [2, 3, 4, 5, 6]) await publish(at);
    await s.store.events.publish([early]);
    for (let at = 0; at < 8; at += 1) {
      const sql = `
        INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, settled_at)
        VALUES (@webhookNumber, @at, @at, @id, 'delivered', 1, 0, @settledAt)`;
      await s.database.commit([{ sql, params: { webhookNumber, at, id: s.ids.uuid(), settledAt: NOW } }]);
    }
    await s.database.commit([{ sql: 'UPDATE webhook_position SET covered_offset = 8', params: {} }]);
    s.advance(1000);
    await s.erasures.erase({ subject: SOMEBODY }, ACTOR);
    return { s, webhookId, webhookNumber, deliveries: async () => [] };
  }
  const statesByOffset = async ({ s }: Log): Promise<unknown[]> =>
    (await s.rows('SELECT state FROM batch ORDER BY first_offset')).map(({ state }) => String(state).slice(0, 1));

  const replays: readonly [what: string, erased: readonly number[], ends: readonly [number, number], after: string][] =
    [
      ['passes over those erased, where it ends at one out of order', [1, 4], [0, 7], 'p d p p d p p p'],
      ['passes over one erased that is out of order itself', [4, 7], [0, 7], 'p p p p d p p d'],
      ['ends where it was to end, where one out of order behind it was erased', [7], [0, 2], 'p p p d d d d d'],
      ['begins where it was to begin, at one out of order', [6], [7, 7], 'd d d d d d d p'],
      ['passes over those erased between others', [3, 5], [2, 6], 'd d p d p d p d'],
    ];
  for (const [what, erased, [first, last], after] of replays) {
    it(`has a replay that ${what}`, async (t) => {
      const log = await disordered(t, erased);
      const { s, webhookNumber } = log;
      const range = { webhookNumber, first, last, states: ['delivered'] as const };
      const wanted = after.split(' ').filter((state) => state === 'p').length;
      assert.equal(await s.store.replays.count(range), wanted);
      assert.equal(await s.store.replays.replay({ ...range, now: NOW, newId: s.ids.uuid }, s.entry()), wanted);
      assert.equal((await statesByOffset(log)).join(' '), after);
    });
  }
});

describe('a record that was erased before it was sent', () => {
  it('keeps its earlier attempts, gets no others, and is settled then', async (t) => {
    const log = await open(t, 'pending', 1);
    const { s } = log;
    await attempt(log, 1);
    s.advance(1000);
    await s.erasures.erase({ subject: SOMEBODY }, ACTOR);
    const erasedAt = s.clock();
    s.advance(1000);
    await attempt(log, 2);
    await s.database.commit([
      {
        sql: `UPDATE batch SET state = 'delivered', attempt_count = 2, next_attempt_at = NULL, settled_at = ${s.clock()}`,
        params: {},
      },
    ]);
    const [sent, erased] = await log.deliveries();
    assert.deepEqual([sent?.state, sent?.attemptCount, sent?.settledAt], ['delivered', 2, s.clock()]);
    assert.deepEqual([erased?.state, erased?.attemptCount, erased?.settledAt], ['discarded', 1, erasedAt]);
    // Not every attempt counts: one that a stop cut off does not.
    await attempt(log, 3);
    assert.equal((await log.deliveries())[1]?.attemptCount, 0);
    await s.database.commit([{ sql: "DELETE FROM attempt WHERE id = 'attempt 3'", params: {} }]);
    const attemptsOf = async (delivery: Delivery | undefined): Promise<string[]> =>
      (await s.deliveries.get(delivery?.id ?? '')).attempts.map(({ id }) => id);
    assert.deepEqual(await attemptsOf(sent), ['attempt 1', 'attempt 2']);
    assert.deepEqual(await attemptsOf(erased), ['attempt 1']);
  });
});
