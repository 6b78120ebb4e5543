/** Charts over time, their period from the URL, and their numbers as a table for screen readers and without the script. */
import { attributes, type Html, html } from '../../http/html.ts';
import { PERIODS, type Period, type Series } from '../../observe/figures.ts';
import { tabs } from './header.ts';
import { table, withQuery } from './list.ts';
import { spanText, time } from './text.ts';

type Point = Series['points'][number];

/** Whole numbers, one for each interval, as the figures beside the chart count them. The last interval is not over yet. */
function counts({ points }: Series, read: (point: Point) => number): number[] {
  return points.map(read);
}

/** `Deliveries per minute`: by the intervals of the period. */
export function countTitle(what: string, { period }: Pick<Series, 'period'>): string {
  return `${what} per ${INTERVALS[period]}`;
}

const INTERVALS: Readonly<Record<Period, string>> = { hour: 'minute', day: '10 minutes', week: 'hour' };

/** The chart of deliveries counts attempts: each delivery at each of its attempts. One request may carry several. */
export const TRIED = 'Delivery attempts';

/** `title`: of what the attempts were. A reader's deliveries have none. */
export function deliveriesChart(series: Series, title = TRIED): Html {
  const { delivered, retried, dead } = series.total;
  if (delivered + retried + dead === 0) return nothing('No event was sent', series);
  return chart({
    title: countTitle(title, series),
    times: timesOf(series),
    isStacked: true,
    series: [
      { label: 'Delivered', tone: 'positive', values: counts(series, ({ delivered }) => delivered) },
      { label: 'Failed, still pending', tone: 'caution', values: counts(series, ({ retried }) => retried) },
      { label: 'Dead', tone: 'negative', values: counts(series, ({ dead }) => dead) },
    ],
  });
}

/** Deliveries and response times side by side, or one sentence if nothing was sent. */
export function throughputCharts(series: Series): Html {
  if (series.total.attempts === 0) return nothing('No event was sent', series);
  return html`
    <div class="columns">
      <div class="stack"><h3>${countTitle(TRIED, series)}</h3>${deliveriesChart(series)}</div>
      <div class="stack"><h3>Response time</h3>${latencyChart(series)}</div>
    </div>
  `;
}

export function latencyChart(series: Series): Html {
  if (series.total.p50Ms === null) return nothing('No receiver responded', series);
  return chart({
    title: 'Response time',
    times: timesOf(series),
    unit: 'ms',
    format: spanText,
    series: [
      { label: 'Median', tone: 'accent', values: series.points.map(({ p50Ms }) => p50Ms) },
      { label: '95 %', tone: 'accent-pale', values: series.points.map(({ p95Ms }) => p95Ms) },
    ],
  });
}

export function tokensChart(series: Series): Html {
  const { tokensIssued, tokensRefused } = series.total;
  if (tokensIssued + tokensRefused === 0) return nothing('No token was requested', series);
  return chart({
    title: countTitle('Tokens', series),
    times: timesOf(series),
    isStacked: true,
    series: [
      { label: 'Issued', tone: 'accent', values: counts(series, ({ tokensIssued }) => tokensIssued) },
      { label: 'Refused', tone: 'negative', values: counts(series, ({ tokensRefused }) => tokensRefused) },
    ],
  });
}

function timesOf({ points }: Series): number[] {
  return points.map(({ at }) => at);
}

function nothing(what: string, { period }: Series): Html {
  return html`<p class="quiet">${what} in the last ${period}.</p>`;
}

/** Links to the same page with another period. */
export function periodTabs(path: string, query: URLSearchParams, period: Period): Html {
  const items = (Object.keys(PERIODS) as readonly Period[]).map((name) => ({
    href: withQuery(path, query, { period: name }),
    label: `Last ${name}`,
    isCurrent: name === period,
  }));
  return tabs('Period', items);
}

type ChartSeries = {
  readonly label: string;
  /** The meaning of the series, or `accent`, behind which is `accent-pale`. */
  readonly tone: 'accent' | 'accent-pale' | 'positive' | 'negative' | 'caution';
  /** One for each instant; null for no value. */
  readonly values: readonly (number | null)[];
};

type Chart = {
  readonly title: string;
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  /** Bars on top of each other. Otherwise each begins at zero, the first one in front. */
  readonly isStacked?: boolean | undefined;
  /** Formats a number in the table. */
  readonly format?: ((value: number) => string) | undefined;
  /** The unit in the drawing. */
  readonly unit?: 'ms' | undefined;
};

/** The page must set `hasCharts: true`. A morph swap updates the drawing with the new numbers. */
function chart({ title, times, series: all, isStacked = false, format = String, unit }: Chart): Html {
  // A part of a stack without data would only fill the legend. The first one is the scale.
  const hasData = ({ values }: ChartSeries): boolean => values.some((value) => value !== null && value !== 0);
  const series = isStacked ? all.filter((one, at) => at === 0 || hasData(one)) : all;
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
    class: 'chart-area',
    'data-chart': JSON.stringify(drawn),
    'aria-hidden': 'true',
    title: 'Drag to zoom in, double-click to show everything',
    'data-hx-morph-skip-children': '',
  });
  return html`
    <div class="chart">
      <div${area}></div>
      <details><summary>${title} as a table</summary>${numbers}</details>
      <button type="button" class="button button-plain chart-all" data-chart-all data-hx-morph-skip hidden>Show everything</button>
    </div>
  `;
}
