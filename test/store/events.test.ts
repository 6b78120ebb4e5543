import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { NewEvent } from '../../src/domain/event.ts';
import { ConstraintViolation } from '../../src/store/port/errors.ts';
import { publishStatements } from '../../src/store/shared/events.ts';
import { idempotency, logs, newEvent, subscribe } from '../support/events.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';
import { leavingNothing, openTestStore } from '../support/store.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

const HOUR_MS = 3_600_000;

/** Of an event type without rules. */
const RULES = {
  dataSchema: null,
  sample: null,
  group: null,
  source: null,
  deprecated: false,
  public: true,
  searchPaths: [],
};

describe('publishing', () => {
  it('appends an event once to the log of each webhook that subscribes by name, category or wildcard, or by several of them', async (t) => {
    const s = await openTestStore(t);
    const byName = await subscribe(s, ['order.placed']);
    const byCategory = await subscribe(s, ['order.*']);
    const all = await subscribe(s, ['*']);
    const thrice = await subscribe(s, ['*', 'order.*', 'order.placed']);
    const others = await subscribe(s, ['order.paid', 'orders.*', 'ord.*', 'placed.*', 'stock.placed']);
    const events = ['order.placed', 'order.paid', 'stock.placed'].map((type) => newEvent(s, type));
    await s.store.events.publish(events);
    const [placed, paid, stock] = events.map(({ id }) => id);
    assert.deepEqual(
      await logs(s),
      new Map([
        [byName, [[0, placed]]],
        [
          byCategory,
          [
            [0, placed],
            [1, paid],
          ],
        ],
        [
          all,
          [
            [0, placed],
            [1, paid],
            [2, stock],
          ],
        ],
        [
          thrice,
          [
            [0, placed],
            [1, paid],
            [2, stock],
          ],
        ],
        [
          others,
          [
            [0, paid],
            [1, stock],
          ],
        ],
      ]),
    );
  });

  it('stores an event without subscribers and gives it to no later webhook', async (t) => {
    const s = await openTestStore(t);
    const event = newEvent(s, 'order.placed', { subject: 'somebody', actorId: 'actor', dataJson: '{"ü":"\\ud800"}' });
    assert.deepEqual(await s.store.events.publish([event]), [{ id: event.id, duplicate: false }]);
    await subscribe(s, ['*']);
    assert.equal((await logs(s)).size, 0);
    const { id, type, correlationId: correlation_id, createdAt: created_at, dataJson: data } = event;
    assert.deepEqual(await s.rows('SELECT id, type, data, subject, correlation_id, actor_id, created_at FROM event'), [
      { id, type, data, subject: 'somebody', correlation_id, actor_id: 'actor', created_at },
    ]);
  });

  it('numbers each log from 0 without gaps or repeats under concurrent publishing', async (t) => {
    const s = await openTestStore(t);
    const types = ['order.placed', 'order.paid', 'stock.low'];
    const webhooks: number[] = [];
    for (const patterns of [['order.*'], ['*'], ['stock.low'], ['order.paid', 'stock.*']])
      webhooks.push(await subscribe(s, patterns));
    const requests = fc.array(fc.array(fc.constantFrom(...types), { minLength: 1, maxLength: 8 }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(requests, async (published) => {
        await Promise.all(published.map((batch) => s.store.events.publish(batch.map((type) => newEvent(s, type)))));
        for (const [webhook, log] of await logs(s)) {
          assert.deepEqual(
            log.map(([offset]) => offset),
            log.map((_, n) => n),
            `webhook ${webhook}`,
          );
          assert.equal(new Set(log.map(([, id]) => id)).size, log.length);
        }
        const next = await s.rows('SELECT webhook_number, next_offset FROM webhook_status ORDER BY webhook_number');
        const sizes = await logs(s);
        assert.deepEqual(
          next.map(({ next_offset }) => next_offset),
          webhooks.map((number) => sizes.get(number)?.length ?? 0),
        );
      }),
      { numRuns: 20 },
    );
  });

  it('keeps the events of one request together and in order', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    const batches = Array.from({ length: 20 }, () => Array.from({ length: 7 }, () => newEvent(s, 'order.placed')));
    await Promise.all(batches.map((batch) => s.store.events.publish(batch)));
    const log = (await logs(s)).get(number)?.map(([, id]) => id) ?? [];
    assert.equal(log.length, 140);
    for (const batch of batches) {
      const ids = batch.map(({ id }) => id);
      const at = log.indexOf(ids[0] ?? '');
      assert.deepEqual(log.slice(at, at + 7), ids);
    }
  });

  it('writes nothing when its transaction is refused: no event, record, key or offset', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    const event = newEvent(s, 'order.placed', {
      idempotency: idempotency(s, 'k', { publisher: 'a' }),
    });
    await leavingNothing(s, async () => {
      const broken = { sql: 'INSERT INTO setting (name, value) VALUES (NULL, NULL)', params: {} };
      await assert.rejects(s.database.commit([...publishStatements(event), broken]), /NOT NULL|check constraint/);
    });
    await leavingNothing(s, async () => {
      const taken = newEvent(s, 'order.placed', { id: event.id, idempotency: null });
      await assert.rejects(s.store.events.publish([event, taken]), ConstraintViolation);
    });
    await s.store.events.publish([event]);
    assert.deepEqual((await logs(s)).get(number), [[0, event.id]]);
  });
});

