/** Plots of figures over time as SVG, one below the other, with a shaded stretch. Readable on a light and on a dark page. */
import { COLOURS, escaped, fixed, svg, WIDTH } from './chart.ts';

/** A line; its values belong to the times of the plot. */
export type Line = { readonly name: string; readonly values: readonly number[] };
export type Plot = { readonly title: string; readonly unit: string; readonly lines: readonly Line[] };
/** From `from` to `to`, in minutes. */
export type Shaded = { readonly name: string; readonly from: number; readonly to: number };

const LEFT = 60;
const RIGHT = WIDTH - 200;
const HEIGHT = 130;
const GAP = 50;

/** `minutes`: the times of all values, ascending. */
export function timeline(title: string, minutes: readonly number[], shaded: Shaded, plots: readonly Plot[]): string {
  const end = minutes.at(-1) ?? 1;
  const x = (minute: number): number => LEFT + ((RIGHT - LEFT) * minute) / end;
  const drawn = plots.map((plot, at) => {
    const top = 40 + at * (HEIGHT + GAP);
    const most = 1.1 * Math.max(1e-9, ...plot.lines.flatMap(({ values }) => values));
    const y = (value: number): number => top + HEIGHT * (1 - value / most);
    const ticks = [0, 0.5, 1].map((part) => {
      const value = (part * most) / 1.1;
      const shown = value >= 10 || value === 0 ? value.toFixed(0) : value.toPrecision(2);
      return `<text class="small" x="${LEFT - 8}" y="${fixed(y(value) + 4)}" text-anchor="end">${shown}</text>`;
    });
    const lines = plot.lines.map(({ name, values }, n) => {
      const colour = COLOURS[n % COLOURS.length] ?? '';
      const points = values.map((value, i) => `${fixed(x(minutes[i] ?? 0))} ${fixed(y(value))}`).join('L');
      const label = `<text class="small" x="${RIGHT + 26}" y="${top + 12 + n * 16}">${escaped(name)}</text>`;
      const key = `<path class="line" stroke="${colour}" d="M${RIGHT + 8} ${top + 8 + n * 16}h12"/>`;
      return `<path class="line" stroke="${colour}" d="M${points}"/>${key}${label}`;
    });
    return [
      `<rect x="${fixed(x(shaded.from))}" y="${top}" width="${fixed(x(shaded.to) - x(shaded.from))}" height="${HEIGHT}" fill="#8c959f" fill-opacity="0.15"/>`,
      `<text x="${LEFT}" y="${top - 8}">${escaped(`${plot.title}, ${plot.unit}`)}</text>`,
      `<path class="axis" d="M${LEFT} ${top}V${top + HEIGHT}H${RIGHT}"/>`,
      ...ticks,
      ...lines,
    ].join('');
  });
  const bottom = 40 + plots.length * (HEIGHT + GAP) - GAP + 18;
  const times = [0, 0.25, 0.5, 0.75, 1].map(
    (part) =>
      `<text class="small" x="${fixed(x(end * part))}" y="${bottom}" text-anchor="middle">${(end * part).toFixed(0)} min</text>`,
  );
  const note = `<text class="small" x="${fixed(x(shaded.from) + 6)}" y="${bottom + 18}">grey: ${escaped(shaded.name)}</text>`;
  return svg(title, bottom + 28, [...drawn, ...times, note]);
}
