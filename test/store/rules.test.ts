/**
 * Rules that each database has as SQL: on random rows, the statements of both do what one plain function says. What a settlement writes,
 * and which webhooks get an event.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Batch, BatchFate, Settlement } from '../../src/domain/batch.ts';
import { EVERYONE, OPERATOR_ONLY } from '../../src/domain/event.ts';
import { StaleWrite } from '../../src/store/port/errors.ts';
import { ERASURE_IN_PROGRESS_MS } from '../../src/store/port/limits.ts';
import { publishStatements } from '../../src/store/shared/events.ts';
import { attemptOf, claimNext, hold, OWNER, publishMany, run } from '../support/batches.ts';
import { newEvent, subscribe } from '../support/events.ts';
import { ACTOR, makeEventType, openTestServices } from '../support/services.ts';
import { execute, NOW, type TestStore } from '../support/store.ts';

const flag = fc.boolean();

describe('what a settlement writes', () => {
  const fate = fc.record({
    kind: fc.constantFrom('delivered', 'dead', 'discarded', 'retry', 'release', 'halve'),
    size: fc.integer({ min: 2, max: 4 }),
    laterMs: fc.integer({ min: 1, max: 1000 }),
    contentRefusals: fc.integer({ min: 0, max: 2 }),
  });
  type Given = typeof fate extends fc.Arbitrary<infer T> ? T : never;

  const fateOf = ({ kind, laterMs, contentRefusals }: Given, now: number, halfIds: [string, string]): BatchFate => {
    if (kind === 'retry') return { kind, at: now + laterMs, contentRefusals };
    if (kind === 'release') return { kind, at: now + laterMs };
    if (kind === 'halve') return { kind, at: now + laterMs, halfIds };
    return { kind, at: now };
  };
  type BatchRow = readonly [
    first: number,
    last: number,
    id: string,
    state: string,
    next: number | null,
    settled: number | null,
    attempts: number,
    refusals: number,
  ];
  const rowsOf = ({ firstOffset, lastOffset, id }: Batch, fate: BatchFate): BatchRow[] => {
    const { at } = fate;
    switch (fate.kind) {
      case 'retry':
        return [[firstOffset, lastOffset, id, 'pending', at, null, 1, fate.contentRefusals]];
      case 'release':
        return [[firstOffset, lastOffset, id, 'pending', at, null, 0, 0]];
      case 'halve': {
        const middle = Math.floor((firstOffset + lastOffset) / 2);
        return [
          [firstOffset, middle, fate.halfIds[0], 'pending', at, null, 0, 1],
          [middle + 1, lastOffset, fate.halfIds[1], 'pending', at, null, 0, 1],
        ];
      }
      default:
        return [[firstOffset, lastOffset, id, fate.kind, null, at, 1, 0]];
    }
  };

  it('is the same in one list of statements and in a statement for many webhooks', async (t) => {
    const s = await openTestServices(t);
    await fc.assert(
      fc.asyncProperty(fc.array(fate, { minLength: 1, maxLength: 6 }), flag, async (fates, isAudited) => {
        const number = await subscribe(s, ['order.placed']);
        await run(s, number);
        await publishMany(s, 'order.placed', 24);
        const batches: Batch[] = [];
        for (const { size } of fates) batches.push(await claimNext(s, number, size));
        s.advance(1);
        const now = s.clock();
        const settled = batches.map((batch, at) => ({
          batch,
          fate: fateOf(fates[at] as Given, now, [s.ids.uuid(), s.ids.uuid()]),
          attempt: null,
        }));
        const audit = isAudited ? s.entry() : null;
        const rest = { health: null, changes: [], slow: [], position: null };
        const held = await hold(s, number);
        await s.store.settlements.settle({
          webhookNumber: number,
          hold: held,
          owner: OWNER,
          batches: settled,
          now,
          audit,
          ...rest,
        });
        const written = await s.rows(`
          SELECT first_offset, last_offset, id, state, next_attempt_at, settled_at, attempt_count, content_refusals, lease_owner, updated_at
          FROM batch WHERE webhook_number = ${number} ORDER BY first_offset`);
        const expected = settled.flatMap(({ batch, fate }) => rowsOf(batch, fate).map((row) => [...row, null, now]));
        assert.deepEqual(
          written.map((row) => Object.values(row)),
          expected,
        );
        const pending = expected.reduce(
          (sum, [first, last, , state]) => sum + (state === 'pending' ? Number(last) - Number(first) + 1 : 0),
          0,
        );
        const [progress] = await s.rows(
          `SELECT pending_records FROM webhook_position WHERE webhook_number = ${number}`,
        );
        assert.equal(progress?.pending_records, pending);
        await s.database.commit([{ sql: 'DELETE FROM subscription', params: {} }]);
      }),
      { numRuns: 15 },
    );
  });

  const time = fc.option(fc.integer({ min: NOW, max: NOW + 1000 }), { freq: 2 });
  const step = fc.record({
    isStored: flag,
    isSlow: flag,
    isAudited: flag,
    health: fc.option(
      fc.record({
        state: fc.constantFrom('running', 'running', 'failing'),
        stateReason: fc.option(fc.constant('timeout')),
        stateDetail: fc.option(fc.constant('503')),
        failingSinceAt: time,
        failureStreak: fc.nat(20),
        probeAt: time,
        deadStreak: fc.nat(5),
        sentAt: time,
      }),
    ),
    position: fc.option(fc.record({ ahead: fc.integer({ min: -3, max: 3 }), sentAt: time })),
    attempt: fc.option(
      fc.record({
        hasBody: flag,
        erasedBeforeMs: fc.constantFrom(null, 0, ERASURE_IN_PROGRESS_MS, ERASURE_IN_PROGRESS_MS + 1),
      }),
    ),
  });

  it('of the webhook, of a slow attempt and of an ended one is the same too', async (t) => {
    const s = await openTestServices(t);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 4 }), async (steps) => {
        const webhookNumber = await subscribe(s, ['order.placed']);
        await run(s, webhookNumber);
        await publishMany(s, 'order.placed', 24);
        const held = await hold(s, webhookNumber);
        const read = async (columns: string, from: string): Promise<unknown[][]> =>
          (await s.rows(`SELECT ${columns} FROM ${from}`)).map((row) => Object.values(row));
        const writtenOf = async ({ id }: Batch): Promise<Record<'batch' | 'health' | 'position', unknown[][]>> => ({
          batch: await read(BATCH, `batch WHERE id = '${id}'`),
          health: await read(HEALTH, `webhook_progress WHERE webhook_number = ${webhookNumber}`),
          position: await read(POSITION, `webhook_position WHERE webhook_number = ${webhookNumber}`),
        });
        for (const { isStored, isSlow, isAudited, health, position: moved, attempt: ended } of steps) {
          const batch = await nextBatch(s, webhookNumber, isStored);
          const { firstOffset, lastOffset, id } = batch;
          s.advance(1);
          const now = s.clock();
          const before = await writtenOf(batch);
          const [[covered, sentAt, pending] = []] = before.position;
          const position = moved && { coveredOffset: Number(covered) + moved.ahead, sentAt: moved.sentAt };
          const attempt = ended && attemptOf(s, batch, ended.hasBody ? {} : { responseBody: null });
          if (ended?.erasedBeforeMs != null)
            await execute(
              s,
              `UPDATE event SET data = NULL, erased_at = ${now - ended.erasedBeforeMs} WHERE key IN (SELECT event_key FROM outbox
                WHERE webhook_number = ${webhookNumber} AND record_offset BETWEEN ${firstOffset} AND ${lastOffset})`,
            );
          const writing = s.store.settlements.settle({
            webhookNumber,
            hold: held,
            owner: OWNER,
            batches: [{ batch: null, fate: null, attempt }],
            slow: isSlow ? [batch] : [],
            position,
            now,
            changes: [],
            audit: isAudited ? s.entry() : null,
            health: health as Settlement['health'],
          });
          if (health?.state === 'failing') {
            await assert.rejects(writing, StaleWrite);
            assert.deepEqual(await writtenOf(batch), before);
            continue;
          }
          await writing;
          const row = [firstOffset, lastOffset, 'pending', before.batch[0]?.[3] ?? now, 1, 0, OWNER, now];
          const since = before.health[0]?.[2];
          assert.deepEqual(await writtenOf(batch), {
            batch: isSlow ? [row] : before.batch,
            health: health
              ? [
                  [
                    health.stateReason,
                    health.stateDetail,
                    health.failingSinceAt && (since ?? health.failingSinceAt),
                    health.failureStreak,
                    health.probeAt,
                    health.deadStreak,
                  ],
                ]
              : before.health,
            position: [
              [
                Math.max(Number(covered), position?.coveredOffset ?? 0),
                position ? position.sentAt : sentAt,
                Number(pending) + (isSlow && !isStored ? 2 : 0),
              ],
            ],
          });
          const isKept = ended?.erasedBeforeMs == null || ended.erasedBeforeMs > ERASURE_IN_PROGRESS_MS;
          const { requestHeaders, responseHeaders, responseBody, timings, ...plain } = attempt ?? attemptOf(s, batch);
          const texts = [requestHeaders, isKept ? responseHeaders : null, timings].map(
            (value) => value && JSON.stringify(value),
          );
          assert.deepEqual(
            await read(ATTEMPT, `attempt WHERE batch_id = '${id}'`),
            attempt === null ? [] : [[...Object.values(plain), ...texts, isKept ? responseBody : null]],
          );
        }
      }),
      { numRuns: 25 },
    );
  });
});

/** The columns that a settlement writes. */
const BATCH =
  'first_offset, last_offset, state, next_attempt_at, attempt_count, content_refusals, lease_owner, updated_at';
