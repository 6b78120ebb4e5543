/**
 * Compares what operations cost in this working tree and in another commit: tokens, guarded calls, publishing, delivering, both together,
 * and both at 300 events a second. Both versions run on this machine and are measured in turns, by the CPU time of all threads of the
 * service, which other programs disturb less than rates. It says what changed beyond noise, and ends with 0 whatever it found.
 *
 *     npm run bench:compare -- <commit> [--rounds 12] [--only token,guard]
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeCertificates } from '../../test/support/tls.ts';
import { checkOut } from './harness/checkout.ts';
import { type Contender, measureCosts, type Operation, startContender, totalMicros } from './harness/operations.ts';
import { ownWorkFolder, runProgram } from './harness/program.ts';
import { startReceiver } from './receiver-process.ts';
import { compareRounds, printedComparison, ROUNDS_LEAST } from './report/comparison.ts';

/** The operations with their names in the table, and how often a round does each: about half a second of CPU time. */
const COMPARED = {
  token: ['issue a token', 4000],
  guard: ['make a guarded call', 6000],
  publish: ['publish an event', 2000],
  deliver: ['deliver a record', 3000],
  steady: ['publish and deliver together', 1500],
  paced: ['the same at 300 events a second', 300],
} as const satisfies { readonly [Name in Operation]?: readonly [name: string, count: number] };
type Name = keyof typeof COMPARED;
const NAMES = Object.keys(COMPARED) as Name[];

const CALLERS = 16;
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const USAGE = `usage: npm run bench:compare -- <commit> [options]

  --rounds <n>     how often both versions are measured (12; at least ${ROUNDS_LEAST})
  --only <names>   some of ${NAMES.join(',')}
  --folder <path>  where data is put during the run, on a disk (/var/tmp)
`;

type Options = {
  readonly revision: string;
  readonly rounds: number;
  readonly names: readonly Name[];
  readonly folder: string;
};

/** Throws an `Error` that names the problem. */
function readOptions(args: string[]): Options {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '12' },
      only: { type: 'string' },
      folder: { type: 'string', default: '/var/tmp' },
    },
  });
  const [revision, ...more] = positionals;
  if (revision === undefined || more.length > 0) throw new Error('name one commit');
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < ROUNDS_LEAST || rounds > 1000)
    throw new Error(`--rounds is not a whole number from ${ROUNDS_LEAST} to 1000: ${values.rounds}`);
  const asked = values.only?.split(',') ?? NAMES;
  const unknown = asked.find((name) => !Object.hasOwn(COMPARED, name));
  if (unknown !== undefined) throw new Error(`there is no operation ${unknown}`);
  return { revision, rounds, names: NAMES.filter((name) => asked.includes(name)), folder: values.folder };
}

async function compare({ revision, rounds, names, folder }: Options): Promise<number> {
  const work = ownWorkFolder(folder);
  process.stderr.write(`checking ${revision} out\n`);
  const before = await checkOut(work, revision);
  const certificates = makeCertificates();
  const receiver = await startReceiver(certificates.server);
  const start = (name: string, main: string): Promise<Contender> =>
    startContender({
      main,
      folder: join(work, name),
      operations: names,
      certificates,
      publishers: CALLERS,
      receivers: { quick: receiver, slow: receiver },
    });
  const contenders = [await start('before', join(before.folder, 'src/main.ts')), await start('now', MAIN)];
  const costs = await measureCosts(contenders, new Map(names.map((name) => [name, COMPARED[name][1]])), rounds);
  for (const { stop } of contenders) await stop();
  receiver.stop();
  const compared = names.map((name) => {
    const [then = [], now = []] = costs.get(name) ?? [];
    return compareRounds(COMPARED[name][0], then.map(totalMicros), now.map(totalMicros));
  });
  process.stdout.write(printedComparison(compared, before.commit, rounds));
  return 0;
}

await runProgram(USAGE, readOptions, compare);
