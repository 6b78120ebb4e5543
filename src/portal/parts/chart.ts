/** A chart over time, and the same numbers as a table: for those who do not see it, or have no script. */
import { attributes, type Html, html } from '../../http/html.ts';
import { table } from './table.ts';
import { time } from './time.ts';

export type Series = {
  readonly label: string;
  /** `accent`, or what it means: `positive`, `negative`, `caution`, `info`. */
  readonly tone: 'accent' | 'positive' | 'negative' | 'caution' | 'info';
  /** One for each instant; null where there is none. */
  readonly values: readonly (number | null)[];
};

export type Chart = {
  readonly title: string;
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** Parts of a whole, one on the other, rather than lines. */
  readonly isStacked?: boolean | undefined;
  /** How a number is written in the table; as it is, unless said. */
  readonly format?: ((value: number) => string) | undefined;
  /** Of the numbers, in the drawing: `ms` is told in seconds too. */
  readonly unit?: 'ms' | undefined;
};

/** The page that holds it says `hasCharts: true`. Where it is swapped by a morph, the drawing goes on with the new numbers. */
export function chart({ title, times, series, isStacked = false, format = String, unit }: Chart): Html {
  const drawn = { times, series, stacked: isStacked, unit };
  const rows = times.map((at, index) => [
    time(at),
    ...series.map(({ values }) => {
      const value = values[index] ?? null;
      return value === null ? '–' : format(value);
    }),
  ]);
  const columns = [
    { label: 'Time', kind: 'main' as const },
    ...series.map(({ label }) => ({ label, kind: 'number' as const })),
  ];
  const numbers = table({
    caption: title,
    columns,
    rows: rows.toReversed(),
    empty: html`<p class="quiet">Nothing yet.</p>`,
  });
  const area = attributes({
    class: isStacked ? 'chart-area is-stacked' : 'chart-area',
    'data-chart': JSON.stringify(drawn),
    'aria-hidden': 'true',
    'hx-morph-skip-children': '',
  });
  return html`<div class="chart"><div${area}></div><details><summary>${title} as a table</summary>${numbers}</details></div>`;
}
