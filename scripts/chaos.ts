/**
 * `npm run test:chaos -- [--seed <number>] [--kills <number>]`: kills the service at random moments (default: 200 times)
 * and checks its guarantees. `--seconds <number>` instead runs three instances on PostgreSQL for that long while faults happen; with
 * `--write-report` it writes docs/cluster-test.md. Prints
 * the counts, and the seed, which repeats a run's random choices.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/**
 * The most that a run may take besides its faults, and that a kill may take, in seconds. Each step has its own limit and says what hung.
 * These two end a run that hangs elsewhere.
 */
const REST_WITHIN_S = 1800;
const KILL_WITHIN_S = 7;
const KILLS = 200;
const ENDED_WITHIN_MS = 10_000;

const HELP = `npm run test:chaos [-- --kills <number>] [-- --seconds <number>] [-- --seed <number>] [-- --write-report]

Kills the service at random moments, and checks its guarantees.

  --kills <number>    how often (default: ${KILLS})
  --seconds <number>  runs three instances on PostgreSQL instead, for that long, while faults happen
  --seed <number>     repeats the random choices of a run
  --write-report      writes docs/cluster-test.md after a run with --seconds
  --help              shows this text
`;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    kills: { type: 'string' },
    seconds: { type: 'string' },
    'write-report': { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
if (values.help === true) {
  process.stdout.write(HELP);
  process.exit();
}
const root = join(import.meta.dirname, '..');
const file = values.seconds === undefined ? 'chaos.slow.test.ts' : 'cluster.slow.test.ts';
const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(root, 'test/chaos', file)], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    ...(values.seed === undefined ? {} : { CHAOS_SEED: values.seed }),
    CHAOS_KILLS: values.kills ?? String(KILLS),
    ...(values.seconds === undefined ? {} : { CHAOS_SECONDS: values.seconds }),
    ...(values['write-report'] === true ? { CHAOS_REPORT: join(root, 'docs/cluster-test.md') } : {}),
  },
});
const faultsS = values.seconds === undefined ? Number(values.kills ?? KILLS) * KILL_WITHIN_S : Number(values.seconds);
const limitMs = (faultsS + REST_WITHIN_S) * 1000;
const timer = setTimeout(() => {
  process.stderr.write(`The run did not end within ${limitMs / 1000} s, and is ended.\n`);
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), ENDED_WITHIN_MS).unref();
}, limitMs);
child.once('error', (error) => {
  throw error;
});
child.once('exit', (status, signal) => {
  clearTimeout(timer);
  if (signal !== null) process.stderr.write(`The run was ended by ${signal}, without a report.\n`);
  process.exitCode = status ?? 1;
});
