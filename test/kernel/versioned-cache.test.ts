import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createVersionedCache } from '../../src/kernel/lru.ts';

const lengths = (bytes: number, entries = 100) =>
  createVersionedCache<string>({ max: entries, maxWeight: bytes, weightOf: ({ length }) => length });

describe('a versioned cache', () => {
  it('finds a value only at the version it was read at', () => {
    const cache = lengths(100);
    assert.equal(cache.keep('a', 1, 'one'), 'one');
    assert.deepEqual([cache.find('a', 1), cache.find('a', 2), cache.find('b', 1)], ['one', null, null]);
  });

  it('is emptied by a newer version, and does not keep a value that was read at an older one', () => {
    const cache = lengths(100);
    cache.keep('a', 1, 'one');
    cache.keep('b', 2, 'two');
    assert.deepEqual([cache.find('a', 1), cache.find('b', 2)], [null, 'two']);
    assert.equal(cache.keep('b', 1, 'late'), 'late');
    assert.equal(cache.find('b', 2), 'two');
  });

  it('is bounded in entries and in bytes, and drops the least recently used first', () => {
    const few = lengths(100, 2);
    for (const name of ['a', 'b', 'a', 'c']) few.keep(name, 1, name);
    assert.deepEqual([few.find('a', 1), few.find('b', 1), few.find('c', 1)], ['a', null, 'c']);

    const small = lengths(10);
    for (const [name, value] of [
      ['a', '1234'],
      ['b', '1234'],
      ['a', '12'],
      ['c', '1234'],
    ] as const) {
      small.keep(name, 1, value);
    }
    assert.deepEqual([small.find('a', 1), small.find('b', 1), small.find('c', 1)], ['12', '1234', '1234']);
    small.keep('d', 1, '1');
    assert.deepEqual([small.find('a', 1), small.find('d', 1)], [null, '1']);
    small.keep('e', 1, 'more than all of it');
    assert.deepEqual(
      ['a', 'c', 'd', 'e'].map((name) => small.find(name, 1)),
      [null, null, null, null],
    );
  });
});
