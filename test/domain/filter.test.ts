import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  compileFilter,
  type EventFilter,
  FILTER_BYTES,
  FILTER_CONDITIONS,
  FILTER_DEPTH,
  FILTER_STEPS,
  filterProblem,
  type Judged,
} from '../../src/domain/filter.ts';
import { anyEvent, anyFilter } from '../support/filters.ts';

const EVENT: Judged = {
  type: 'order.placed',
  subject: 'person-7',
  data: {
    total: 120.5,
    country: 'DE',
    note: null,
    paid: false,
    lines: [
      { sku: 'a1', count: 2 },
      { sku: 'b2', count: 1 },
    ],
    sizes: { length: 'M' },
    address: { city: 'Köln', zip: '50667' },
    'odd-name': 1,
    constructor: 'own',
  },
};

const cases: readonly (readonly [filter: EventFilter, passes: boolean])[] = [
  [{}, true],
  [{ type: 'order.placed' }, true],
  [{ type: 'order.paid' }, false],
  [{ type: { $startsWith: 'order.' } }, true],
  [{ subject: 'person-7' }, true],
  [{ subject: { $neq: 'person-7' } }, false],
  [{ 'data.total': { $gte: 120.5 } }, true],
  [{ 'data.total': { $gt: 120.5 } }, false],
  [{ 'data.total': { $lt: 121, $gt: 120 } }, true],
  [{ 'data.total': { $lte: 120 } }, false],
  [{ 'data.total': '120.5' }, false],
  [{ 'data.total': { $gte: '1' } }, false],
  [{ 'data.country': { $gte: 'DD', $lt: 'DF' } }, true],
  [{ 'data.country': { $in: ['DE', 'FR'] } }, true],
  [{ 'data.country': { $nin: ['DE', 'FR'] } }, false],
  [{ 'data.country': { $startsWith: 'd' } }, false],
  [{ 'data.country': { $endsWith: 'E' } }, true],
  [{ 'data.country': { $endsWith: 'e' } }, false],
  [{ 'data.total': { $endsWith: '5' } }, false],
  [{ 'data.missing': { $endsWith: '' } }, false],
  [{ type: { $startsWith: 'order.', $endsWith: '.placed' } }, true],
  [{ 'data.note': null }, true],
  [{ 'data.note': { $exist: true } }, true],
  [{ 'data.missing': null }, false],
  [{ 'data.missing': { $exist: false } }, true],
  [{ 'data.missing': { $neq: 1 } }, true],
  [{ 'data.missing': { $nin: [1] } }, true],
  [{ 'data.missing': { $lt: 1 } }, false],
  [{ 'data.paid': false }, true],
  [{ 'data.paid': 0 }, false],
  [{ 'data.lines.1.sku': 'b2' }, true],
  [{ 'data.lines.2.sku': { $exist: true } }, false],
  [{ 'data.lines.length': { $exist: true } }, false],
  [{ 'data.country.length': { $exist: true } }, false],
  [{ 'data.sizes.length': 'M' }, true],
  [
    {
      'data.lines': [
        { count: 2, sku: 'a1' },
        { sku: 'b2', count: 1 },
      ],
    },
    true,
  ],
  [{ 'data.lines': [{ sku: 'a1' }, { sku: 'b2' }] }, false],
  [{ 'data.address': { zip: '50667', city: 'Köln' } }, true],
  [{ 'data.address': { zip: '50667' } }, false],
  [{ 'data.address': { $in: [{ city: 'Köln', zip: '50667' }] } }, true],
  [{ 'data.odd-name': 1 }, true],
  [{ 'data.constructor': 'own' }, true],
  [{ 'data.address.constructor': { $exist: true } }, false],
  [{ 'data.__proto__': { $exist: true } }, false],
  [{ data: { $exist: true } }, true],
  [{ 'data.total': 120.5, 'data.country': 'FR' }, false],
  [{ $and: [{ 'data.total': { $gt: 1 } }, { 'data.country': 'DE' }] }, true],
  [{ $or: [{ 'data.total': { $gt: 1000 } }, { 'data.country': 'DE' }] }, true],
  [{ $or: [{ 'data.total': { $gt: 1000 } }, { 'data.country': 'FR' }] }, false],
  [{ $not: { 'data.country': 'FR' } }, true],
  [{ 'data.total': { $not: { $gt: 1000 } } }, true],
  [{ 'data.total': { $or: [{ $lt: 10 }, { $gt: 100 }] } }, true],
  [{ 'data.total': { $and: [{ $gt: 10 }, { $lt: 100 }] } }, false],
];

const nots = (levels: number): EventFilter => (levels === 0 ? { type: 'a.b' } : { $not: nots(levels - 1) });
const conditions = (count: number): EventFilter => ({ $or: Array.from({ length: count }, () => ({ 'data.n': 1 })) });
const steps = (count: number): EventFilter => ({ [`data${'.a'.repeat(count)}`]: 1 });
const sized = (bytes: number): EventFilter => ({ 'data.a': 'x'.repeat(bytes - '{"data.a":""}'.length) });

