import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { joinText } from '../../src/wire/payload.ts';

describe('joinText', () => {
  it('encodes pieces like one text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (pieces) => {
        assert.deepEqual(joinText(pieces), new TextEncoder().encode(pieces.join('')));
      }),
    );
  });

  it('joins pieces that are larger than its buffer, separately or together', () => {
    for (const pieces of [['\u20ac'.repeat(100_000)], Array<string>(3000).fill('é'.repeat(1024)), ['short']]) {
      assert.deepEqual(joinText(pieces), new TextEncoder().encode(pieces.join('')));
    }
  });

  it('returns a copy, which the next call does not change', () => {
    const first = joinText(['a longer text']);
    const second = joinText(['short']);
    assert.equal(new TextDecoder().decode(second), 'short');
    assert.equal(new TextDecoder().decode(first), 'a longer text');
    assert.equal(second.buffer.byteLength, 5);
  });
});
