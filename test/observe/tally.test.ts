import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Counter, Histogram, Registry } from 'prom-client';
import { counterTally, histogramTally } from '../../src/observe/metrics.ts';

const LABELS = ['route', 'status'] as const;
const labels = fc.tuple(fc.constantFrom('/a', '/b "quoted"', '/c\\d\n'), fc.constantFrom('200', '404'));

describe('a tally renders like the metric of prom-client', () => {
  it('counter', async () => {
    const settings = { name: 'requests_total', help: 'Requests.', labelNames: [...LABELS] };
    const check = fc.asyncProperty(fc.array(labels, { maxLength: 50 }), async (all) => {
      const [ours, theirs] = [new Registry(), new Registry()];
      const tally = counterTally(ours, settings);
      const counter = new Counter({ ...settings, registers: [theirs] });
      for (const [route, status] of all) {
        tally.add(route, status);
        counter.inc({ route, status });
      }
      await ours.metrics();
      assert.equal(await ours.metrics(), await theirs.metrics(), 'asked again it is the same');
    });
    await fc.assert(check);
  });

  it('histogram', async () => {
    const settings = { name: 'seconds', help: 'How long.', labelNames: [...LABELS], buckets: [0.5, 1, 2] };
    const values = fc.constantFrom(0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 1000);
    const check = fc.asyncProperty(fc.array(fc.tuple(values, labels), { maxLength: 50 }), async (all) => {
      const [ours, theirs] = [new Registry(), new Registry()];
      const tally = histogramTally(ours, settings);
      const histogram = new Histogram({ ...settings, registers: [theirs] });
      for (const [value, [route, status]] of all) {
        tally.observe(value, route, status);
        histogram.observe({ route, status }, value);
      }
      assert.equal(await ours.metrics(), await theirs.metrics());
    });
    await fc.assert(check);
  });

  it('without labels, before the first count', async () => {
    const registry = new Registry();
    counterTally(registry, { name: 'none_total', help: 'None.' });
    histogramTally(registry, { name: 'nothing', help: 'Nothing.', buckets: [1] });
    const text = await registry.metrics();
    assert.match(text, /# TYPE none_total counter/);
    assert.match(text, /# TYPE nothing histogram/);
  });
});
