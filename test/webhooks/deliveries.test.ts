import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AttemptRecord } from '../../src/domain/batch.ts';
import { NO_TIMINGS } from '../../src/domain/outcome.ts';
import type { Delivery, DeliveryState } from '../../src/domain/webhook.ts';
import { viewAttempt, viewDelivery } from '../../src/webhooks/deliveries.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import {
  ACTOR,
  actingAs,
  makeEventType,
  makeWebhook,
  openTestServices,
  type TestServices,
} from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';

repeatsInSlowTier('postgres');

const MISSING = '0193a1f0-0000-7000-8000-00000000ffff';

type Log = { readonly s: TestServices; readonly webhookId: string; readonly deliveries: readonly Delivery[] };

/** One webhook with a record for each state, a second apart, each in a batch of its own. */
async function open(t: Parameters<typeof openTestServices>[0], states: readonly DeliveryState[]): Promise<Log> {
  const s = await openTestServices(t);
  await makeEventType(s, 'order.placed');
  const { id: webhookId } = await makeWebhook(s, ['order.*']);
  const { webhookNumber } = (await s.webhooks.get(webhookId)).progress;
  for (const [n, state] of states.entries()) {
    await s.publish({ type: 'order.placed', data: { n } }, actingAs('me'));
    s.advance(1000);
    const sql = `
      INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, settled_at)
      VALUES (@webhookNumber, @n, @n, @id, @state, 2, 0, @nextAttemptAt, @settledAt)`;
    const times =
      state === 'pending' ? { nextAttemptAt: NOW, settledAt: null } : { nextAttemptAt: null, settledAt: NOW + 7 };
    await s.database.commit([{ sql, params: { webhookNumber, n, id: `batch ${n}`, state, ...times } }]);
  }
  await s.database.commit([
    { sql: 'UPDATE webhook_position SET covered_offset = @value', params: { value: states.length } },
  ]);
  const deliveries = (await s.deliveries.list({ webhookId }, null, 100)).items.toReversed();
  return { s, webhookId, deliveries };
}

const statesOf = async ({ s, webhookId }: Log): Promise<string> =>
  (await s.deliveries.list({ webhookId }, null, 100)).items
    .toReversed()
    .map(({ state }) => state)
    .join(' ');

describe('deliveries', () => {
  it('are read with their attempts, oldest first', async (t) => {
    const { s, deliveries } = await open(t, ['dead', 'delivered']);
    const [dead] = deliveries;
    const sql = `
      INSERT INTO attempt (key, id, webhook_number, kind, first_offset, last_offset, attempt_number, started_at, request_headers, timings)
      VALUES (@n, @id, @webhookNumber, 'delivery', @first, @last, @n, @at, '{}', '{}')`;
    for (const [n, first, last] of [
      [1, 0, 0],
      [2, 0, 1],
      [3, 1, 1],
    ] as const)
      await s.database.commit([
        { sql, params: { n, id: `attempt ${n}`, webhookNumber: dead?.webhookNumber ?? 0, first, last, at: NOW } },
      ]);
    const { delivery, attempts } = await s.deliveries.get(dead?.id ?? '');
    assert.deepEqual(delivery, dead);
    assert.deepEqual(
      attempts.map(({ id }) => id),
      ['attempt 1', 'attempt 2'],
    );
    const at = '2026-11-21T05:00:00.000Z';
    const { id, webhookId, eventId, ...view } = viewDelivery(delivery);
    assert.deepEqual(view, {
      eventType: 'order.placed',
      orderingKey: null,
      offset: 0,
      state: 'dead',
      attemptCount: 2,
      nextAttemptAt: null,
      settledAt: '2026-11-21T05:00:00.007Z',
      createdAt: at,
      updatedAt: '2026-11-21T05:00:00.007Z',
    });
  });

  it('of an unknown webhook are none, and filters combine', async (t) => {
    const { s, webhookId } = await open(t, ['dead', 'delivered', 'dead']);
    assert.deepEqual((await s.deliveries.list({ webhookId: MISSING }, null, 10)).items, []);
    assert.equal((await s.deliveries.list({ webhookId, state: 'dead' }, null, 10)).items.length, 2);
    assert.equal((await s.deliveries.list({ webhookId, state: 'dead', since: NOW + 1000 }, null, 10)).items.length, 1);
    assert.equal((await s.deliveries.list({ eventType: 'order.placed', until: NOW }, null, 10)).items.length, 0);
  });

  for (const id of [MISSING, '', 'x', "' OR ''='", 'x'.repeat(9999)]) {
    it(`are not found by ${JSON.stringify(id.slice(0, 40))}`, async (t) => {
      const { s } = await open(t, ['dead']);
      await leavingNothing(s, async () => {
        await refused(() => s.deliveries.get(id), { code: 'not_found' });
        await refused(() => s.deliveries.replay(id, ACTOR), { code: 'not_found' });
      });
    });
  }
});

