import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileFilter, FILTER_STEPS, filterProblem } from '../../src/domain/filter.ts';
import { FILTER_PATHS, filterPaths } from '../../src/webhooks/filter-paths.ts';

const described = (name: string, dataSchema: object | null, sample: object | null) =>
  ({ name, dataSchema, sample }) as Parameters<typeof filterPaths>[0][number];

describe('the paths of event types', () => {
  it('are those of their schemas and samples, with types, descriptions and values', () => {
    const schema = {
      type: 'object',
      properties: {
        total: { type: 'number', description: 'With tax.', examples: [19.9] },
        state: { enum: ['open', 'paid'] },
        customer: { $ref: '#/$defs/customer' },
        lines: { type: 'array', items: { properties: { sku: { type: 'string' } } } },
        'no.path': { type: 'string' },
      },
      allOf: [{ properties: { note: { type: ['string', 'null'] } } }],
      $defs: { customer: { type: 'object', properties: { country: { const: 'DE' } } } },
    };
    const paths = filterPaths(
      [described('order.placed', schema, { total: 5, vat: { rate: 19 } }), described('order.paid', null, null)],
      [{ total: 7, lines: [{ sku: 'a1' }], long: 'x'.repeat(200) }],
    );
    assert.deepEqual(
      paths.map(({ path, types, values }) => [path, types.join(' '), values]),
      [
        ['type', 'string', ['order.placed', 'order.paid']],
        ['subject', 'string null', []],
        ['data.customer', 'object', []],
        ['data.customer.country', '', ['DE']],
        ['data.lines', 'array', []],
        ['data.lines.0', 'object', []],
        ['data.lines.0.sku', 'string', ['a1']],
        ['data.long', 'string', []],
        ['data.note', 'null string', []],
        ['data.state', '', ['open', 'paid']],
        ['data.total', 'number', [19.9, 5, 7]],
        ['data.vat', 'object', []],
        ['data.vat.rate', 'number', [19]],
      ],
    );
    assert.equal(paths.find(({ path }) => path === 'data.total')?.description, 'With tax.');
  });

  it('can all be named by a filter, which passes the sample that they come from', () => {
    const sample = { a: { 'b c': [1, { __proto__x: true }] }, 'ü~/': 0, constructor: 'x' };
    for (const { path, values } of filterPaths([described('a.b', null, sample)])) {
      const [value] = values;
      const filter = value === undefined ? { [path]: { $exist: true } } : { [path]: value };
      assert.equal(filterProblem(filter), null, path);
      assert.equal(compileFilter(filter)({ type: 'a.b', subject: null, data: sample }), true, path);
    }
  });

  it('are bounded, also those of a schema that refers to itself', () => {
    const tree = { type: 'object', properties: { left: { $ref: '#' }, right: { $ref: '#' } } };
    const paths = filterPaths([described('a.b', tree, null)]).map(({ path }) => path);
    assert.ok(paths.length <= FILTER_PATHS + 2);
    for (const path of paths) assert.ok(path.split('.').length <= FILTER_STEPS + 1, path);
    const circle = { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] } } };
    assert.deepEqual(
      filterPaths([described('a.b', circle, null)]).map(({ path }) => path),
      ['type', 'subject'],
    );
    const wide = { anyOf: Array.from({ length: 5000 }, () => ({ $ref: '#' })), properties: { next: { $ref: '#' } } };
    assert.equal(filterPaths([described('a.b', wide, null)]).length, 2);
    const chain = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [i, { $ref: `#/$defs/${i + 1}` }]));
    const long = { $ref: '#/$defs/0', $defs: { ...chain, 3000: { properties: { end: { type: 'string' } } } } };
    assert.equal(filterPaths([described('a.b', long, null)]).at(-1)?.path, 'data.end');
    const deep = Array.from({ length: 30 }).reduce((within: object) => ({ a: within }), {});
    const longest = filterPaths([described('a.b', null, deep)]).at(-1)?.path ?? '';
    assert.equal(longest, `data${'.a'.repeat(FILTER_STEPS)}`);
  });
});