const refusals: readonly (readonly [filter: EventFilter, field: string, problem: RegExp])[] = [
  [{ total: 1 }, 'filter.total', /must begin with type, subject or data/],
  [{ 'type.x': 1 }, 'filter.type.x', /type has no members/],
  [{ $nor: [] }, 'filter.$nor', /is not an operator here/],
  [{ $or: [] }, 'filter.$or', /at least one item/],
  [{ $or: { type: 'a.b' } }, 'filter.$or', /must be a list/],
  [{ $or: ['a.b'] }, 'filter.$or[0]', /must be an object/],
  [{ $and: [{ type: 'a.b' }, { x: 1 }] }, 'filter.$and[1].x', /is not a path/],
  [{ 'data.a': { $regex: '.*' } }, 'filter.data.a.$regex', /is not an operator: use \$eq, .* or \$not/],
  [{ 'data.a': { $gt: 1, b: 2 } }, 'filter.data.a.b', /is not an operator/],
  [{ 'data.a': { constructor: 1, $gt: 1 } }, 'filter.data.a.constructor', /is not an operator/],
  [{ 'data.a': { b: { $gt: 1 } } }, 'filter.data.a.b.$gt', /write the whole path/],
  [{ 'data.a': { $gt: null } }, 'filter.data.a.$gt', /must be a number or a string/],
  [{ 'data.a': { $in: 'DE' } }, 'filter.data.a.$in', /must be a list/],
  [{ 'data.a': { $startsWith: 1 } }, 'filter.data.a.$startsWith', /must be a string/],
  [{ 'data.a': { $endsWith: null } }, 'filter.data.a.$endsWith', /must be a string/],
  [{ 'data.a': { $in: [] } }, 'filter.data.a.$in', /at least one item/],
  [{ 'data.a': { $lte: [1] } }, 'filter.data.a.$lte', /must be a number or a string/],
  [{ $not: [{ type: 'a.b' }] }, 'filter.$not', /must be an object/],
  [{ 'data.a': { $exist: 'yes' } }, 'filter.data.a.$exist', /true or false/],
  [nots(FILTER_DEPTH), `filter${'.$not'.repeat(FILTER_DEPTH)}`, /deeper than 8/],
  [conditions(FILTER_CONDITIONS + 1), 'filter', /more than 50 conditions/],
  [steps(FILTER_STEPS + 1), `filter.data${'.a'.repeat(FILTER_STEPS + 1)}`, /more than 20 steps/],
  [sized(FILTER_BYTES + 1), 'filter', /at most 16384 bytes/],
];

describe('a filter', () => {
  for (const [filter, passes] of cases) {
    it(`${JSON.stringify(filter)} ${passes ? 'lets the event pass' : 'stops the event'}`, () => {
      assert.equal(filterProblem(filter), null);
      assert.equal(compileFilter(filter)(EVENT), passes);
    });
  }

  it('passes no event about nobody by its subject', () => {
    const nobody = { ...EVENT, subject: null };
    assert.equal(compileFilter({ subject: { $startsWith: '' } })(nobody), false);
    assert.equal(compileFilter({ subject: null })(nobody), true);
  });

  for (const [filter, field, problem] of refusals) {
    it(`${JSON.stringify(filter).slice(0, 60)} is refused at ${field.slice(0, 40)}`, () => {
      const found = filterProblem(filter);
      assert.equal(found?.field, field);
      assert.match(found?.problem ?? '', problem);
    });
  }

  it('may be as large as the bounds say', () => {
    for (const filter of [
      nots(FILTER_DEPTH - 1),
      conditions(FILTER_CONDITIONS),
      steps(FILTER_STEPS),
      sized(FILTER_BYTES),
    ])
      assert.equal(filterProblem(filter), null);
  });

  it('is logic: $not inverts, $and and $or are those of their parts, and $eq holds only for the value itself', () => {
    const name = fc.constantFrom('a', 'b', 'c');
    const value = fc.jsonValue({ maxDepth: 2 });
    const data = fc.dictionary(name, value);
    const path = name.map((one) => `data.${one}`);
    const leaf = fc.tuple(path, fc.constantFrom('$eq', '$neq'), fc.jsonValue({ maxDepth: 1 }));
    const filter = leaf.map(([at, operator, wanted]): EventFilter => ({ [at]: { [operator]: wanted } }));
    fc.assert(
      fc.property(filter, filter, data, name, (one, other, content, member) => {
        fc.pre(filterProblem(one) === null && filterProblem(other) === null);
        const event = { type: 'a.b', subject: null, data: JSON.parse(JSON.stringify(content)) as unknown };
        const passes = (wanted: EventFilter): boolean => compileFilter(wanted)(event);
        assert.equal(passes({ $not: one }), !passes(one));
        assert.equal(passes({ $and: [one, other] }), passes(one) && passes(other));
        assert.equal(passes({ $or: [one, other] }), passes(one) || passes(other));
        const held = (event.data as Record<string, unknown>)[member];
        assert.equal(passes({ [`data.${member}`]: { $exist: true } }), held !== undefined);
        if (held !== undefined) assert.equal(passes({ [`data.${member}`]: { $eq: held } }), true);
      }),
    );
  });
});

