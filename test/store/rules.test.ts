/**
 * Rules that each database has as SQL: on random rows, the statements of both do what one plain function says. What a settlement writes,
 * and which webhooks get an event.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Batch, BatchFate } from '../../src/domain/batch.ts';
import { EVERYONE, OPERATOR_ONLY } from '../../src/domain/event.ts';
import { publishStatements } from '../../src/store/shared/events.ts';
import { claimNext, hold, OWNER, publishMany, run } from '../support/batches.ts';
import { newEvent, subscribe } from '../support/events.ts';
import { ACTOR, makeEventType, openTestServices } from '../support/services.ts';

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
});

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
