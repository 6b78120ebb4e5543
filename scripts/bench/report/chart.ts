/** Charts as SVG, readable on a light and on a dark page: bars with their spread, or a line a row through its figures. */
import type { BenchResult, Row } from './result.ts';
import { spread } from './statistics.ts';
import { formatNumber, withUnit } from './table.ts';

export const WIDTH = 760;
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .small { font-size: 11px; fill: #57606a; }
  .own { fill: #0969da; } .base { fill: #8c959f; } .peer { fill: #bf8700; }
  .spread, .axis { stroke: #57606a; } .goal { stroke: #cf222e; stroke-dasharray: 4 3; }
  .line { stroke-width: 2; } path { fill: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .small { fill: #9198a1; }
    .own { fill: #4493f8; } .base { fill: #656c76; } .peer { fill: #d29922; }
    .spread, .axis { stroke: #9198a1; } .goal { stroke: #f85149; }
  }`;
/** Of lines, told apart on either ground. */
export const COLOURS = ['#0969da', '#bf8700', '#1a7f37', '#8250df', '#cf222e', '#6e7781'];

export function chartOf(result: BenchResult): string {
  return result.chart.kind === 'bars' ? bars(result) : lines(result, result.chart);
}

const ROW_HEIGHT = 34;
const LABEL_WIDTH = 280;
const VALUE_WIDTH = 110;

/** Of each row's first figure: its median, with a line from the least to the most. */
function bars({ title, figures, rows, baseline }: BenchResult): string {
  const [figure] = figures;
  if (figure === undefined) throw new Error(`${title} has no figure`);
  const measured = rows.filter(({ values }) => (values[figure.name]?.length ?? 0) > 0);
  const spreads = measured.map(({ values }) => spread(values[figure.name] ?? []));
  const scale = (WIDTH - LABEL_WIDTH - VALUE_WIDTH) / Math.max(...spreads.map(({ most }) => most));
  const drawn = measured.map(({ name }, at) => {
    const { median, least, most } = spreads[at] ?? spread([]);
    const top = 34 + at * ROW_HEIGHT;
    const middle = top + 11;
    const kind = name.startsWith('Sallyport') ? 'own' : name === baseline ? 'base' : 'peer';
    const end = LABEL_WIDTH + most * scale;
    return [
      `<text x="${LABEL_WIDTH - 10}" y="${middle + 4}" text-anchor="end">${escaped(name)}</text>`,
      `<rect class="${kind}" x="${LABEL_WIDTH}" y="${top}" width="${fixed(Math.max(1, median * scale))}" height="22" rx="2"/>`,
      `<path class="spread" d="M${fixed(LABEL_WIDTH + least * scale)} ${middle}H${fixed(end)}"/>`,
      `<text class="small" x="${fixed(end + 6)}" y="${middle + 4}">${escaped(withUnit(median, figure.unit))}</text>`,
    ].join('');
  });
  const heading = `<text class="small" x="${LABEL_WIDTH}" y="20">${escaped(`${figure.name}: median, and least to most`)}</text>`;
  return svg(title, 44 + measured.length * ROW_HEIGHT, [heading, ...drawn]);
}

const PLOT = { left: 60, right: WIDTH - 20, top: 30, height: 220 };

function lines(
  { title, figures, rows }: BenchResult,
  { isRelative, goal }: { readonly isRelative: boolean; readonly goal: number },
): string {
  const series = rows.map((row) => pointsOf(row, figures, isRelative));
  const most = Math.max(goal, ...series.flat()) * 1.1;
  const x = (at: number): number => PLOT.left + ((PLOT.right - PLOT.left) * (at + 0.5)) / figures.length;
  const y = (value: number): number => PLOT.top + PLOT.height * (1 - value / most);
  const unit = isRelative ? '×' : (figures[0]?.unit ?? 'ms');
  const axis = `<path class="axis" d="M${PLOT.left} ${PLOT.top}V${PLOT.top + PLOT.height}H${PLOT.right}"/>`;
  const ticks = [0, 0.25, 0.5, 0.75, 1]
    .map((part) => (most / 1.1) * part)
    .map(
      (value) =>
        `<text class="small" x="${PLOT.left - 8}" y="${fixed(y(value) + 4)}" text-anchor="end">${escaped(withUnit(value, unit))}</text>`,
    );
  const names = figures.map(
    ({ name }, at) =>
      `<text class="small" x="${fixed(x(at))}" y="${PLOT.top + PLOT.height + 18}" text-anchor="middle">${escaped(name)}</text>`,
  );
  const limit = [
    `<path class="goal" d="M${PLOT.left} ${fixed(y(goal))}H${PLOT.right}"/>`,
    `<text class="small" x="${PLOT.right}" y="${fixed(y(goal) - 5)}" text-anchor="end">goal: at most ${escaped(withUnit(goal, unit))}</text>`,
  ];
  const drawn = series.map((points, at) => {
    const colour = COLOURS[at % COLOURS.length] ?? '';
    const path = points.map((value, n) => `${n === 0 ? 'M' : 'L'}${fixed(x(n))} ${fixed(y(value))}`).join('');
    return `<path class="line" stroke="${colour}" d="${path}"/>`;
  });
  const legendTop = PLOT.top + PLOT.height + 42;
  const legend = rows.map(({ name }, at) => {
    const top = legendTop + at * 20;
    const colour = COLOURS[at % COLOURS.length] ?? '';
    return `<rect x="${PLOT.left}" y="${top - 9}" width="18" height="4" fill="${colour}"/><text class="small" x="${PLOT.left + 26}" y="${top}">${escaped(name)}</text>`;
  });
  const height = legendTop + rows.length * 20;
  return svg(title, height, [axis, ...ticks, ...names, ...limit, ...drawn, ...legend]);
}

/** The medians of a row, relative to the first row if the result compares with it. */
function pointsOf({ values }: Row, figures: BenchResult['figures'], isRelative: boolean): number[] {
  const medians = figures.map(({ name }) => spread(values[name] ?? []).median);
  return isRelative ? medians.map((value) => value / (medians[0] ?? 1)) : medians;
}

export function svg(title: string, height: number, parts: readonly string[]): string {
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`;
  return `${[head, `<title>${escaped(title)}</title>`, `<style>${STYLE}\n</style>`, ...parts, '</svg>'].join('\n')}\n`;
}

export function fixed(value: number): string {
  return formatNumber(value).includes('–') ? '0' : value.toFixed(1);
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
