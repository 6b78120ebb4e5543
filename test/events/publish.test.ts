import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SCHEMA_EVENT_MS } from '../../src/events/data-schemas.ts';
import { EVENT_DATA_BYTES } from '../../src/events/limits.ts';
import { JSON_DEPTH_MAX } from '../../src/kernel/validation.ts';
import { logs } from '../support/events.ts';
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

const HOUR_MS = 3_600_000;
const ME = actingAs('application 1');
const order = (more: Record<string, unknown> = {}) => ({ type: 'order.placed', data: { n: 1 }, ...more });

/** Services that know `order.placed` and have one webhook that takes every order. */
async function openShop(t: Parameters<typeof openTestServices>[0]): Promise<TestServices> {
  const s = await openTestServices(t);
  await makeEventType(s, 'order.placed');
  await makeWebhook(s, ['order.*']);
  return s;
}

describe('publishing an event', () => {
  it('appends it, returns its id, and wakes the dispatcher', async (t) => {
    const s = await openShop(t);
    const accepted = await s.publish(order({ subject: 'p', correlationId: 'c', actorId: 'a' }), ME);
    const [event] = await s.rows('SELECT id, type, data, subject, correlation_id, actor_id, created_at FROM event');
    assert.deepEqual(accepted, { accepted: 1, duplicates: 0, events: [{ id: event?.id, duplicate: false }] });
    const { id, ...rest } = event ?? {};
    assert.deepEqual(rest, {
      type: 'order.placed',
      data: '{"n":1}',
      subject: 'p',
      correlation_id: 'c',
      actor_id: 'a',
      created_at: NOW,
    });
    assert.deepEqual([...(await logs(s)).values()], [[[0, id]]]);
    assert.equal(s.wakes(), 1);
  });

  it('gives it a correlation id if absent, and treats null as absent', async (t) => {
    const s = await openShop(t);
    await s.publish(order({ subject: null, correlationId: null, actorId: null, idempotencyKey: null }), ME);
    const [event] = await s.rows('SELECT subject, correlation_id, actor_id FROM event');
    assert.match(String(event?.correlation_id), /^[0-9a-f-]{36}$/);
    assert.deepEqual([event?.subject, event?.actor_id], [null, null]);
    assert.deepEqual(await s.rows('SELECT * FROM idempotency'), []);
  });

  it('uses the employee as the subject of an employee event', async (t) => {
    const s = await openShop(t);
    await s.publish(
      {
        events: [
          { type: 'employee.created', data: { userId: 'u1' } },
          { type: 'employee.created', data: {} },
        ],
      },
      ME,
    );
    assert.deepEqual(
      (await s.rows('SELECT subject FROM event')).map(({ subject }) => subject),
      ['u1', null],
    );
  });

  it('appends the events of a request in order', async (t) => {
    const s = await openShop(t);
    const { accepted, events } = await s.publish({ events: [1, 2, 3].map((n) => order({ data: { n } })) }, ME);
    assert.equal(accepted, 3);
    assert.deepEqual([...(await logs(s)).values()], [events.map(({ id }, n) => [n, id])]);
    assert.deepEqual(
      (await s.rows('SELECT data FROM event ORDER BY key')).map(({ data }) => data),
      ['{"n":1}', '{"n":2}', '{"n":3}'],
    );
  });

  it('accepts 1,000 events, and data of 256 KiB', async (t) => {
    const s = await openShop(t);
    const filler = 'x'.repeat(EVENT_DATA_BYTES - '{"a":""}'.length);
    const events = Array.from({ length: 999 }, () => order());
    assert.equal((await s.publish({ events: [...events, order({ data: { a: filler } })] }, ME)).accepted, 1000);
  });
});

