import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { searchValue, searchValues } from '../../src/domain/search-terms.ts';

// Normalizing it would take half an hour.
const ACCENTS = `a${'\u0315\u0300'.repeat(1_000_000)}`;

describe('a value by which events are found', () => {
  const table: readonly [text: string, value: string | null][] = [
    [' A-1 ', 'a-1'],
    ['  ', null],
    ['a'.repeat(200), 'a'.repeat(200)],
    ['a'.repeat(201), null],
    // Each letter has four code units before it is composed.
    ['ᾂ'.repeat(200).normalize('NFD'), 'ᾂ'.repeat(200)],
    [`${' '.repeat(1000)}a`, 'a'],
    [ACCENTS, null],
  ];
  for (const [text, value] of table) {
    it(`${JSON.stringify(text.slice(0, 5))} of ${text.length} is ${value === null ? 'none' : 'one'}`, () => {
      assert.equal(searchValue(text), value);
    });
  }

  it('is left out of the data of an event if it is too long', () => {
    const values = searchValues(JSON.stringify({ a: ACCENTS, b: 'X' }), ['data.a', 'data.b']);
    assert.deepEqual(values, [{ path: 'data.b', value: 'x' }]);
  });
});
