/**
 * `npm run test:chaos -- [--seed <number>] [--kills <number>]`: kills the service at random moments (default: 200 times)
 * and checks its guarantees. `--seconds <number>` instead runs three instances on PostgreSQL for that long while faults happen; with
 * `--write-report` it writes docs/cluster-test.md. Prints
 * the counts, and the seed, which repeats a run's random choices.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    kills: { type: 'string' },
    seconds: { type: 'string' },
    'write-report': { type: 'boolean' },
  },
});
const root = join(import.meta.dirname, '..');
const file = values.seconds === undefined ? 'chaos.slow.test.ts' : 'cluster.slow.test.ts';
const { status } = spawnSync(
  process.execPath,
  ['--disable-warning=ExperimentalWarning', join(root, 'test/chaos', file)],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...(values.seed === undefined ? {} : { CHAOS_SEED: values.seed }),
      ...(values.kills === undefined ? {} : { CHAOS_KILLS: values.kills }),
      ...(values.seconds === undefined ? {} : { CHAOS_SECONDS: values.seconds }),
      ...(values['write-report'] === true ? { CHAOS_REPORT: join(root, 'docs/cluster-test.md') } : {}),
    },
  },
);
process.exitCode = status ?? 1;
