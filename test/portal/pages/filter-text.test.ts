import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Filter, filterProblem } from '../../../src/kernel/filter.ts';
import { filterText } from '../../../src/portal/webhooks/filter-text.ts';

const texts: readonly (readonly [filter: Filter, text: string])[] = [
  [{}, 'any event'],
  [{ type: 'order.placed' }, 'type is "order.placed"'],
  [
    { 'data.total': { $gte: 100, $lt: 1000 }, 'data.country': { $in: ['DE', 'FR'] } },
    'data.total is at least 100 and data.total is less than 1000 and data.country is one of "DE", "FR"',
  ],
  [
    { $or: [{ 'data.total': { $gt: 1 } }, { subject: { $startsWith: 'vip-' }, 'data.note': null }] },
    '(data.total is more than 1 or (subject starts with "vip-" and data.note is null))',
  ],
  [{ $not: { 'data.test': true } }, 'not (data.test is true)'],
  [{ 'data.n': { $not: { $lte: 5 } } }, 'not (data.n is at most 5)'],
  [{ 'data.n': { $or: [{ $neq: 1 }, { $nin: [2, 3] }] } }, '(data.n is not 1 or data.n is none of 2, 3)'],
  [{ 'data.n': { $exist: true }, 'data.m': { $exist: false } }, 'data.n is there and data.m is missing'],
  [{ 'data.address': { city: 'Köln' } }, 'data.address is {"city":"Köln"}'],
  [{ $and: [{ 'data.a': { $eq: 1 } }] }, 'data.a is 1'],
];

describe('a filter in words', () => {
  for (const [filter, text] of texts) {
    it(text, () => {
      assert.equal(filterProblem(filter), null);
      assert.equal(filterText(filter), text);
    });
  }
});
