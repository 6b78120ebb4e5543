import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createKnown } from '../../src/access/known.ts';

const lengths = (bytes: number, entries = 100) =>
  createKnown<string>({ entries, bytes, bytesOf: ({ length }) => length });

describe('what is known of the store', () => {
  it('is found under the version alone that it was read under', () => {
    const known = lengths(100);
    assert.equal(known.keep('a', 1, 'one'), 'one');
    assert.deepEqual([known.find('a', 1), known.find('a', 2), known.find('b', 1)], ['one', null, null]);
  });

  it('gives way to the first of a newer version, and what was read late is not kept', () => {
    const known = lengths(100);
    known.keep('a', 1, 'one');
    known.keep('b', 2, 'two');
    assert.deepEqual([known.find('a', 1), known.find('b', 2)], [null, 'two']);
    assert.equal(known.keep('b', 1, 'late'), 'late');
    assert.equal(known.find('b', 2), 'two');
  });

  it('is a bounded number, and takes a bounded number of bytes, the least recently used going first', () => {
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
