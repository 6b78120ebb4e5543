import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { compileFilter, type EventFilter, filterProblem, type Judged } from '../../src/domain/filter.ts';
import { filterText, whyNot } from '../../src/domain/filter-text.ts';
import { anyEvent, anyFilter } from '../support/filters.ts';

const texts: readonly (readonly [filter: EventFilter, text: string])[] = [
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
  [{ 'data.mail': { $endsWith: '@acme.example' } }, 'data.mail ends with "@acme.example"'],
];

describe('a filter in words', () => {
  for (const [filter, text] of texts) {
    it(text, () => {
      assert.equal(filterProblem(filter), null);
      assert.equal(filterText(filter), text);
    });
  }
});

const ORDER: Judged = {
  type: 'order.placed',
  subject: null,
  data: { total: 40, country: 'IT', note: 'x'.repeat(100), lines: [1, 2] },
};

const reasons: readonly (readonly [filter: EventFilter, why: readonly string[], secret: readonly string[]])[] = [
  [{ 'data.total': 40 }, [], []],
  [
    { 'data.total': { $gte: 100 }, 'data.country': { $in: ['DE', 'FR'] }, type: 'order.placed' },
    ['data.total is 40, not at least 100', 'data.country is "IT", not one of "DE", "FR"'],
    ['this is not true: data.total is at least 100', 'this is not true: data.country is one of "DE", "FR"'],
  ],
  [{ 'data.vat': { $gt: 1 } }, ['data.vat is missing'], ['this is not true: data.vat is more than 1']],
  [{ 'data.vat': { $exist: true } }, ['data.vat is missing'], ['this is not true: data.vat is there']],
  [
    { 'data.total': { $exist: false } },
    ['data.total is there, and must be missing'],
    ['this is not true: data.total is missing'],
  ],
  [
    { 'data.country': { $neq: 'IT', $nin: ['IT', 'CH'] } },
    ['data.country is "IT", which the filter excludes', 'data.country is "IT", which the filter excludes'],
    ['this is not true: data.country is not "IT"', 'this is not true: data.country is none of "IT", "CH"'],
  ],
  [
    { subject: { $startsWith: 'vip-' } },
    ['subject is null, and this is not true: subject starts with "vip-"'],
    ['this is not true: subject starts with "vip-"'],
  ],
  [{ 'data.note': 'y' }, [`data.note is "${'x'.repeat(59)}…, not "y"`], ['this is not true: data.note is "y"']],
  [
    { $or: [{ 'data.total': { $gt: 50 } }, { 'data.country': 'DE' }] },
    ['none of these is true: data.total is more than 50; data.country is "DE"'],
    ['none of these is true: data.total is more than 50; data.country is "DE"'],
  ],
  [{ $or: [{ 'data.total': 1 }] }, ['data.total is 40, not 1'], ['this is not true: data.total is 1']],
  [
    { $not: { 'data.country': 'IT' } },
    ['this is true, and must not be: data.country is "IT"'],
    ['this is true, and must not be: data.country is "IT"'],
  ],
  [
    { $and: [{ 'data.total': 40 }, { 'data.total': { $and: [{ $gt: 1 }, { $gt: 90 }] } }] },
    ['data.total is 40, not more than 90'],
    ['this is not true: data.total is more than 90'],
  ],
  [
    { 'data.total': { $not: { $lt: 50 } } },
    ['data.total is 40, and this is not true: not (data.total is less than 50)'],
    ['this is not true: not (data.total is less than 50)'],
  ],
];

describe('why a filter stops an event', () => {
  for (const [filter, why, secret] of reasons) {
    it(`${JSON.stringify(filter)}: ${why.join(', ').slice(0, 80) || 'it passes'}`, () => {
      assert.equal(filterProblem(filter), null);
      assert.deepEqual([...whyNot(filter)(ORDER)], why);
      assert.deepEqual([...whyNot(filter)(ORDER, true)], secret);
    });
  }

  it('has a reason if and only if the event does not pass', () => {
    fc.assert(
      fc.property(anyFilter, anyEvent, (filter, event) => {
        assert.equal([...whyNot(filter)(event)].length === 0, compileFilter(filter)(event));
        assert.equal([...whyNot(filter)(event, true)].length === 0, compileFilter(filter)(event));
      }),
    );
  });
});
