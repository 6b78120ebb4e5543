/** The drawing of charts from the figures. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { runInNewContext } from 'node:vm';
import type { Html } from '../../../src/http/html.ts';
import type { Series } from '../../../src/observe/figures.ts';
import { countTitle, deliveriesChart, latencyChart, tokensChart } from '../../../src/portal/parts/chart.ts';

const MINUTE = 60_000;
const SCRIPT = readFileSync(new URL('../../../src/portal/assets/chart.js', import.meta.url), 'utf8');

it('each interval has its whole number, the current one too, and the title names the interval', () => {
  const series = seriesOf([
    { tokensIssued: 3, tokensRefused: 0 },
    { tokensIssued: 1, tokensRefused: 0 },
  ]);
  assert.deepEqual(JSON.parse(carried(tokensChart(series))).series[0].values, [3, 1]);
  assert.deepEqual(
    (['hour', 'day', 'week'] as const).map((period) => countTitle('Tokens', { period })),
    ['Tokens per minute', 'Tokens per 10 minutes', 'Tokens per hour'],
  );
});

it('counts are bars in the middle of their interval, on top of each other, and an outcome without any has none', () => {
  const series = seriesOf([
    { delivered: 3, retried: 1, dead: 0 },
    { delivered: 0, retried: 2, dead: 0 },
  ]);
  const { data, series: drawn } = drawnOf(deliveriesChart(series));
  assert.deepEqual(data, [
    [30, 90],
    [4, 2],
    [3, null],
  ]);
  assert.deepEqual(drawn, ['Failed, still pending bars', 'Delivered bars']);
});

it('the response time has the median in front of the 95th percentile, and no colour of an outcome', () => {
  const points = [
    { p50Ms: 5, p95Ms: 5 },
    { p50Ms: null, p95Ms: null },
  ];
  const chart = latencyChart(seriesOf(points));
  assert.deepEqual(drawnOf(chart), {
    data: [
      [30, 90],
      [5, null],
      [5, null],
    ],
    series: ['95 % bars', 'Median bars'],
  });
  const tones = JSON.parse(carried(chart)).series.map(({ tone }: { tone: string }) => tone);
  assert.deepEqual(tones, ['accent', 'accent-pale']);
});

/** One point a minute; the total is not that of the points. */
function seriesOf(points: readonly object[]): Series {
  return {
    period: 'hour',
    spanSeconds: 60,
    points: points.map((point, at) => ({ at: at * MINUTE, ...point })),
    total: { tokensIssued: 6, tokensRefused: 0, delivered: 3, retried: 3, dead: 0, p50Ms: 5 },
  } as unknown as Series;
}

function carried({ markup }: Html): string {
  return (/data-chart="([^"]+)"/.exec(markup)?.[1] ?? assert.fail()).replaceAll('&quot;', '"');
}

/** The columns and the series that the script gives to the library, without a browser. */
function drawnOf(chart: Html): { readonly data: unknown; readonly series: string[] } {
  const made: { data?: unknown; series?: { label: string; paths?: string }[] } = {};
  const observer = class {
    observe(): void {}
  };
  const element = { dataset: { chart: carried(chart) }, clientWidth: 600, append: () => {} };
  const nothing = { addEventListener: () => {} };
  runInNewContext(SCRIPT, {
    document: {
      ...nothing,
      readyState: 'complete',
      createElement: () => ({ style: {}, remove: () => {} }),
      querySelectorAll: () => [element],
    },
    getComputedStyle: () => ({ color: 'red', getPropertyValue: () => '' }),
    matchMedia: () => nothing,
    MutationObserver: observer,
    ResizeObserver: observer,
    sallyportTimes: {},
    uPlot: class {
      static readonly paths = { bars: () => 'bars' };
      constructor({ series }: { series: { label: string; paths?: string }[] }, data: unknown) {
        Object.assign(made, { series, data });
      }
    },
  });
  const [, ...bars] = made.series ?? assert.fail();
  return {
    data: JSON.parse(JSON.stringify(made.data)),
    series: bars.map(({ label, paths }) => `${label} ${paths}`),
  };
}
