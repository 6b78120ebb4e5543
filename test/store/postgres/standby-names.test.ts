/** How `synchronous_standby_names` is read. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { missingStandbys, readStandbyNames } from '../../../src/store/postgres/standby-names.ts';

const TEXTS: readonly (readonly [text: string, wanted: number, names: readonly string[]])[] = [
  ['', 0, []],
  ['*', 1, ['*']],
  ['walreceiver', 1, ['walreceiver']],
  ['a, B,c', 1, ['a', 'b', 'c']],
  ['"one, two", "say ""hi"""', 1, ['one, two', 'say "hi"']],
  ['2 (a, b)', 2, ['a', 'b']],
  ['FIRST 1 (a)', 1, ['a']],
  [' first 2 ("a-1", b) ', 2, ['a-1', 'b']],
  ['ANY 10 (*)', 10, ['*']],
  ['first, any', 1, ['first', 'any']],
];

describe('synchronous_standby_names', () => {
  for (const [text, wanted, names] of TEXTS) {
    it(`reads ${JSON.stringify(text)}`, () => {
      assert.deepEqual(readStandbyNames(text), { wanted, names });
    });
  }

  it('tells which standbys are missing, and whether commits wait for one', () => {
    const names = readStandbyNames('ANY 1 (a, b)');
    assert.deepEqual(missingStandbys(names, ['A', 'c']), { missing: ['b'], isBlocked: false });
    assert.deepEqual(missingStandbys(names, ['c']), { missing: ['a', 'b'], isBlocked: true });
    assert.deepEqual(missingStandbys(readStandbyNames('2 (*)'), ['c']), { missing: [], isBlocked: true });
    assert.deepEqual(missingStandbys(readStandbyNames(''), []), { missing: [], isBlocked: false });
  });
});
