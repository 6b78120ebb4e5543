/** Patterns of the OpenAPI document use only syntax that ECMAScript, RE2 and Python read in the same way. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { patternsIn } from '../support/openapi-patterns.ts';
import { startDescribedService } from '../support/openapi-service.ts';

/** Syntax that RE2 lacks or reads differently: https://github.com/google/re2/wiki/Syntax. */
const FOREIGN: readonly (readonly [what: string, found: RegExp])[] = [
  ['look-around', /\(\?(?:[=!]|<[=!])/],
  ['a backreference', /\\(?:[1-9]|k<)/],
  ['an escape by code point, other than \\xHH', /\\(?:u|c[A-Za-z]|x(?![0-9a-f]{2}))/],
  ['a property of Unicode', /\\p/i],
  ['a class whose members differ between engines', /\\[sSwWdDbB]/],
  ['more than 1,000 repeats', /\{(?:\d+,)?(?:100[1-9]|10[1-9]\d|1[1-9]\d\d|[2-9]\d{3}|\d{5,})\}/],
  ['a named group', /\(\?(?:P?<[A-Za-z])/],
];

describe('the patterns of the OpenAPI document', () => {
  it('use only syntax that RE2 has and reads the same way, and compile with the flag u', async (t) => {
    const patterns = patternsIn((await startDescribedService(t)).document);
    assert.ok(patterns.length > 10);
    for (const [what, found] of FOREIGN)
      assert.deepEqual(
        patterns.filter((pattern) => found.test(pattern)),
        [],
        what,
      );
    for (const pattern of patterns) assert.ok(new RegExp(pattern, 'u'), pattern);
  });

  it('are distinguished by these rules', () => {
    const foreign = [
      'a(?!b)',
      'a(?<=b)',
      '(a)\\1',
      '\\u00e9',
      '\\x{41}',
      '\\p{Cc}',
      '\\s',
      'a{0,1001}',
      'a{2000}',
      '(?<n>a)',
    ];
    for (const pattern of foreign)
      assert.ok(
        FOREIGN.some(([, found]) => found.test(pattern)),
        pattern,
      );
    for (const pattern of ['a{0,1000}', '(?:a|b)', '\\x1f', '\\.'])
      assert.ok(!FOREIGN.some(([, found]) => found.test(pattern)), pattern);
  });
});