describe('the events of a type', () => {
  it('are counted since an instant, up to a limit', async (t) => {
    const s = await openTestStore(t);
    const publish = (...types: readonly string[]) => s.store.events.publish(types.map((type) => newEvent(s, type)));
    await publish('order.placed', 'order.paid');
    s.advance(HOUR_MS);
    const since = s.clock();
    await publish('order.placed', 'order.placed', 'order.placed');
    const volumes = (limit: number) => s.store.eventTypes.volumes(['order.placed', 'order.paid', 'none'], since, limit);
    assert.deepEqual([...(await volumes(10))], [['order.placed', 3]]);
    assert.deepEqual([...(await volumes(2))], [['order.placed', 2]]);
  });

  it('have the latest data as a sample, but no long, encrypted or erased data', async (t) => {
    const s = await openTestStore(t);
    const now = s.clock();
    const type = { id: s.ids.uuid(), name: 'order.placed', description: '', builtIn: false, ...RULES };
    const stamp = { createdAt: now, updatedAt: now };
    await s.store.eventTypes.insert({ ...type, ...stamp, encryptionRequired: false }, s.entry());
    const secret = { ...type, ...stamp, id: s.ids.uuid(), name: 'order.paid', encryptionRequired: true };
    await s.store.eventTypes.insert(secret, s.entry());
    const sample = async (name = 'order.placed') => (await s.store.eventTypes.latestSample(name, 100))?.dataJson;
    assert.equal(await sample(), undefined);
    const data = (n: number) => ({ dataJson: JSON.stringify({ n }) });
    const long = { dataJson: JSON.stringify({ n: 'x'.repeat(100) }) };
    for (const more of [data(1), { ...data(2), subject: 'ada' }, long])
      await s.store.events.publish([newEvent(s, 'order.placed', more)]);
    await s.store.events.publish([newEvent(s, 'order.paid', data(3))]);
    assert.equal(await sample(), '{"n":2}');
    assert.equal(await sample('order.paid'), undefined);
    // Hidden from the beginning of the erasure, before the data is overwritten.
    await s.store.erasures.begin({ id: s.ids.uuid(), subject: 'ada', actor: 'user:1', startedAt: now }, s.entry());
    assert.equal(await sample(), '{"n":1}');
  });
});

describe('an idempotency key', () => {
  const keyed = (s: Parameters<typeof newEvent>[0], key: string, publisher = 'application 1'): NewEvent =>
    newEvent(s, 'order.placed', { idempotency: idempotency(s, key, { publisher }) });

  it('returns the id of its first event when it is repeated, and appends nothing', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    const first = keyed(s, 'k');
    assert.deepEqual(await s.store.events.publish([first]), [{ id: first.id, duplicate: false }]);
    await leavingNothing(s, async () => {
      assert.deepEqual(await s.store.events.publish([keyed(s, 'k')]), [{ id: first.id, duplicate: true }]);
    });
    assert.deepEqual((await logs(s)).get(number), [[0, first.id]]);
  });

  it('appends nothing for a duplicate, also if another process made an event with the same row key', async (t) => {
    const s = await openTestStore(t);
    await subscribe(s, ['*']);
    const first = keyed(s, 'k');
    const other = newEvent(s, 'stock.low');
    await s.store.events.publish([first, other]);
    const again = { ...keyed(s, 'k'), id: `${other.id.slice(0, -4)}ffff` };
    await leavingNothing(s, async () => {
      assert.deepEqual(await s.store.events.publish([again]), [{ id: first.id, duplicate: true }]);
    });
  });

  it('applies within one request too, and the other events are appended without a gap', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    const [a, again, b, plain, bAgain] = [
      keyed(s, 'a'),
      keyed(s, 'a'),
      keyed(s, 'b'),
      newEvent(s, 'order.placed'),
      keyed(s, 'b'),
    ];
    assert.deepEqual(await s.store.events.publish([a, again, b, plain, bAgain]), [
      { id: a.id, duplicate: false },
      { id: a.id, duplicate: true },
      { id: b.id, duplicate: false },
      { id: plain.id, duplicate: false },
      { id: b.id, duplicate: true },
    ]);
    assert.deepEqual((await logs(s)).get(number), [
      [0, a.id],
      [1, b.id],
      [2, plain.id],
    ]);
  });

  it('makes one event for concurrent requests, and every response has its id', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    const answers = await Promise.all(Array.from({ length: 50 }, () => s.store.events.publish([keyed(s, 'k')])));
    assert.equal(new Set(answers.map(([answer]) => answer?.id)).size, 1);
    assert.equal(answers.filter(([answer]) => answer?.duplicate === false).length, 1);
    assert.equal((await logs(s)).get(number)?.length, 1);
  });

  it('belongs to its publisher', async (t) => {
    const s = await openTestStore(t);
    const [mine, theirs] = [keyed(s, 'k', 'application 1'), keyed(s, 'k', 'application 2')];
    assert.deepEqual(await s.store.events.publish([mine, theirs]), [
      { id: mine.id, duplicate: false },
      { id: theirs.id, duplicate: false },
    ]);
  });

  it('expires after exactly 24 hours and can then be used for a new event', async (t) => {
    const s = await openTestStore(t);
    const first = keyed(s, 'k');
    await s.store.events.publish([first]);
    s.advance(24 * HOUR_MS - 1);
    assert.deepEqual(await s.store.events.publish([keyed(s, 'k')]), [{ id: first.id, duplicate: true }]);
    s.advance(1);
    const second = keyed(s, 'k');
    assert.deepEqual(await s.store.events.publish([second]), [{ id: second.id, duplicate: false }]);
    assert.deepEqual(await s.store.events.publish([keyed(s, 'k')]), [{ id: second.id, duplicate: true }]);
    assert.equal((await s.rows('SELECT id FROM event')).length, 2);
  });
});
