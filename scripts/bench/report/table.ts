/** Results as text for a terminal. */
import { type BenchResult, type Goal, isMet, type Unit } from './result.ts';
import { median, ratios, spread } from './statistics.ts';

/** Three digits that count, thousands apart. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  const rounded = Math.abs(value) >= 1000 ? Number(value.toPrecision(3)) : value;
  return rounded.toLocaleString('en-GB', { maximumFractionDigits: Math.min(digits, 3) });
}

export function withUnit(value: number, unit: Unit | '%'): string {
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

export function printed(result: BenchResult): string {
  const { head, body } = cellsOf(result);
  const goals = result.goals.map(goalCells);
  return [
    `${result.title} (${formatNumber(result.seconds)} s)`,
    columns([head, ...body]),
    ...(goals.length === 0 ? [] : [columns([['goal', 'wanted', 'measured', ''], ...goals])]),
    ...result.notMeasured.map((what) => `not measured: ${what}`),
    '',
  ].join('\n');
}

function figureText(values: readonly number[], unit: Unit): string {
  if (values.length === 0) return '–';
  const { median: middle, least, most } = spread(values);
  return `${withUnit(middle, unit)} (${formatNumber(least)}–${formatNumber(most)})`;
}

function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => (row[at] ?? '').length)));
  return rows
    .map((row) =>
      row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('   '),
    )
    .join('\n');
}
