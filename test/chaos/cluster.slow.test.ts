import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { clusterReportText, FAULTS, runCluster } from './cluster.ts';
import { clusterReportPage } from './report-page.ts';
import { createSteps, tellUnreported } from './steps.ts';

/** `CHAOS_SEED` repeats the choices of a run, `CHAOS_SECONDS` makes it shorter or longer, `CHAOS_REPORT` is a file for its report. */
const { CHAOS_SEED, CHAOS_SECONDS, CHAOS_REPORT } = process.env;
const seed = Number(CHAOS_SEED ?? Date.now() % 1_000_000);
const durationMs = Number(CHAOS_SECONDS ?? 30) * 1000;

it('keeps every promise with three instances while faults happen at random', { timeout: 3_600_000 }, async (t) => {
  const tell = (text: string): void => void process.stdout.write(`${text}\n`);
  tell(`seed ${seed}: repeat with CHAOS_SEED=${seed}`);
  const steps = createSteps();
  const end = tellUnreported(steps, tell);
  const report = await runCluster(t, { seed, durationMs, steps, tell })
    .catch((error: Error) => {
      // What still runs delays the report of the test.
      tell(String(error.stack));
      throw error;
    })
    .finally(end.reported);
  tell(clusterReportText(report));
  if (CHAOS_REPORT !== undefined) writeFileSync(CHAOS_REPORT, clusterReportPage(report));
  assert.deepEqual([report.violations, report.problems], [[], []]);
  assert.ok(report.acknowledged > 0 && report.revoked > 0 && report.read >= report.acknowledged * 4);
  if (durationMs >= 300_000) for (const fault of FAULTS) assert.ok(report.faults[fault] > 0, fault);
});
