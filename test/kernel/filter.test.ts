import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { compileFilter, type Filter, filterProblem, type Judged } from '../../src/kernel/filter.ts';
import { FILTER_BYTES, FILTER_CONDITIONS, FILTER_DEPTH, FILTER_STEPS } from '../../src/kernel/limits/limits.ts';

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
    address: { city: 'Köln', zip: '50667' },
    'odd-name': 1,
    constructor: 'own',
  },
};

const cases: readonly (readonly [filter: Filter, passes: boolean])[] = [
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
  [{ 'data.lines.length': { $exist: true } }, true],
  [{ 'data.country.length': { $exist: true } }, false],
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

const nots = (levels: number): Filter => (levels === 0 ? { type: 'a.b' } : { $not: nots(levels - 1) });
const conditions = (count: number): Filter => ({ $or: Array.from({ length: count }, () => ({ 'data.n': 1 })) });
const steps = (count: number): Filter => ({ [`data${'.a'.repeat(count)}`]: 1 });
const sized = (bytes: number): Filter => ({ 'data.a': 'x'.repeat(bytes - '{"data.a":""}'.length) });

const refusals: readonly (readonly [filter: Filter, field: string, problem: RegExp])[] = [
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

  it('is logic: $not inverts, $and and $or are those of their parts, and $eq holds for the value itself alone', () => {
    const name = fc.constantFrom('a', 'b', 'c');
    const value = fc.jsonValue({ maxDepth: 2 });
    const data = fc.dictionary(name, value);
    const path = name.map((one) => `data.${one}`);
    const leaf = fc.tuple(path, fc.constantFrom('$eq', '$neq'), fc.jsonValue({ maxDepth: 1 }));
    const filter = leaf.map(([at, operator, wanted]): Filter => ({ [at]: { [operator]: wanted } }));
    fc.assert(
      fc.property(filter, filter, data, name, (one, other, content, member) => {
        fc.pre(filterProblem(one) === null && filterProblem(other) === null);
        const event = { type: 'a.b', subject: null, data: JSON.parse(JSON.stringify(content)) as unknown };
        const passes = (wanted: Filter): boolean => compileFilter(wanted)(event);
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