describe('an attempt', () => {
  const attempt: AttemptRecord = {
    id: 'a',
    webhookNumber: 1,
    kind: 'delivery',
    batchId: 'b',
    firstOffset: 0,
    lastOffset: 0,
    attemptNumber: 2,
    startedAt: NOW,
    requestHeaders: { date: 'now' },
    responseStatus: 204,
    responseHeaders: {},
    responseBody: null,
    errorClass: null,
    errorMessage: null,
    responseProblem: null,
    timings: NO_TIMINGS,
  };

  it('that was delivered has no error', () => {
    const { delivered, errorClass, error, advice, startedAt } = viewAttempt(attempt, null);
    assert.deepEqual(
      [delivered, errorClass, error, advice, startedAt],
      [true, null, null, null, '2026-11-21T05:00:00.000Z'],
    );
  });

  it('that failed has advice, and shows the response as text even if it is not UTF-8', () => {
    const responseBody = Buffer.from([0x68, 0x69, 0xff]);
    const view = viewAttempt(
      { ...attempt, responseBody, errorClass: 'tls_untrusted', errorMessage: 'self-signed' },
      null,
    );
    assert.deepEqual(
      [view.delivered, view.errorClass, view.error, view.responseBody],
      [false, 'tls_untrusted', 'self-signed', 'hi\ufffd'],
    );
    assert.match(view.advice ?? '', /SALLYPORT_CA_FILE/);
  });
});

describe('replaying a delivery', () => {
  it('makes a dead or delivered one pending, due immediately, audited, and tells the dispatcher', async (t) => {
    const log = await open(t, ['dead', 'delivered', 'dead']);
    const { s, deliveries } = log;
    const wakes = s.wakes();
    for (const { id, state } of deliveries.slice(0, 2)) {
      const replayed = await s.deliveries.replay(id, ACTOR);
      assert.deepEqual(
        [replayed.id, replayed.state, replayed.attemptCount, replayed.nextAttemptAt],
        [id, 'pending', 0, s.clock()],
      );
      const [entry] = await s.store.audit.list(null, 1);
      assert.deepEqual(
        [entry?.action, entry?.target, entry?.changes],
        ['delivery.replay', `delivery:${id}`, { state: { from: state, to: 'pending' } }],
      );
    }
    assert.equal(await statesOf(log), 'pending pending dead');
    assert.equal(s.wakes(), wakes + 2);
  });

  it('is refused for a discarded delivery, and for a pending one of a stopped webhook', async (t) => {
    const { s, deliveries } = await open(t, ['pending', 'discarded']);
    for (const { id, state } of deliveries) {
      await leavingNothing(s, () =>
        refused(() => s.deliveries.replay(id, ACTOR), { code: 'invalid_state', says: `the delivery is ${state}` }),
      );
    }
  });
});

describe('replaying a selection', () => {
  const STATES = ['dead', 'delivered', 'dead', 'pending', 'discarded', 'dead'] as const;

  it('replays each replayable delivery once, and returns how many', async (t) => {
    const log = await open(t, STATES);
    const { s, deliveries } = log;
    const wakes = s.wakes();
    const ids = [...deliveries.slice(1), ...deliveries.slice(1, 3)].map(({ id }) => id);
    assert.deepEqual(await s.deliveries.replaySelected([MISSING, 'x', ...ids], ACTOR), { replayed: 3 });
    assert.equal(await statesOf(log), 'dead pending pending pending discarded pending');
    assert.equal(s.wakes(), wakes + 2);
  });

  it('writes one audit entry for each run of consecutive records', async (t) => {
    const { s, webhookId, deliveries } = await open(t, STATES);
    const ids = deliveries.map(({ id }) => id).toReversed();
    assert.deepEqual(await s.deliveries.replaySelected(ids, ACTOR), { replayed: 4 });
    const [second, first] = await s.store.audit.list(null, 2);
    assert.deepEqual(
      [first?.actor, first?.action, first?.target, first?.changes.records?.to],
      [ACTOR.actor, 'webhook.replay', `webhook:${webhookId}`, { firstOffset: 0, lastOffset: 2 }],
    );
    assert.deepEqual([second?.action, second?.target], ['delivery.replay', `delivery:${deliveries[5]?.id}`]);
  });

  it('without replayable deliveries changes nothing', async (t) => {
    const { s, deliveries } = await open(t, STATES);
    const ids = deliveries.slice(3, 5).map(({ id }) => id);
    await leavingNothing(s, async () => {
      assert.deepEqual(await s.deliveries.replaySelected(ids, ACTOR), { replayed: 0 });
      assert.deepEqual(await s.deliveries.replaySelected([], ACTOR), { replayed: 0 });
    });
  });
});

describe('the content of a delivery', () => {
  it('is the data of its event, until that is erased', async (t) => {
    const { s, deliveries } = await open(t, ['dead']);
    const id = deliveries[0]?.id ?? '';
    const { correlationId, ...content } = await s.deliveries.content(id);
    assert.deepEqual(content, { dataJson: '{"n":0}', erasedAt: null, actorId: null });
    assert.match(correlationId, /^[0-9a-f-]{36}$/);
    await s.database.commit([{ sql: `UPDATE event SET data = NULL, erased_at = ${NOW + 5}`, params: {} }]);
    const { dataJson, erasedAt } = await s.deliveries.content(id);
    assert.deepEqual([dataJson, erasedAt], [null, NOW + 5]);
    await refused(() => s.deliveries.content(MISSING), { code: 'not_found' });
  });
});

