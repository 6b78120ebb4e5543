/** What charts draw of the figures. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Series } from '../../../src/observe/figures.ts';
import { tokensChart } from '../../../src/portal/parts/chart.ts';

const MINUTE = 60_000;

it('the last interval has no rate until it is over', () => {
  const points = [0, MINUTE].map((at) => ({ at, tokensIssued: 3, tokensRefused: 0 }));
  const series = { period: 'hour', spanSeconds: 60, points, total: { tokensIssued: 6, tokensRefused: 0 } };
  const issued = (now: number): unknown => {
    const [, drawn = ''] = /data-chart="([^"]+)"/.exec(tokensChart(series as unknown as Series, now).markup) ?? [];
    return JSON.parse(drawn.replaceAll('&quot;', '"')).series[0].values;
  };
  assert.deepEqual(issued(MINUTE + 59_000), [3, null]);
  assert.deepEqual(issued(2 * MINUTE), [3, 3]);
});
