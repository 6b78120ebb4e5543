/** Middle and spread of a handful of measurements. */

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? (upper + (sorted[middle - 1] ?? Number.NaN)) / 2 : upper;
}

export type Spread = { readonly median: number; readonly least: number; readonly most: number };

export function spread(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

/** Round by round, so that what slowed a whole round down counts for both sides. */
export function ratios(values: readonly number[], baseline: readonly number[]): number[] {
  return values.map((value, round) => value / (baseline[round] ?? Number.NaN));
}
