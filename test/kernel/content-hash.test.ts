import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { contentHash } from '../../src/kernel/content-hash.ts';

const hex = (value: unknown): string => Buffer.from(contentHash(value)).toString('hex');

/** The same value with the members of its objects in another order. */
function reordered(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(reordered);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reordered(member)]),
  );
}

describe('the hash of a JSON value', () => {
  it('does not depend on the order of members', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => hex(value) === hex(reordered(value))));
  });

  it('differs for different values', () => {
    const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.jsonValue(),
        (a, b) => isDeepStrictEqual(plain(a), plain(b)) === (hex(a) === hex(b)),
      ),
    );
    const all = [[], {}, null, '', 0, '0', [[]], [{}], [0], [''], { a: 1 }, { a: '1' }, { a: [1] }, { 'a":1,"b': 1 }];
    assert.equal(new Set(all.map(hex)).size, all.length);
  });

  it('ignores undefined members', () => {
    assert.equal(hex({ a: 1, b: undefined }), hex({ a: 1 }));
  });
});
