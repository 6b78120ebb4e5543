/** Charts over time: deliveries by outcome, duration of attempts, and tokens. */

import { type Html, html } from '../../http/html.ts';
import type { Series } from '../../observe/figures.ts';
import { chart } from '../parts/chart.ts';
import { spanText } from '../parts/time.ts';

/** Per minute, whatever the length of an interval. The last interval counts by its elapsed part, or not at all if that is too short. */
function perMinute({ points, spanSeconds }: Series, now: number, read: (point: Point) => number): (number | null)[] {
  return points.map((point) => {
    const overMs = Math.min(now - point.at, spanSeconds * 1000);
    return overMs < SHORTEST_MS ? null : rounded((read(point) * 60_000) / overMs);
  });
}

type Point = Series['points'][number];

const SHORTEST_MS = 10_000;

function rounded(rate: number): number {
  return rate < 10 ? Math.round(rate * 100) / 100 : Math.round(rate);
}

export function deliveriesChart(series: Series, now: number): Html {
  const { delivered, retried, dead } = series.total;
  if (delivered + retried + dead === 0) return nothing('Nothing was sent', series);
  return chart({
    title: 'Deliveries per minute',
    times: timesOf(series),
    isStacked: true,
    series: [
      { label: 'Delivered', tone: 'positive', values: perMinute(series, now, ({ delivered }) => delivered) },
      { label: 'To be tried again', tone: 'caution', values: perMinute(series, now, ({ retried }) => retried) },
      { label: 'Dead', tone: 'negative', values: perMinute(series, now, ({ dead }) => dead) },
    ],
  });
}

export function latencyChart(series: Series): Html {
  if (series.total.p50Ms === null) return nothing('No receiver answered', series);
  return chart({
    title: 'Time to answer',
    times: timesOf(series),
    unit: 'ms',
    format: spanText,
    series: [
      { label: 'Half within', tone: 'accent', values: series.points.map(({ p50Ms }) => p50Ms) },
      { label: '95 of 100 within', tone: 'caution', values: series.points.map(({ p95Ms }) => p95Ms) },
    ],
  });
}

export function tokensChart(series: Series, now: number): Html {
  const { tokensIssued, tokensRefused } = series.total;
  if (tokensIssued + tokensRefused === 0) return nothing('No token was asked for', series);
  return chart({
    title: 'Tokens per minute',
    times: timesOf(series),
    series: [
      { label: 'Issued', tone: 'accent', values: perMinute(series, now, ({ tokensIssued }) => tokensIssued) },
      { label: 'Refused', tone: 'negative', values: perMinute(series, now, ({ tokensRefused }) => tokensRefused) },
    ],
  });
}

function timesOf({ points }: Series): number[] {
  return points.map(({ at }) => at);
}

function nothing(what: string, { period }: Series): Html {
  return html`<p class="quiet">${what} in the last ${period}.</p>`;
}
