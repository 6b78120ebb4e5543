/** Results as text for a terminal. */
import { LEAST_SHARE, largestShares } from './profile.ts';
import { type BenchResult, type Goal, isMet, type ThreadProfile, type Unit } from './result.ts';
import { median, ratios, spread } from './statistics.ts';

/** Three digits that count, thousands apart. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  const rounded = Math.abs(value) >= 1000 ? Number(value.toPrecision(3)) : value;
  return rounded.toLocaleString('en-GB', { maximumFractionDigits: Math.min(digits, 3) });
}

function withUnit(value: number, unit: Unit | '%'): string {
  const close = unit === '%' || unit === '×' || unit === '/s';
  return `${formatNumber(value)}${close ? '' : ' '}${unit}`;
}

/** The rows of a result: the median of each figure with its spread, and the first one in proportion to the baseline. */
export function cellsOf({ figures, rows, baseline }: BenchResult): { head: string[]; body: string[][] } {
  const [first] = figures;
  const base = rows.find(({ name }) => name === baseline)?.values[first?.name ?? ''];
  const head = ['', ...figures.map(({ name }) => name), ...(base === undefined ? [] : [`of ${baseline}`])];
  const body = rows.map(({ name, values }) => {
    const cells = figures.map(({ name: figure, unit }) => figureText(values[figure] ?? [], unit));
    const proportion = base === undefined ? [] : [formatNumber(median(ratios(values[first?.name ?? ''] ?? [], base)))];
    return [name, ...cells, ...proportion];
  });
  return { head, body };
}

export function goalCells(goal: Goal): string[] {
  const { text, actual, bound, limit, unit } = goal;
  return [text, `${bound} ${withUnit(limit, unit)}`, withUnit(actual, unit), isMet(goal) ? 'met' : 'missed'];
}

/** A thread's largest shares, at most so many, and the rest. None of a thread that had nothing to do. */
export function profileCells(
  { thread, busyShare, shares }: ThreadProfile,
  count: number,
): { head: string[]; body: string[][] } {
  if (busyShare < LEAST_SHARE) return { head: [`${thread}, busy less than 1% of the time`], body: [] };
  const body = largestShares(shares, count).map(({ what, share }) => [what, percent(share)]);
  return { head: [`${thread}, busy ${percent(busyShare)} of the time`, 'share'], body };
}

/** Of the terminal's list. */
const PRINTED_SHARES = 8;

export function printed(result: BenchResult): string {
  const { head, body } = cellsOf(result);
  const goals = result.goals.map(goalCells);
  return [
    `${result.title} (${formatNumber(result.seconds)} s)`,
    columns([head, ...body]),
    ...(result.profile ?? []).map(printedProfile),
    ...(goals.length === 0 ? [] : [columns([['goal', 'wanted', 'measured', ''], ...goals])]),
    ...result.notMeasured.map((what) => `not measured: ${what}`),
    '',
  ].join('\n');
}

function printedProfile(thread: ThreadProfile): string {
  const { head, body } = profileCells(thread, PRINTED_SHARES);
  return columns([head, ...body]);
}

/** Samples are too few for more digits. */
function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

function figureText(values: readonly number[], unit: Unit): string {
  if (values.length === 0) return '–';
  const { median: middle, least, most } = spread(values);
  return `${withUnit(middle, unit)} (${formatNumber(least)}–${formatNumber(most)})`;
}

export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => (row[at] ?? '').length)));
  return rows
    .map((row) =>
      row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('   '),
    )
    .join('\n');
}
