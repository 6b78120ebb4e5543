import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encryptionNeed, matchingTypes } from '../../src/domain/event.ts';

const TYPES = [
  { name: 'employee.created', encryptionRequired: true },
  { name: 'order.placed', encryptionRequired: false },
  { name: 'order.secret', encryptionRequired: true },
  { name: 'orders.placed', encryptionRequired: false },
  { name: 'stock.low', encryptionRequired: false },
];

describe('the types that match a pattern', () => {
  const table: readonly [pattern: string, names: string][] = [
    ['*', 'employee.created order.placed order.secret orders.placed stock.low'],
    ['order.*', 'order.placed order.secret'],
    ['order.placed', 'order.placed'],
    ['order', ''],
    ['order.', ''],
    ['ord*', ''],
    ['order.place*', ''],
    ['.*', ''],
    ['*.placed', ''],
    ['order.paid', ''],
    ['', ''],
  ];
  for (const [pattern, names] of table) {
    it(`are ${names === '' ? 'none' : names} for ${JSON.stringify(pattern)}`, () => {
      assert.equal(
        matchingTypes(pattern, TYPES)
          .map(({ name }) => name)
          .join(' '),
        names,
      );
    });
  }
});

describe('encryption', () => {
  const table: readonly [patterns: readonly string[], need: string | null][] = [
    [[], null],
    [['order.placed', 'stock.*', 'orders.*'], null],
    [['order.secret'], 'events of type order.secret'],
    [['order.*'], 'events of type order.secret'],
    [['stock.low', 'order.secret'], 'events of type order.secret'],
    [['employee.created'], 'employee events'],
    [['employee.*'], 'employee events'],
    [['*'], 'employee events'],
    [['employee.promoted'], 'employee events'],
    [['employees.created'], null],
    [['employee'], null],
  ];
  for (const [patterns, need] of table) {
    it(`is ${need === null ? 'not needed' : `needed because of ${need}`} for ${JSON.stringify(patterns)}`, () => {
      assert.equal(encryptionNeed(patterns, TYPES), need);
    });
  }

  it('is needed for * and for employee events, even before any such type exists', () => {
    for (const pattern of ['*', 'employee.*', 'employee.created'])
      assert.equal(encryptionNeed([pattern], []), 'employee events');
    assert.equal(encryptionNeed(['order.*'], []), null);
  });
});
