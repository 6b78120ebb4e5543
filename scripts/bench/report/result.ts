/** The result of a benchmark: figures round by round, and goals. The same record is printed and stored. */
import { median, ratios } from './statistics.ts';

export type Unit = '/s' | 'ms' | 'µs' | 'MB' | '×';

/** A column: a figure of every row. */
type Figure = { readonly name: string; readonly unit: Unit };

/** A contender, or an operation. One value a round for each figure it has. */
export type Row = { readonly name: string; readonly values: Readonly<Record<string, readonly number[]>> };

/** A goal with its measured value. */
export type Goal = {
  readonly text: string;
  readonly actual: number;
  readonly bound: 'at least' | 'at most';
  readonly limit: number;
  readonly unit: Unit | '%';
};

/** A part of the time in which a thread was busy, of 1. */
export type Share = { readonly what: string; readonly share: number };

/** The work of a thread of Sallyport, the largest share first. `busyShare` is how much of the time it was so, of 1. */
export type ThreadProfile = { readonly thread: string; readonly busyShare: number; readonly shares: readonly Share[] };

export type BenchResult = {
  readonly bench: string;
  readonly title: string;
  /** The method, for readers of only the figures. */
  readonly method: string;
  readonly figures: readonly Figure[];
  readonly rows: readonly Row[];
  /** The row to whose first figure the others are compared. */
  readonly baseline: string | null;
  readonly goals: readonly Goal[];
  /** Each names a missing part of the result, and why. */
  readonly notMeasured: readonly string[];
  /** Of a measurement of its own, which is none of the rounds. Older results have none, and say nothing of it. */
  readonly profile?: readonly ThreadProfile[] | null;
  readonly seconds: number;
};

/** A goal without a figure is not met. */
export function isMet({ actual, bound, limit }: Goal): boolean {
  if (!Number.isFinite(actual)) return false;
  return bound === 'at least' ? actual >= limit : actual <= limit;
}

export function valuesOf({ rows }: Pick<BenchResult, 'rows'>, row: string, figure: string): readonly number[] {
  const values = rows.find(({ name }) => name === row)?.values[figure];
  if (values === undefined || values.length === 0) throw new Error(`nothing was measured of ${figure} of ${row}`);
  return values;
}

/** The median over the rounds of one row's figure in proportion to another's. */
export function medianRatio(result: Pick<BenchResult, 'rows'>, figure: string, row: string, baseline: string): number {
  return median(ratios(valuesOf(result, row, figure), valuesOf(result, baseline, figure)));
}

/** Of several rows the one whose figure is largest in the middle; null where none of them was measured. */
export function largest({ rows }: Pick<BenchResult, 'rows'>, figure: string, names: readonly string[]): string | null {
  const measured = rows.filter(({ name, values }) => names.includes(name) && (values[figure]?.length ?? 0) > 0);
  const [first] = measured.toSorted((a, b) => median(b.values[figure] ?? []) - median(a.values[figure] ?? []));
  return first?.name ?? null;
}
