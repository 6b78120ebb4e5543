/** Pieces of text as one, in UTF-8. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { joinText } from '../../src/wire/join-text.ts';

describe('pieces of text', () => {
  it('are what they would be as one text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (pieces) => {
        assert.deepEqual(joinText(pieces), new TextEncoder().encode(pieces.join('')));
      }),
    );
  });

  it('may be larger than the memory that is kept, one or all of them', () => {
    for (const pieces of [['\u20ac'.repeat(100_000)], Array<string>(3000).fill('é'.repeat(1024)), ['short']]) {
      assert.deepEqual(joinText(pieces), new TextEncoder().encode(pieces.join('')));
    }
  });

  it('leave nothing behind for the next text, which is no part of the memory either', () => {
    const first = joinText(['a longer text']);
    const second = joinText(['short']);
    assert.equal(new TextDecoder().decode(second), 'short');
    assert.equal(new TextDecoder().decode(first), 'a longer text');
    assert.equal(second.buffer.byteLength, 5);
  });
});
