import assert from 'node:assert/strict';
import { test } from 'node:test';
import { didYouMean } from '../../src/kernel/nearest.ts';

const NAMES = ['administrator', 'operator', 'viewer', 'deliveries', 'doctor', 'Bolt Hardware', 'key'];

test('an unknown word suggests the name with the fewest edits, or the name that it begins', () => {
  const cases: readonly (readonly [string, string | null])[] = [
    ['operater', 'operator'],
    ['Viewer', 'viewer'],
    ['delivery', 'deliveries'],
    ['admin', 'administrator'],
    ['admni', 'administrator'],
    ['bolt', 'Bolt Hardware'],
    ['keys', 'key'],
    ['lists', null],
    ['to', null],
    ['something', null],
    ['', null],
  ];
  for (const [word, name] of cases) {
    assert.equal(didYouMean(word, NAMES), name === null ? '' : `. Did you mean "${name}"?`, word);
  }
});