describe('a compiled filter', () => {
  it('passes exactly the events that the rules of the contract let pass, read one by one', () => {
    let passed = 0;
    let judged = 0;
    fc.assert(
      fc.property(anyFilter, anyEvent, (filter, event) => {
        assert.equal(filterProblem(filter), null, JSON.stringify(filter));
        const expected = slowly(filter, event);
        assert.equal(compileFilter(filter)(event), expected);
        judged += 1;
        if (expected) passed += 1;
      }),
      { numRuns: 1000 },
    );
    // Else the filters and the events do not fit each other.
    assert.ok(passed > judged / 10 && passed < (judged * 9) / 10, `${passed} of ${judged} passed`);
  });

  it('counts the members of a wide object once, however many objects a filter compares it with', () => {
    const wide = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`m${n}`, n]));
    let counted = 0;
    const data = {
      a: new Proxy(wide, {
        ownKeys: (target) => {
          counted += 1;
          return Reflect.ownKeys(target);
        },
      }),
    };
    const many = Array.from({ length: 500 }, (_, n) => ({ [`m${n}`]: n }));
    const filter = { $or: [{ 'data.a': { $in: many } }, { 'data.a': { $in: [{}, ...many] } }] };
    assert.equal(filterProblem(filter), null);
    assert.equal(compileFilter(filter)({ type: 'a.b', subject: null, data }), false);
    assert.equal(counted, 1);
  });
});

/** The rules of contract §7.2 as they stand there, without a thought of speed. */
function slowly(filter: EventFilter, event: Judged): boolean {
  return Object.entries(filter).every(([name, value]) => {
    const filters = value as readonly EventFilter[];
    if (name === '$and') return filters.every((one) => slowly(one, event));
    if (name === '$or') return filters.some((one) => slowly(one, event));
    if (name === '$not') return !slowly(value as EventFilter, event);
    return holds(value, membersAt(event, name.split('.')));
  });
}

/** The value at a path as a list of one, or an empty list if it is missing. */
function membersAt(event: unknown, [step, ...rest]: readonly string[]): readonly unknown[] {
  if (step === undefined) return [event];
  if (typeof event !== 'object' || event === null) return [];
  // A list has items, and its length is no member of the event's data.
  const own = Array.isArray(event) && step === 'length' ? undefined : Object.getOwnPropertyDescriptor(event, step);
  return own === undefined ? [] : membersAt(own.value, rest);
}

function holds(condition: unknown, found: readonly unknown[]): boolean {
  const isOperators =
    typeof condition === 'object' && condition !== null && Object.keys(condition).some((name) => name.startsWith('$'));
  if (!isOperators) return found.some((value) => same(value, condition));
  return Object.entries(condition).every(([name, wanted]) => {
    const any = wanted as readonly unknown[];
    const order = found.map((value) => ordered(value, wanted));
    switch (name) {
      case '$eq':
        return found.some((value) => same(value, wanted));
      case '$neq':
        return !found.some((value) => same(value, wanted));
      case '$in':
        return found.some((value) => any.some((one) => same(value, one)));
      case '$nin':
        return !found.some((value) => any.some((one) => same(value, one)));
      case '$gt':
        return order.includes('more');
      case '$gte':
        return order.includes('more') || order.includes('same');
      case '$lt':
        return order.includes('less');
      case '$lte':
        return order.includes('less') || order.includes('same');
      case '$startsWith':
        return found.some((value) => typeof value === 'string' && value.slice(0, String(wanted).length) === wanted);
      case '$endsWith':
        return found.some(
          (value) =>
            typeof value === 'string' &&
            value.length >= String(wanted).length &&
            value.slice(value.length - String(wanted).length) === wanted,
        );
      case '$exist':
        return (found.length === 1) === wanted;
      case '$and':
        return any.every((one) => holds(one, found));
      case '$or':
        return any.some((one) => holds(one, found));
      case '$not':
        return !holds(wanted, found);
      default:
        return assert.fail(name);
    }
  });
}

function same(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

/** JSON with sorted members. Negative zero is zero. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const names = Object.keys(value).sort();
  const members = names.map(
    (name) => `${JSON.stringify(name)}:${canonical(Object.entries(value).find(([one]) => one === name)?.[1])}`,
  );
  return `{${members.join(',')}}`;
}

function ordered(value: unknown, wanted: unknown): 'less' | 'same' | 'more' | null {
  if (typeof value === 'number' && typeof wanted === 'number')
    return value < wanted ? 'less' : value > wanted ? 'more' : 'same';
  if (typeof value !== 'string' || typeof wanted !== 'string') return null;
  for (let at = 0; ; at += 1) {
    if (at === value.length) return at === wanted.length ? 'same' : 'less';
    if (at === wanted.length) return 'more';
    const [a, b] = [value.charCodeAt(at), wanted.charCodeAt(at)];
    if (a !== b) return a < b ? 'less' : 'more';
  }
}
