import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { jsonProblem } from '../../src/kernel/json-place.ts';

const table: readonly (readonly [text: string, problem: string | null])[] = [
  ['{"a": [1, true, null, "x\\u00e9\\n"], "b": {}}', null],
  ['{"a": 1,\n "b": }', 'unexpected "}" at line 2, column 7'],
  ['{"a": 1,}', 'unexpected "}" at line 1, column 9'],
  ["{'a': 1}", 'unexpected "\'" at line 1, column 2'],
  ['{"a" 1}', 'unexpected "1" at line 1, column 6'],
  ['[1 2]', 'unexpected "2" at line 1, column 4'],
  ['[01]', 'unexpected "1" at line 1, column 3'],
  ['{"a": tru}', 'unexpected "t" at line 1, column 7'],
  ['{"a": "x\ny"}', 'unexpected "\\n" at line 1, column 9'],
  ['{"a": "\\x"}', 'unexpected "x" at line 1, column 9'],
  ['{"a": 1', 'it ends too early at line 1, column 8'],
  ['{"a": "x', 'it ends too early at line 1, column 9'],
  ['', 'it ends too early at line 1, column 1'],
  ['{} {}', 'unexpected "{" at line 1, column 4'],
  ['{]', 'unexpected "]" at line 1, column 2'],
];

describe('the place where a text stops being JSON', () => {
  for (const [text, problem] of table) {
    it(`of ${JSON.stringify(text)}: ${problem}`, () => assert.equal(jsonProblem(text), problem));
  }

  it('is there for every text that the parser refuses, and for no other', () => {
    const piece = fc.constantFrom(...'{}[]:,"\\-.eE+0 1\n', 'true', 'null', '"a"', '"\\u00e9"', '\u0001', '\u00a0');
    const damaged = fc
      .tuple(fc.json(), fc.nat(), fc.nat({ max: 3 }), piece)
      .map(
        ([text, at, drop, put]) =>
          text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + drop),
      );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          damaged,
          fc.array(piece).map((all) => all.join('')),
        ),
        (text) => {
          let isJson = true;
          try {
            JSON.parse(text);
          } catch {
            isJson = false;
          }
          assert.equal(jsonProblem(text) === null, isJson, text);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
