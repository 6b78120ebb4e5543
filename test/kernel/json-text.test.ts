/** JSON as text: each function against the same on parsed values. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { contentHash } from '../../src/kernel/content-hash.ts';
import { indentedJson, parseExactly, repeatedName } from '../../src/kernel/json-text.ts';
import { jsonText } from '../support/json-texts.ts';

describe('JSON as text', () => {
  it('is indented as JSON.stringify does it', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (value) => {
        const written: unknown = JSON.parse(JSON.stringify(value));
        assert.equal(indentedJson(JSON.stringify(written)), JSON.stringify(written, null, 2));
      }),
    );
  });

  it('tells the path of a name that an object has twice', () => {
    fc.assert(
      fc.property(jsonText, fc.boolean(), (json, isRepeated) => {
        const text = isRepeated ? `{"x":[0,{"a":1,"\\u0061":${json}}]}` : json;
        assert.deepEqual(repeatedName(text), isRepeated ? ['x', 1, 'a'] : null);
      }),
    );
  });

  it('has a content hash of its own for other digits, whatever the order of members', () => {
    const hashOf = (json: string): string => Buffer.from(contentHash(parseExactly(json))).toString('hex');
    assert.equal(hashOf('{"a":1.50,"b":[1e400]}'), hashOf('{"b":[1e400],"a":1.50}'));
    assert.notEqual(hashOf('{"a":1.50}'), hashOf('{"a":1.5}'));
    assert.equal(hashOf('{"a":1.5}'), Buffer.from(contentHash({ a: 1.5 })).toString('hex'));
  });
});
