import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { eventsText } from '../../src/events/publish.ts';
import { Refusal } from '../../src/kernel/refusal.ts';
import { JSON_DEPTH_MAX } from '../../src/kernel/validation.ts';

const cycle: Record<string, unknown> = { name: 'a' };
cycle.self = { again: [cycle] };
const deep: Record<string, unknown> = {};
let innermost = deep;
for (let depth = 0; depth < 100_000; depth += 1) {
  const next = {};
  innermost.a = next;
  innermost = next;
}

const REFUSED: readonly [what: string, data: unknown, field: string, problem: RegExp][] = [
  ['a BigInt', { total: 1n }, 'data.total', /^is a BigInt, .*: send it as a string$/],
  ['a Map', { lines: new Map([['a', 1]]) }, 'data.lines', /^is a Map, which JSON cannot carry/],
  ['a Set', { tags: [new Set()] }, 'data.tags[0]', /^is a Set, /],
  ['a Buffer', { raw: Buffer.from('a') }, 'data.raw', /^is a Buffer, /],
  ['an instance of a class', { price: new URL('https://a.example/') }, 'data.price', /^is a URL, /],
  ['a boxed string', { text: Object('a') }, 'data.text', /^is a String, /],
  ['a function', { total: () => 1 }, 'data.total', /^is a function, /],
  ['a function that JSON.stringify would call', { toJSON: () => 'x' }, 'data.toJSON', /^is a function, /],
  ['a symbol', { total: Symbol('a') }, 'data.total', /^is a symbol, /],
  ['a member named by a symbol', { a: { [Symbol('a')]: 1 } }, 'data.a', /^has a member named by a symbol, /],
  ['undefined', { order: { note: undefined } }, 'data.order.note', /^is undefined, .*: leave it out, or send null$/],
  ['undefined in a list', { lines: [1, undefined] }, 'data.lines[1]', /^is undefined, /],
  // biome-ignore lint/suspicious/noSparseArray: that is the point
  ['a hole in a list', { lines: [1, , 2] }, 'data.lines[1]', /^is undefined, /],
  ['NaN', { total: Number.NaN }, 'data.total', /^is NaN, /],
  ['an infinite number', { total: [Number.NEGATIVE_INFINITY] }, 'data.total[0]', /^is -Infinity, /],
  [
    'an integer that has no double of its own',
    { id: 2 ** 53 },
    'data.id',
    /^is 9007199254740992, a number that is not kept/,
  ],
  ['an invalid Date', { at: new Date('x') }, 'data.at', /^is an invalid Date$/],
  ['a cycle', cycle, 'data.self.again[0]', /^is an object that it is inside of: /],
  ['nesting without end', deep, '', new RegExp(`^must not be nested deeper than ${JSON_DEPTH_MAX}$`)],
];

function refusalOf(input: unknown): Refusal {
  try {
    eventsText(input);
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return error;
  }
  return assert.fail('it was accepted');
}

describe('an event that a program publishes', () => {
  for (const [what, data, field, problem] of REFUSED) {
    it(`is refused with the place of ${what}`, () => {
      const alone = refusalOf({ type: 'order.created', data });
      assert.equal(alone.code, 'validation_failed');
      const [detail] = alone.details ?? [];
      if (field !== '') assert.equal(detail?.field, field);
      assert.match(detail?.problem ?? '', problem);
      const second = refusalOf({
        events: [
          { type: 'order.created', data: {} },
          { type: 'order.created', data },
        ],
      });
      if (field !== '') assert.equal(second.details?.[0]?.field, `events[1].${field}`);
    });
  }

  it('is refused with the name of each such value', () => {
    const { details } = refusalOf({ type: 'order.created', data: { a: 1n, b: 'fine', c: [() => 1] } });
    assert.deepEqual(
      details?.map(({ field }) => field),
      ['data.a', 'data.c[0]'],
    );
  });

  it('may hold a Date, an object twice, and members of any name', () => {
    const shared = { sku: 'a' };
    const data = JSON.parse('{"__proto__":{"a":1},"constructor":null}') as Record<string, unknown>;
    Object.assign(data, { at: new Date(0), lines: [shared, shared], none: Object.create(null) });
    assert.equal(
      eventsText({ type: 'order.created', data, actorId: undefined }),
      '{"type":"order.created","data":{"__proto__":{"a":1},"constructor":null,"at":"1970-01-01T00:00:00.000Z",' +
        '"lines":[{"sku":"a"},{"sku":"a"}],"none":{}}}',
    );
  });

  it('stays unchanged if it is JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const input = { type: 'order.created', data: { value } };
        // Larger integers are refused.
        fc.pre(!/e\+|\d{16}/.test(JSON.stringify(value)));
        assert.equal(eventsText(input), JSON.stringify(input));
      }),
    );
  });
});
