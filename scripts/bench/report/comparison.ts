/** Two versions compared: what each operation costs, and whether the difference is more than noise. */
import { median, ratios } from './statistics.ts';
import { columns, formatNumber } from './table.ts';

/** How sure an interval is. Of eight operations that cost the same, one seems to have changed in about one of 20 comparisons. */
const CONFIDENCE = 0.99;
/** With fewer rounds no interval is so sure. */
export const ROUNDS_LEAST = 8;

export type Compared = {
  readonly name: string;
  /** Medians, in microseconds of CPU time. */
  readonly before: number;
  readonly now: number;
  /** The median of the rounds' ratios, and where it lies with the confidence. */
  readonly ratio: number;
  readonly interval: readonly [low: number, high: number];
  readonly verdict: 'costs more' | 'costs less' | 'no change seen';
};

/** Compares the rounds one by one: what slowed a whole round down affects both versions. Both lists have a value for each round. */
export function compareRounds(name: string, before: readonly number[], now: readonly number[]): Compared {
  const each = ratios(now, before);
  const interval = medianInterval(each, CONFIDENCE);
  const [low, high] = interval;
  const verdict = low > 1 ? 'costs more' : high < 1 ? 'costs less' : 'no change seen';
  return { name, before: median(before), now: median(now), ratio: median(each), interval, verdict };
}

/**
 * An interval that contains the median with this confidence, whatever the values are distributed like: the sign test turned round. Each
 * value is above the median as often as below it, so that the number of those below it is binomial. Throws if there are too few values.
 */
export function medianInterval(values: readonly number[], confidence: number): readonly [low: number, high: number] {
  const count = values.length;
  let rank = 0;
  let chance = 1;
  let below = 0;
  // `below`: the probability that at most `rank` of the values are below the median, times 2 to the power of `count`.
  for (let power = 2 ** count; 2 * (below + chance) <= (1 - confidence) * power; rank += 1) {
    below += chance;
    chance = (chance * (count - rank)) / (rank + 1);
  }
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[rank - 1], sorted[count - rank]];
  if (low === undefined || high === undefined) throw new Error(`${count} values are too few for this confidence`);
  return [low, high];
}

/** A table for a terminal. */
export function printedComparison(compared: readonly Compared[], commit: string, rounds: number): string {
  const head = ['CPU time of one operation', commit, 'now', 'ratio', `${CONFIDENCE * 100}% interval`, ''];
  const body = compared.map(({ name, before, now, ratio, interval, verdict }) => [
    name,
    micros(before),
    micros(now),
    ratio.toFixed(2),
    interval.map((bound) => bound.toFixed(2)).join('–'),
    verdict,
  ]);
  const changed = compared.filter(({ verdict }) => verdict !== 'no change seen').map(sentence);
  const summary = changed.length === 0 ? [`Nothing changed beyond noise.`] : changed;
  return [`${rounds} rounds, in turns`, columns([head, ...body]), '', ...summary, ''].join('\n');
}

function sentence({ name, ratio, verdict }: Compared): string {
  return `${name} ${verdict}: ${formatNumber(Math.abs(ratio - 1) * 100)}%`;
}

function micros(value: number): string {
  return `${formatNumber(value)} µs`;
}
