import assert from 'node:assert/strict';
import { it } from 'node:test';
import { MOMENTS, reportText, runChaos, sum } from './run.ts';
import { createSteps, tellUnreported } from './steps.ts';

/**
 * `CHAOS_SEED` repeats the choices of a run, `CHAOS_KILLS` makes it shorter or longer. Three or four kills at each moment are enough for
 * every run of the tests; `npm run test:chaos` kills 200 times.
 */
const { CHAOS_SEED, CHAOS_KILLS } = process.env;
const seed = Number(CHAOS_SEED ?? Date.now() % 1_000_000);
const kills = Number(CHAOS_KILLS ?? 30);
/** A kill with its restart takes 1.5 s on a quiet machine with two cores. */
const timeout = Math.max(200, kills) * 6000;

it('keeps every promise through kills at random moments', { timeout }, async (t) => {
  const tell = (text: string): void => void process.stdout.write(`${text}\n`);
  tell(`seed ${seed}: repeat with CHAOS_SEED=${seed}`);
  const steps = createSteps();
  const end = tellUnreported(steps, tell);
  const report = await runChaos(t, { seed, kills, steps, tell }).finally(end.reported);
  tell(reportText(report));
  assert.deepEqual([report.violations, report.faults], [[], []]);
  assert.ok(sum(report.kills) >= kills);
  if (kills >= 3 * MOMENTS.length) for (const moment of MOMENTS) assert.ok(report.kills[moment] > 0, moment);
});
