/**
 * CPU time of the service for each token, guarded call and record, by thread: publishing, delivering, both together, batches of 100, one
 * ordered webhook, the order of 10,000 keys, and the formats of other receivers. A request has one event and a POST one record, unless the
 * name says otherwise. Several versions of the project are measured in turn.
 *
 *     node scripts/bench/cost.ts [options] [folder …]
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makeCertificates } from '../../test/support/tls.ts';
import {
  type Cost,
  measureCosts,
  OPERATIONS,
  type Operation,
  startContender,
  totalMicros,
} from './harness/operations.ts';
import { profilingFlags } from './harness/profile.ts';
import { ownWorkFolder, runProgram, wholeNumber } from './harness/program.ts';
import { startReceiver } from './receiver-process.ts';
import { median } from './report/statistics.ts';

/** How often a round does each operation. */
const COUNTS: Readonly<Record<Operation, number>> = {
  token: 6000,
  guard: 12_000,
  publish: 3000,
  deliver: 6000,
  batches: 30_000,
  steady: 6000,
  paced: 900,
  ordered: 800,
  keyed: 6000,
  standard: 6000,
  cloudevents: 6000,
};

const USAGE = `usage: node scripts/bench/cost.ts [options] [folder …]

Without a folder of the project: this one.

  --rounds <n>       how often everything is measured (5)
  --only <names>     some of ${OPERATIONS.join(',')}
  --publishers <n>   requests in progress (16)
  --instances <n>    that many instances, on a PostgreSQL server of their own that syncs every commit; otherwise SQLite
  --profile <folder> where Node writes CPU profiles of the services
`;

type Options = {
  readonly rounds: number;
  readonly names: readonly Operation[];
  readonly publishers: number;
  readonly instances: number | null;
  readonly profile: string | undefined;
  readonly folders: readonly string[];
};

/** Throws an `Error` that names the problem. */
function readOptions(args: string[]): Options {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '5' },
      only: { type: 'string' },
      publishers: { type: 'string', default: '16' },
      instances: { type: 'string' },
      profile: { type: 'string' },
    },
  });
  const asked: readonly string[] = values.only?.split(',') ?? OPERATIONS;
  return {
    rounds: wholeNumber(values.rounds, 'rounds'),
    names: OPERATIONS.filter((name) => asked.includes(name)),
    publishers: wholeNumber(values.publishers, 'publishers'),
    instances: values.instances === undefined ? null : wholeNumber(values.instances, 'instances'),
    profile: values.profile,
    folders: (positionals.length === 0 ? ['.'] : positionals).map((folder) => resolve(folder)),
  };
}

async function measure({ rounds, names, publishers, instances, profile, folders }: Options): Promise<number> {
  const work = ownWorkFolder('/var/tmp');
  const certificates = makeCertificates();
  const quick = await startReceiver(certificates.server);
  const slow = await startReceiver(certificates.server, 1);
  const nodeFlags = profile === undefined ? [] : profilingFlags(profile);
  const shared = { operations: names, certificates, receivers: { quick, slow }, publishers, instances, nodeFlags };
  const contenders = [];
  for (const [at, folder] of folders.entries())
    contenders.push(
      await startContender({ ...shared, main: join(folder, 'src/main.ts'), folder: join(work, String(at)) }),
    );
  const costs = await measureCosts(contenders, new Map(names.map((name) => [name, COUNTS[name]])), rounds);
  process.stdout.write(`${rounds} rounds: µs of CPU time for each record, median (least), and its threads\n`);
  for (const [name, byContender] of costs)
    for (const [at, all] of byContender.entries())
      process.stdout.write(`${`${name} ${folders[at]}`.padEnd(36)} ${described(all, instances !== null)}\n`);
  for (const { stop } of contenders) await stop();
  for (const receiver of [quick, slow]) receiver.stop();
  return 0;
}

function described(all: readonly Cost[], hasServer: boolean): string {
  const totals = all.map(totalMicros);
  const names = [...new Set(all.flatMap(({ threads }) => [...threads.keys()]))];
  const split = names.map((name) => `${name} ${median(all.map(({ threads }) => threads.get(name) ?? 0)).toFixed(0)}`);
  const server = hasServer ? `  PostgreSQL ${median(all.map(({ postgres }) => postgres)).toFixed(0)} µs` : '';
  const rate = median(all.map(({ perSecond }) => perSecond)).toFixed(0);
  const total = `${median(totals).toFixed(0).padStart(5)} (${Math.min(...totals).toFixed(0)})`;
  return `${total}  ${rate.padStart(6)}/s${server}  ${split.join(', ')}`;
}

await runProgram(USAGE, readOptions, measure);
