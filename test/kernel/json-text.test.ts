/** JSON as text: each function against the same on parsed values. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { contentHash } from '../../src/kernel/content-hash.ts';
import {
  compactJson,
  countMembers,
  indentedJson,
  parseExactly,
  repeatedName,
  spanAt,
} from '../../src/kernel/json-text.ts';
import { jsonText, looseJsonText } from '../support/json-texts.ts';

describe('JSON as text', () => {
  it('is compacted and indented without a change to its strings and numbers', () => {
    fc.assert(
      fc.property(looseJsonText, ({ loose, json }) => {
        assert.equal(spanAt(`${loose} , "a"`, 0).end, loose.length);
        assert.deepEqual([compactJson(loose).json, compactJson(loose).bytes], [json, Buffer.byteLength(json)]);
        assert.equal(compactJson(indentedJson(loose)).json, json);
      }),
    );
  });

  it('ends a string at the first quote that no backslash escapes', () => {
    for (const text of ['', 'a', '\\', '"', '\\"', '"\\', '\\\\', '\\\\"', '"}', '\\"}', 'a"b\\c"d\\']) {
      const json = JSON.stringify({ [text]: text, b: [text] });
      assert.deepEqual(spanAt(`${json}"}]`, 0), { begin: 0, end: json.length, depth: 2 }, json);
    }
    for (const open of ['{"a', '{"a\\"', '{"a\\\\\\"']) assert.equal(spanAt(open, 0).end, open.length, open);
  });

  it('is indented as JSON.stringify does it', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (value) => {
        const written: unknown = JSON.parse(JSON.stringify(value));
        assert.equal(indentedJson(JSON.stringify(written)), JSON.stringify(written, null, 2));
      }),
    );
  });

  it('tells whether JSON.stringify would keep its numbers', () => {
    for (const [number, isExact] of [
      ...[
        '0',
        '-1',
        '1.5',
        '-0.25',
        '12.5',
        '-7',
        '999999999999.99',
        '0.000001',
        '999999999999999',
        '9007199254740991',
        '1e-7',
        '1e+21',
        '5e-324',
      ].map((one) => [one, true]),
      ...[
        '-0',
        '1.50',
        '0.0',
        '1e2',
        '1E2',
        '1e21',
        '9007199254740993',
        '1e400',
        '1e-400',
        '0.30000000000000000001',
      ].map((one) => [one, false]),
    ] as [string, boolean][]) {
      assert.equal(compactJson(`{"a":[${number}]}`).isExact, isExact, number);
      assert.equal(compactJson(`{"${number}":"${number}"}`).isExact, true, number);
    }
  });

  it('has the members and the depth of what it parses to, until a name comes twice', () => {
    fc.assert(
      fc.property(jsonText, fc.boolean(), (json, isRepeated) => {
        const text = isRepeated ? `{"x":[0,{"a":1,"\\u0061":${json}}]}` : json;
        const { members } = compactJson(text);
        assert.equal(countMembers(JSON.parse(text)) < members, isRepeated);
        assert.deepEqual(repeatedName(text), isRepeated ? ['x', 1, 'a'] : null);
      }),
    );
    assert.equal(spanAt('{"a":[[],{}]}', 0).depth, 3);
  });

  it('has a content hash of its own for other digits, whatever the order of members', () => {
    const hashOf = (json: string): string => Buffer.from(contentHash(parseExactly(json))).toString('hex');
    assert.equal(hashOf('{"a":1.50,"b":[1e400]}'), hashOf('{"b":[1e400],"a":1.50}'));
    assert.notEqual(hashOf('{"a":1.50}'), hashOf('{"a":1.5}'));
    assert.equal(hashOf('{"a":1.5}'), Buffer.from(contentHash({ a: 1.5 })).toString('hex'));
  });
});