const HEALTH = 'state_reason, state_detail, failing_since_at, failure_streak, probe_at, dead_streak';
const POSITION = 'covered_offset, sent_at, pending_records';
const ATTEMPT = `id, webhook_number, kind, batch_id, first_offset, last_offset, attempt_number, started_at, response_status, error_class,
  error_message, response_problem, request_headers, response_headers, timings, response_body`;

/** The next two records as a batch without a row, or with one that does not count the attempt yet. */
async function nextBatch(s: TestStore, webhookNumber: number, isStored: boolean): Promise<Batch> {
  const batch = await claimNext(s, webhookNumber, 2);
  if (isStored) await execute(s, `UPDATE batch SET attempt_count = 0, lease_owner = NULL WHERE id = '${batch.id}'`);
  else {
    await execute(s, `DELETE FROM batch WHERE id = '${batch.id}'`);
    await execute(
      s,
      `UPDATE webhook_position SET pending_records = pending_records - 2 WHERE webhook_number = ${webhookNumber}`,
    );
  }
  return { ...batch, isStored };
}

describe('which webhooks get an event', () => {
  const TYPES = { 'order.placed': true, 'order.hidden': false, 'stock.low': true } as const;
  const PATTERNS = ['order.placed', 'order.hidden', 'order.*', 'stock.*', '*'];

  it('is the same for one event, for many, and for the event of a change', async (t) => {
    const s = await openTestServices(t);
    for (const [name, isPublic] of Object.entries(TYPES)) await makeEventType(s, name, { public: isPublic });
    const one = await s.customers.create({ name: 'One' }, ACTOR);
    const other = await s.customers.create({ name: 'Other' }, ACTOR);
    const webhooks: { number: number; owner: string | null; pattern: string }[] = [];
    for (const owner of [null, one.id, other.id]) {
      for (const pattern of PATTERNS) {
        webhooks.push({ number: await subscribe(s, [pattern], { customerId: owner }), owner, pattern });
      }
    }
    const asked = fc.record({
      type: fc.constantFrom(...(Object.keys(TYPES) as (keyof typeof TYPES)[])),
      audience: fc.constantFrom(OPERATOR_ONLY, EVERYONE, one.id, other.id),
    });
    const getters = (type: keyof typeof TYPES, audience: string): number[] =>
      webhooks
        .filter(({ pattern }) => ['*', type, `${type.split('.')[0]}.*`].includes(pattern))
        .filter(({ owner }) => owner === null || (TYPES[type] && [owner, EVERYONE].includes(audience)))
        .map(({ number }) => number);
    const publish = {
      single: async (events: ReturnType<typeof newEvent>[]) => {
        for (const event of events) await s.store.events.publish([event]);
      },
      together: async (events: ReturnType<typeof newEvent>[]) => void (await s.store.events.publish(events)),
      'of changes': async (events: ReturnType<typeof newEvent>[]) =>
        void (await s.database.commit(events.flatMap(publishStatements))),
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(asked, { minLength: 1, maxLength: 8 }),
        fc.constantFrom(...(Object.keys(publish) as (keyof typeof publish)[])),
        async (wanted, way) => {
          const events = wanted.map(({ type, audience }) => newEvent(s, type, { audience }));
          await publish[way](events);
          const got = new Map<string, number[]>(events.map(({ id }) => [id, []]));
          const rows = await s.rows(
            'SELECT e.id, o.webhook_number FROM outbox AS o JOIN event AS e ON e.key = o.event_key ORDER BY o.webhook_number',
          );
          for (const { id, webhook_number } of rows) got.get(String(id))?.push(Number(webhook_number));
          const ascending = (a: number, b: number): number => a - b;
          assert.deepEqual(
            events.map(({ id }) => got.get(id)),
            wanted.map(({ type, audience }) => getters(type, audience).sort(ascending)),
          );
        },
      ),
      { numRuns: 30 },
    );
  });
});
