/** The drawing of a run, minute by minute. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawMinutes, type Minute } from '../../scripts/bench/report/minutes.ts';

const rows: readonly Minute[] = Array.from({ length: 10 }, (_, at) => ({
  minute: at + 1,
  perSecond: at < 5 ? 500 : 250,
  latencyMs: 3,
  serviceMicros: 400,
  postgresMicros: 900,
}));

test('a run is drawn to scale: lower figures are lower, and the band is where the snapshot was held', () => {
  const svg = drawMinutes(rows, { from: 1, to: 9 });
  const [rates = [], service = [], postgres = []] = Array.from(
    svg.matchAll(/polyline points="([^"]+)"/g),
    ([, points]) => (points ?? '').split(' ').map((point) => point.split(',').map(Number) as [number, number]),
  );
  assert.deepEqual([rates.length, service.length, postgres.length], [10, 10, 10]);
  const bottom = 34 + 120;
  // The scale ends at 500: the first point is at the top, and half of it is half as high.
  assert.equal(rates[0]?.[1], 34);
  assert.equal(bottom - (rates[9]?.[1] ?? 0), 60);
  assert.ok((postgres[0]?.[1] ?? 0) < (service[0]?.[1] ?? 0));
  const [, x, width] = /<rect x="([\d.]+)"[^>]* width="([\d.]+)"/.exec(svg)?.map(Number) ?? [];
  assert.deepEqual([x, width], [56 + 72, 576]);
});
