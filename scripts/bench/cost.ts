/**
 * CPU time of the service for each token, guarded call and record, by thread: only publishing, only delivering, both together, batches of
 * 100, one ordered webhook, the order of 10,000 keys, and the formats of other receivers. It uses one event a request, and one record a
 * POST unless it says otherwise.
 * With two or more folders of the project, it measures each in turn in every round, so that what else the machine does disturbs all of
 * them alike.
 *
 * With `--instances`, it measures so many instances on a PostgreSQL server of its own, which syncs every commit to the disk, and that
 * server's CPU time as well.
 *
 *     node scripts/bench/cost.ts [--rounds 5] [--only steady] [--publishers 16] [--instances 2] [--profile <folder>] [folder …]
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makeCertificates } from '../../test/support/tls.ts';
import { type Contender, type Cost, OPERATIONS, startContender } from './harness/operations.ts';
import { profilingFlags } from './harness/profile.ts';
import { makeWorkFolder, removeFolder } from './harness/work-folder.ts';
import { startReceiver } from './receiver-process.ts';
import { median } from './report/statistics.ts';

/** Rounds that do not count, until most functions are compiled. */
const WARMING_ROUNDS = 2;
const RECORDS = {
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
} as const;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
    profile: { type: 'string' },
    instances: { type: 'string' },
    publishers: { type: 'string', default: '16' },
  },
});
const publishers = Number(values.publishers);
const instances = values.instances === undefined ? null : Number(values.instances);
const rounds = Number(values.rounds);
const parts = OPERATIONS.filter((part) => values.only?.split(',').includes(part) ?? true);
const folders = (positionals.length === 0 ? ['.'] : positionals).map((folder) => resolve(folder));

const nodeFlags = values.profile === undefined ? [] : profilingFlags(values.profile);

const certificates = makeCertificates();
const work = makeWorkFolder('/var/tmp');
const receivers = {
  quick: await startReceiver(certificates.server),
  slow: await startReceiver(certificates.server, 1),
};
const contenders: (Contender & { readonly folder: string })[] = [];
try {
  for (const [at, folder] of folders.entries()) {
    const shared = { operations: parts, certificates, receivers, publishers, instances, nodeFlags };
    const version = { main: join(folder, 'src/main.ts'), folder: join(work, String(at)) };
    contenders.push({ folder, ...(await startContender({ ...shared, ...version })) });
  }
  const costs = new Map<string, Cost[]>();
  for (let round = -WARMING_ROUNDS; round < rounds; round += 1) {
    for (const part of parts) {
      for (const { folder, measure } of round % 2 === 0 ? contenders : contenders.toReversed()) {
        const cost = await measure(part, RECORDS[part]);
        if (round >= 0) costs.set(`${part} ${folder}`, [...(costs.get(`${part} ${folder}`) ?? []), cost]);
      }
    }
    process.stderr.write('.');
  }
  report(costs);
} finally {
  for (const { stop } of contenders) await stop();
  for (const receiver of Object.values(receivers)) receiver.stop();
  removeFolder(work);
}

function report(costs: ReadonlyMap<string, readonly Cost[]>): void {
  process.stdout.write(`\n${rounds} rounds: µs of CPU time for each record, median (least), and its threads\n`);
  for (const [name, all] of costs) {
    const names = [...new Set(all.flatMap(({ threads }) => [...threads.keys()]))];
    const totals = all.map(({ threads }) => [...threads.values()].reduce((sum, micros) => sum + micros, 0));
    const split = names.map(
      (thread) => `${thread} ${median(all.map(({ threads }) => threads.get(thread) ?? 0)).toFixed(0)}`,
    );
    const server =
      instances === null ? '' : `  PostgreSQL ${median(all.map(({ postgres }) => postgres)).toFixed(0)} µs`;
    const rate = median(all.map(({ perSecond }) => perSecond)).toFixed(0);
    process.stdout.write(
      `${name.padEnd(36)} ${median(totals).toFixed(0).padStart(5)} (${Math.min(...totals).toFixed(0)})  ` +
        `${rate.padStart(6)}/s${server}  ${split.join(', ')}\n`,
    );
  }
}