describe('an idempotency key', () => {
  it('returns the same event for 24 hours, and counts it as a duplicate', async (t) => {
    const s = await openShop(t);
    const first = await s.publish(order({ idempotencyKey: 'k' }), ME);
    const id = first.events[0]?.id ?? '';
    const again = { accepted: 0, duplicates: 1, events: [{ id, duplicate: true }] };
    await leavingNothing(s, async () => assert.deepEqual(await s.publish(order({ idempotencyKey: 'k' }), ME), again));
    s.advance(24 * HOUR_MS - 1);
    await leavingNothing(s, async () => assert.deepEqual(await s.publish(order({ idempotencyKey: 'k' }), ME), again));
    s.advance(1);
    assert.deepEqual((await s.publish(order({ idempotencyKey: 'k' }), ME)).accepted, 1);
  });

  const full = { data: { n: 1, of: { a: [1, 2], b: null } }, subject: 'p', correlationId: 'c', actorId: 'a' };
  const others: readonly [what: string, more: Record<string, unknown>][] = [
    ['another type', { ...full, type: 'order.paid' }],
    ['another value in its data', { ...full, data: { n: 1, of: { a: [1, 3], b: null } } }],
    ['a list in another order', { ...full, data: { n: 1, of: { a: [2, 1], b: null } } }],
    ['a text in place of a number', { ...full, data: { n: '1', of: { a: [1, 2], b: null } } }],
    ['one member less', { ...full, data: { n: 1, of: { a: [1, 2] } } }],
    ['another subject', { ...full, subject: 'q' }],
    ['no subject', { ...full, subject: null }],
    ['another correlation id', { ...full, correlationId: 'd' }],
    ['another actor', { ...full, actorId: 'b' }],
  ];
  for (const [what, more] of others) {
    it(`with ${what} is refused, and nothing of the request is stored`, async (t) => {
      const s = await openShop(t);
      await makeEventType(s, 'order.paid');
      await s.publish(order({ ...full, idempotencyKey: 'k' }), ME);
      const request = { events: [order(), order({ ...more, idempotencyKey: 'k' }), order({ idempotencyKey: 'new' })] };
      await leavingNothing(s, () =>
        refused(() => s.publish(request, ME), {
          code: 'idempotency_conflict',
          fields: ['events[1].idempotencyKey'],
        }),
      );
      assert.equal((await s.publish(order({ ...more, idempotencyKey: 'k' }), actingAs('application 2'))).accepted, 1);
    });
  }

  it('ignores the order of members, and treats null as absent', async (t) => {
    const s = await openShop(t);
    await s.publish(order({ data: { n: 1, of: { a: [1, 2], b: null } }, subject: 'p', idempotencyKey: 'k' }), ME);
    const again = { subject: 'p', actorId: null, data: { of: { b: null, a: [1, 2] }, n: 1 }, idempotencyKey: 'k' };
    assert.equal((await s.publish(order(again), ME)).duplicates, 1);
  });

  it('with other content twice in one request is refused', async (t) => {
    const s = await openShop(t);
    const events = [order({ idempotencyKey: 'k' }), order({ idempotencyKey: 'k', data: { n: 2 } })];
    await leavingNothing(s, () =>
      refused(() => s.publish({ events }, ME), { code: 'idempotency_conflict', fields: ['events[1].idempotencyKey'] }),
    );
  });

  it('of two concurrent requests with different content lets one in', async (t) => {
    const s = await openShop(t);
    const results = await Promise.allSettled(
      [1, 2].map((n) => s.publish(order({ idempotencyKey: 'k', data: { n } }), ME)),
    );
    assert.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
    assert.equal((await s.rows('SELECT id FROM event')).length, 1);
  });

  it('may be used for other content once it has expired', async (t) => {
    const s = await openShop(t);
    await s.publish(order({ idempotencyKey: 'k' }), ME);
    s.advance(24 * HOUR_MS);
    assert.equal((await s.publish(order({ idempotencyKey: 'k', data: { n: 2 } }), ME)).accepted, 1);
  });

  it('of an erased event publishes nothing again, and no hash of the erased data is left', async (t) => {
    const s = await openShop(t);
    await s.publish(order({ idempotencyKey: 'k', subject: 'ada' }), ME);
    assert.equal((await s.rows('SELECT id FROM event WHERE content_hash IS NOT NULL')).length, 1);
    await s.erasures.erase({ subject: 'ada' }, ACTOR);
    assert.equal((await s.rows('SELECT id FROM event WHERE content_hash IS NOT NULL')).length, 0);
    await leavingNothing(s, async () => {
      for (const n of [1, 2]) {
        const again = await s.publish(order({ idempotencyKey: 'k', subject: 'ada', data: { n } }), ME);
        assert.deepEqual([again.accepted, again.duplicates], [0, 1]);
      }
    });
  });

  it('belongs to one publisher', async (t) => {
    const s = await openShop(t);
    const [mine] = (await s.publish(order({ idempotencyKey: 'k' }), ME)).events;
    const [theirs] = (await s.publish(order({ idempotencyKey: 'k' }), actingAs('application 2'))).events;
    assert.notEqual(mine?.id, theirs?.id);
    assert.equal(theirs?.duplicate, false);
  });

  it('counts within one request', async (t) => {
    const s = await openShop(t);
    const { accepted, duplicates, events } = await s.publish(
      { events: [order({ idempotencyKey: 'k' }), order(), order({ idempotencyKey: 'k' })] },
      ME,
    );
    assert.deepEqual([accepted, duplicates, events.map(({ duplicate }) => duplicate)], [2, 1, [false, false, true]]);
    assert.equal(events[0]?.id, events[2]?.id);
  });

  it('is not used up by a request that is refused', async (t) => {
    const s = await openShop(t);
    await leavingNothing(s, () =>
      refused(() => s.publish({ events: [order({ idempotencyKey: 'k' }), { type: 'no.such', data: {} }] }, ME), {
        code: 'validation_failed',
      }),
    );
    assert.equal((await s.publish(order({ idempotencyKey: 'k' }), ME)).duplicates, 0);
  });
});

