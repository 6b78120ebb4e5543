/**
 * `npm run test:chaos -- [--seed <number>] [--kills <number>]`: kills the service at random moments (default: 200 times)
 * and checks its guarantees. Prints the counts, and the seed, which repeats a run's random choices.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { seed: { type: 'string' }, kills: { type: 'string' } } });
const root = join(import.meta.dirname, '..');
const test = join(root, 'test', 'chaos', 'chaos.slow.test.ts');
const { status } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', test], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    ...(values.seed === undefined ? {} : { CHAOS_SEED: values.seed }),
    ...(values.kills === undefined ? {} : { CHAOS_KILLS: values.kills }),
  },
});
process.exitCode = status ?? 1;
