/** The report of `npm run bench:compare` on its measurements. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  compareRounds,
  medianInterval,
  printedComparison,
  ROUNDS_LEAST,
} from '../../scripts/bench/report/comparison.ts';

/** 1, 2, …, count */
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);

describe('the interval of a median', () => {
  // The ranks of the sign test's tables.
  const table: readonly [count: number, confidence: number, low: number, high: number][] = [
    [6, 0.95, 1, 6],
    [9, 0.95, 2, 8],
    [12, 0.95, 3, 10],
    [8, 0.99, 1, 8],
    [12, 0.99, 2, 11],
    [20, 0.99, 4, 17],
  ];
  for (const [count, confidence, low, high] of table)
    it(`of ${count} values is from the ${low}. to the ${high}. with ${confidence * 100}%`, () =>
      assert.deepEqual(medianInterval(upTo(count).reverse(), confidence), [low, high]));

  it('needs enough values', () => {
    assert.equal(medianInterval(upTo(ROUNDS_LEAST), 0.99).length, 2);
    assert.throws(() => medianInterval(upTo(ROUNDS_LEAST - 1), 0.99), /7 values are too few/);
  });
});

describe('two versions', () => {
  const before = upTo(12).map((n) => 40 + n);

  it('are compared round by round, so that slow rounds of both are no change', () => {
    const slowed = before.map((value, round) => value * (round < 3 ? 5 : 1));
    const compared = compareRounds('guard', slowed, slowed);
    assert.deepEqual([compared.ratio, compared.interval, compared.verdict], [1, [1, 1], 'no change seen']);
  });

  it('differ where the interval leaves out 1, whatever one round of 12 says', () => {
    const by = (factor: number, stray: number): number[] =>
      before.map((value, round) => value * (round < 1 ? stray : factor));
    assert.equal(compareRounds('guard', before, by(1.03, 0.5)).verdict, 'costs more');
    assert.equal(compareRounds('guard', before, by(0.97, 3)).verdict, 'costs less');
    assert.equal(compareRounds('guard', before, by(1, 3)).verdict, 'no change seen');
  });

  it('do not differ while some rounds say the one and some the other', () => {
    const mixed = before.map((value, round) => value * (round % 3 === 0 ? 0.98 : 1.02));
    assert.equal(compareRounds('guard', before, mixed).verdict, 'no change seen');
  });

  it('are judged alike in whichever order they are named', () => {
    const opposite = { 'costs more': 'costs less', 'costs less': 'costs more', 'no change seen': 'no change seen' };
    const micros = fc.array(fc.double({ min: 1, max: 1000, noNaN: true }), { minLength: 12, maxLength: 12 });
    fc.assert(
      fc.property(micros, micros, (one, other) => {
        assert.equal(compareRounds('guard', one, other).verdict, opposite[compareRounds('guard', other, one).verdict]);
      }),
    );
  });

  it('are printed as a table, with a sentence for each change', () => {
    const slower = compareRounds(
      'make a guarded call',
      before,
      before.map((value) => value * 1.5),
    );
    const same = compareRounds('issue a token', before, before);
    const text = printedComparison([same, slower], 'bb16ce43', 12);
    assert.match(text, /^12 rounds, in turns\nCPU time of one operation +bb16ce43 +now +ratio +99% interval +\n/);
    assert.match(text, /^issue a token +46\.5 µs +46\.5 µs +1\.00 +1\.00–1\.00 +no change seen$/m);
    assert.match(text, /^make a guarded call +46\.5 µs +69\.8 µs +1\.50 +1\.50–1\.50 +costs more$/m);
    assert.match(text, /\nmake a guarded call costs more: 50%\n$/);
    assert.match(printedComparison([same], 'bb16ce43', 12), /\nNothing changed beyond noise\.\n$/);
  });
});