describe('a request to publish', () => {
  let deep: unknown = 1;
  for (let level = 0; level < JSON_DEPTH_MAX; level++) deep = [deep];
  const long = 'x'.repeat(256);
  const table: readonly [what: string, body: unknown, fields: readonly string[]][] = [
    ['that is no object', 'order', ['body']],
    ['that is a list', [order()], ['body']],
    ['without anything', {}, ['type', 'data']],
    ['without data', { type: 'order.placed' }, ['data']],
    ['with data that is a list', order({ data: [] }), ['data']],
    ['with data that is a text', order({ data: '{}' }), ['data']],
    ['of a type that there is not', order({ type: 'order.paid' }), ['type']],
    ['of a type in another case', order({ type: 'Order.placed' }), ['type']],
    ['of a pattern', order({ type: 'order.*' }), ['type']],
    ['of a type that only the service publishes', order({ type: 'webhook.stopped' }), ['type']],
    ['with an unknown field', order({ key: 'k' }), ['key']],
    ['with an id', order({ id: 'x' }), ['id']],
    ['with an empty idempotency key', order({ idempotencyKey: '' }), ['idempotencyKey']],
    ['with an idempotency key of 256 characters', order({ idempotencyKey: long }), ['idempotencyKey']],
    ['with a subject of 201 characters', order({ subject: long.slice(0, 201) }), ['subject']],
    ['with half a character in its subject', order({ subject: 'a\ud800' }), ['subject']],
    ['with half a character in its idempotency key', order({ idempotencyKey: '\udc00' }), ['idempotencyKey']],
    ['with a number for a correlation id', order({ correlationId: 5 }), ['correlationId']],
    ['with data of 256 KiB and a byte', order({ data: { a: 'x'.repeat(EVENT_DATA_BYTES - 7) } }), ['data']],
    [
      'with data that is 256 KiB only in characters',
      order({ data: { a: 'ä'.repeat(EVENT_DATA_BYTES / 2) } }),
      ['data'],
    ],
    [
      'with a number that JSON.parse has rounded',
      order({ data: { n: [Number('12345678901234567890')] } }),
      ['data.n[0]'],
    ],
    ['with a number that is none', order({ data: { n: JSON.parse('-1e400') } }), ['data.n']],
    ['with data that is nested too deep', order({ data: { deep } }), ['data']],
    ['with no events', { events: [] }, ['events']],
    ['with 1,001 events', { events: Array.from({ length: 1001 }, () => order()) }, ['events']],
    ['with an event beside the list', { events: [order()], type: 'order.placed' }, ['type']],
    ['with one bad event among good ones', { events: [order(), order({ type: 'x.y' }), order()] }, ['events[1].type']],
    [
      'with several bad events',
      { events: [order({ data: 1 }), order(), { type: 'order.placed' }] },
      ['events[0].data', 'events[2].data'],
    ],
  ];
  for (const [what, body, fields] of table) {
    it(`is refused whole ${what}, naming the field, without waking the dispatcher`, async (t) => {
      const s = await openShop(t);
      await leavingNothing(s, () => refused(() => s.publish(body, ME), { code: 'validation_failed', fields }));
      assert.equal(s.wakes(), 0);
    });
  }

  it('is refused for data that does not satisfy the type’s schema, naming the place', async (t) => {
    const s = await openShop(t);
    const dataSchema = {
      type: 'object',
      required: ['n'],
      properties: { n: { type: 'integer' }, 'a/b': { items: { type: 'string' } } },
    };
    await s.eventTypes.create({ name: 'order.counted', dataSchema }, ACTOR);
    const counted = (data: unknown) => ({ type: 'order.counted', data });
    const wrong: readonly [data: unknown, field: string][] = [
      [{}, 'data.n'],
      [{ n: 'one' }, 'data.n'],
      [{ n: 1, 'a/b': ['x', 5] }, 'data.a/b[1]'],
    ];
    for (const [data, field] of wrong) {
      await leavingNothing(s, () =>
        refused(() => s.publish(counted(data), ME), { code: 'validation_failed', fields: [field] }),
      );
    }
    assert.equal((await s.publish(counted({ n: 1 }), ME)).accepted, 1);
  });

  it('is refused if the check by the schema would take very long, and nothing else waits for it', async (t) => {
    const s = await openShop(t);
    const $defs: Record<string, unknown> = { a0: { type: 'string' } };
    for (let n = 1; n <= 40; n += 1) {
      const half = { $ref: `#/$defs/a${n - 1}` };
      $defs[`a${n}`] = { allOf: [half, half] };
    }
    const table: readonly [name: string, dataSchema: Readonly<Record<string, unknown>>, a: unknown][] = [
      ['backtracks', { properties: { a: { pattern: '^(a+)+$' } } }, `${'a'.repeat(60)}!`],
      ['compares', { properties: { a: { uniqueItems: true } } }, Array.from({ length: 20_000 }, (_, n) => ({ n }))],
      ['doubles', { $defs, properties: { a: { $ref: '#/$defs/a40' } } }, 'x'],
    ];
    for (const [name, dataSchema, a] of table) {
      const type = `order.${name}`;
      await s.eventTypes.create({ name: type, dataSchema }, ACTOR);
      const body = { events: [order(), { type, data: { a } }, { type, data: { a: 'a' } }] };
      const fields = ['events[1].data'];
      const says = `takes more than ${SCHEMA_EVENT_MS} ms`;
      await leavingNothing(s, () => refused(() => s.publish(body, ME), { code: 'validation_failed', fields, says }));
      if (name === 'doubles') continue;
      assert.equal(
        (await s.publish({ type, data: { a: 'a' } }, ME)).accepted,
        1,
        'data that is checked quickly is accepted',
      );
    }
    assert.equal(s.wakes(), 2);
  });

  for (const [how, dataSchema] of [
    ['by a reference', { $ref: '#' }],
    ['by a dynamic reference', { $dynamicRef: '#x' }],
    ['in a member', { properties: { a: { anyOf: [{ $ref: '#/properties/a' }] } } }],
  ] as const) {
    it(`is refused if the schema refers to itself without end ${how}`, async (t) => {
      const s = await openShop(t);
      await s.eventTypes.create({ name: 'order.endless', dataSchema }, ACTOR);
      await leavingNothing(s, () =>
        refused(() => s.publish({ type: 'order.endless', data: { a: 1 } }, ME), {
          code: 'validation_failed',
          fields: ['data'],
          says: 'refers to itself without end',
        }),
      );
    });
  }

  it('is checked by draft-07 if the schema says so', async (t) => {
    const s = await openShop(t);
    for (const [n, $schema] of [
      'http://json-schema.org/draft-07/schema#',
      'http://json-schema.org/draft-07/schema',
    ].entries()) {
      const type = `order.paired${n}`;
      // A list of schemas under `items` has a meaning there, and none in 2020-12.
      const dataSchema = { $schema, properties: { pair: { items: [{ type: 'integer' }, { type: 'string' }] } } };
      await s.eventTypes.create({ name: type, dataSchema }, ACTOR);
      const wrong = { type, data: { pair: [1, 2] } };
      await leavingNothing(s, () =>
        refused(() => s.publish(wrong, ME), { code: 'validation_failed', fields: ['data.pair[1]'] }),
      );
      assert.equal((await s.publish({ type, data: { pair: [1, 'two'] } }, ME)).accepted, 1);
    }
  });

  it('lists no more than 20 of its problems', async (t) => {
    const s = await openShop(t);
    const events = Array.from({ length: 50 }, () => order({ type: 'x.y' }));
    const { details } = await refused(() => s.publish({ events }, ME), { code: 'validation_failed' });
    assert.equal(details?.length, 20);
  });
});