describe('replaying a part of a webhook’s log', () => {
  const STATES = ['delivered', 'dead', 'discarded', 'dead', 'pending', 'delivered'] as const;
  const at = (second: number): string => new Date(NOW + second * 1000).toISOString();

  const table: readonly [what: string, body: Record<string, unknown>, replayed: number, after: string][] = [
    ['what is dead, where nothing is said', {}, 2, 'delivered pending discarded pending pending delivered'],
    [
      'delivered and dead ones, where a time is said',
      { since: at(0), until: at(2) },
      2,
      'pending pending discarded dead pending delivered',
    ],
    [
      'from since on',
      { since: at(3), states: ['delivered', 'dead'] },
      2,
      'delivered dead discarded pending pending pending',
    ],
    ['before until', { until: at(3), states: ['dead'] }, 1, 'delivered pending discarded dead pending delivered'],
    ['of one state', { states: ['delivered'] }, 2, 'pending dead discarded dead pending pending'],
    [
      'nothing, where nothing happened',
      { since: at(60), until: at(61) },
      0,
      'delivered dead discarded dead pending delivered',
    ],
    [
      'instants in any zone',
      { since: at(0).replace('Z', '+00:00'), until: new Date(NOW + 3_602_000).toISOString().replace('Z', '+01:00') },
      2,
      'pending pending discarded dead pending delivered',
    ],
    ['nothing of no state', { states: [] }, 0, 'delivered dead discarded dead pending delivered'],
  ];
  for (const [what, body, replayed, after] of table) {
    it(`takes ${what}`, async (t) => {
      const log = await open(t, STATES);
      const { s, webhookId } = log;
      const count = await leavingNothing(s, () => s.deliveries.countReplay(webhookId, body));
      assert.equal(count, replayed, 'counted before');
      assert.deepEqual(await log.s.webhooks.replay(log.webhookId, body, ACTOR), { replayed });
      assert.equal(await statesOf(log), after);
    });
  }

  it('goes to the end of the log without an end, even after the clock was set back', async (t) => {
    const bodies = [{}, { states: ['dead', 'delivered'] }, { since: at(0), states: ['dead', 'delivered'] }];
    for (const body of bodies) {
      const { s, webhookId } = await open(t, STATES);
      s.advance(-2 * 86_400_000);
      const expected = { replayed: body.states === undefined ? 2 : 4 };
      assert.equal(await s.deliveries.countReplay(webhookId, body), expected.replayed);
      assert.deepEqual(await s.webhooks.replay(webhookId, body, ACTOR), expected);
    }
  });

  it('is audited with its range, and wakes the dispatcher', async (t) => {
    const { s, webhookId } = await open(t, STATES);
    const wakes = s.wakes();
    await s.webhooks.replay(webhookId, { since: at(0) }, ACTOR);
    const [entry] = await s.store.audit.list(null, 1);
    assert.deepEqual([entry?.action, entry?.target], ['webhook.replay', `webhook:${webhookId}`]);
    assert.deepEqual(entry?.changes.records?.to, { since: at(0), until: null, states: ['delivered', 'dead'] });
    assert.equal(s.wakes(), wakes + 1);
  });

  const bad: readonly [body: unknown, field: string][] = [
    [{ since: '2026-11-21' }, 'since'],
    [{ until: 'yesterday' }, 'until'],
    [{ since: 5 }, 'since'],
    [{ since: at(5), until: at(5) }, 'until'],
    [{ since: at(5), until: at(4) }, 'until'],
    [{ states: 'dead' }, 'states'],
    [{ states: ['lost'] }, 'states[0]'],
    [{ states: ['dead', 'pending'] }, 'states[1]'],
    [{ states: ['discarded'] }, 'states[0]'],
    [{ states: ['dead', 'dead'] }, 'states[1]'],
    [{ offsets: [1] }, 'offsets'],
    [[], 'body'],
  ];
  for (const [body, field] of bad) {
    it(`is refused for ${JSON.stringify(body)}`, async (t) => {
      const { s, webhookId } = await open(t, STATES);
      await leavingNothing(s, () =>
        refused(() => s.webhooks.replay(webhookId, body, ACTOR), { code: 'validation_failed', fields: [field] }),
      );
      await refused(() => s.deliveries.countReplay(webhookId, body), { code: 'validation_failed', fields: [field] });
    });
  }

  it('is refused for an unknown webhook', async (t) => {
    const { s } = await open(t, []);
    await leavingNothing(s, () => refused(() => s.webhooks.replay(MISSING, {}, ACTOR), { code: 'not_found' }));
    await refused(() => s.deliveries.countReplay(MISSING, {}), { code: 'not_found' });
  });
});
