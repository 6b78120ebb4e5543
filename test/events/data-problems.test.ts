/** The messages for data that its schema refuses. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDataSchemas } from '../../src/events/data-schemas.ts';
import { placedProblem } from '../../src/portal/record/json-field.ts';

const ORDER = {
  type: 'object',
  required: ['orderId', 'total', 'currency'],
  properties: {
    orderId: { type: 'string', minLength: 3 },
    total: { type: ['number', 'null'], minimum: 1 },
    currency: { enum: ['CHF', 'EUR'] },
    kind: { const: 'order' },
    lines: { type: 'array', minItems: 1, items: { required: ['sku'], properties: { sku: { type: 'string' } } } },
  },
  additionalProperties: false,
};
const GOOD = { orderId: 'o-1', total: 2, currency: 'CHF' };

/** By the data: each problem as the API says it. */
const CASES: readonly (readonly [data: unknown, ...problems: string[]])[] = [
  [GOOD],
  [
    { orderId: 17, lines: {} },
    'data.total is required',
    'data.currency is required',
    'data.orderId must be a string',
    'data.lines must be a list',
  ],
  [[], 'data must be an object'],
  [{ ...GOOD, total: '2' }, 'data.total must be a number or null'],
  [{ ...GOOD, total: 0.5 }, 'data.total must be at least 1'],
  [{ ...GOOD, orderId: 'o' }, 'data.orderId must have at least 3 characters'],
  [{ ...GOOD, currency: 'USD' }, 'data.currency must be "CHF" or "EUR"'],
  [{ ...GOOD, kind: 'invoice' }, 'data.kind must be "order"'],
  [{ ...GOOD, lines: [] }, 'data.lines must have at least 1 item'],
  [{ ...GOOD, lines: [{ sku: 'a' }, {}] }, 'data.lines[1].sku is required'],
  [{ ...GOOD, totl: 2 }, 'data.totl is unknown'],
];

describe('the problems of data by its schema', () => {
  const schemas = createDataSchemas();
  for (const [data, ...problems] of CASES) {
    it(`${JSON.stringify(data)}: ${problems.length === 0 ? 'none' : problems.join(', ')}`, () => {
      const found = schemas.problemsOfOne(ORDER, data);
      assert.deepEqual(
        found.map(({ field, problem }) => `${field} ${problem}`),
        problems,
      );
    });
  }

  it('lists no long choice', () => {
    const [found] = schemas.problemsOfOne({ enum: Array.from({ length: 99 }, (_, n) => `choice ${n}`) }, 1);
    assert.equal(found?.problem, 'is none of the allowed values');
  });

  it('are one sentence beside the field of a form', () => {
    assert.equal(
      placedProblem(schemas.problemsOfOne(ORDER, { orderId: 17 }), 'data'),
      'total and currency are required; orderId must be a string',
    );
  });
});
