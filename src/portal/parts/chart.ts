/** A chart over time, and its numbers as a table for screen readers and without the script. */
import { attributes, type Html, html } from '../../http/html.ts';
import { table } from './table.ts';
import { time } from './time.ts';

export type Series = {
  readonly label: string;
  /** `accent`, or the meaning of the series. */
  readonly tone: 'accent' | 'positive' | 'negative' | 'caution' | 'info';
  /** One for each instant; null for no value. */
  readonly values: readonly (number | null)[];
};

export type Chart = {
  readonly title: string;
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** Stacked areas rather than lines. */
  readonly isStacked?: boolean | undefined;
  /** Formats a number in the table. */
  readonly format?: ((value: number) => string) | undefined;
  /** The unit in the drawing. */
  readonly unit?: 'ms' | undefined;
};

/** The page must set `hasCharts: true`. A morph swap updates the drawing with the new numbers. */
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
