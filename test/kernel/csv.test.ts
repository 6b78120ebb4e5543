import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type CsvValue, csvLine } from '../../src/kernel/csv.ts';
import { readCsv } from '../support/csv.ts';

describe('a line of CSV', () => {
  const cases: readonly (readonly [values: readonly CsvValue[], line: string])[] = [
    [['a', 1, null], 'a,1,\r\n'],
    [['a,b', 'say "hi"', 'two\nlines'], '"a,b","say ""hi""","two\nlines"\r\n'],
    [['=1+1', '+1', '-1', '@SUM(A1)', '\ttab', '\rreturn'], `'=1+1,'+1,'-1,'@SUM(A1),'\ttab,"'\rreturn"\r\n`],
    [['＝1+1', '﹣1', '＠SUM(A1)', ' =1'], "'＝1+1,'﹣1,'＠SUM(A1),' =1\r\n"],
    [['a;=1', 'b|+1', 'c\n=1', 'd,@e', "f;'=1", 'g - h'], `a;'=1,b|'+1,"c\n'=1","d,'@e",f;''=1,g - h\r\n`],
    [["'=1", "it's"], "''=1,it's\r\n"],
    [[-1, 0.5], '-1,0.5\r\n'],
    [['', 'ünï'], ',ünï\r\n'],
  ];
  for (const [values, line] of cases)
    it(`of ${JSON.stringify(values)} is ${JSON.stringify(line)}`, () => assert.equal(csvLine(values), line));

  it('can be read back, whatever it has, and begins no cell like a formula', () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^['=+\-@＝ \t\r",;|\n]{0,6}[a-z]?$/));
    fc.assert(
      fc.property(fc.array(fc.array(text, { minLength: 2, maxLength: 4 }), { maxLength: 5 }), (rows) => {
        const written = rows.map(csvLine).join('');
        const { cells, texts } = readCsv(written);
        assert.deepEqual(texts, rows);
        for (const cell of cells.flat()) assert.doesNotMatch(cell, /^[=+\-@＝\t\r]/);
        // The same line where another character ends a cell, and quotes within a cell count for nothing.
        for (const end of [';', '|', '\t'])
          for (const part of written.split(end).slice(1)) assert.doesNotMatch(part, /^"*[=+\-@＝]/);
      }),
    );
  });

  it('knows every character that another one of a formula represents', () => {
    for (let code = 0x21; code < 0xffff; code += 1) {
      const character = String.fromCharCode(code);
      if (/^[=+\-@]/.test(character.normalize('NFKC'))) assert.equal(csvLine([`${character}1`])[0], "'", character);
    }
  });
});
