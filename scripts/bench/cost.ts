/**
 * CPU time of the service for each token, guarded call and record, by thread: publishing alone, delivering alone, both at once, batches of 100,
 * and one ordered webhook. It uses one event a request, and one record a POST unless it says otherwise. With two or more folders of the
 * project, it measures each in turn in every round, so that what else the machine does disturbs all of them alike.
 *
 * With `--instances`, it measures so many instances on a PostgreSQL server of its own, which syncs every commit to the disk, and that
 * server's CPU time as well.
 *
 *     node scripts/bench/cost.ts [--rounds 5] [--only steady] [--publishers 16] [--instances 2] [--profile <folder>] [folder …]
 */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { type Dispatcher, Pool } from 'undici';
import { startCluster } from '../../test/support/postgres.ts';
import { makeCertificates } from '../../test/support/tls.ts';
import { requestToken } from '../demo/api.ts';
import { cpuMillisByThread, cpuMillisOfPostgres } from './harness/cpu.ts';
import {
  type Drained,
  differences,
  ENDPOINTS,
  EVENT_BYTES,
  eventType,
  publish,
  startDelivering,
} from './harness/deliveries.ts';
import { profilingFlags } from './harness/profile.ts';
import { type Credentials, createEmployee, EDGE, registerReaders, TOKEN_PATH } from './harness/service.ts';
import { makeWorkFolder, removeFolder } from './harness/work-folder.ts';
import { startReceiver } from './receiver-process.ts';
import { median } from './report/statistics.ts';

/** Rounds that do not count, until most functions are compiled. */
const WARMING_ROUNDS = 2;
/** PostgreSQL as it comes. */
const DURABLE = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
};
/** Events a second in the measurement at a low rate. */
const PACED = 300;
const RECORDS = {
  ...{ token: 6000, guard: 12_000, publish: 3000, deliver: 6000, batches: 30_000, steady: 6000, paced: 900 },
  ordered: 800,
} as const;
const READERS = 20;
type Part = keyof typeof RECORDS;
const PARTS = Object.keys(RECORDS) as Part[];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ...{ rounds: { type: 'string', default: '5' }, only: { type: 'string' }, profile: { type: 'string' } },
    instances: { type: 'string' },
    publishers: { type: 'string', default: '16' },
  },
});
const publishers = Number(values.publishers);
const instances = values.instances === undefined ? null : Number(values.instances);
const rounds = Number(values.rounds);
const parts = PARTS.filter((part) => values.only?.split(',').includes(part) ?? true);
const folders = (positionals.length === 0 ? ['.'] : positionals).map((folder) => resolve(folder));

type Cost = { readonly threads: ReadonlyMap<string, number>; readonly postgres: number; readonly perSecond: number };
type Measured = Pick<Drained, 'ms' | 'cpuMsByThread'>;
type Contender = { readonly folder: string; measure(part: Part): Promise<Cost>; stop(): Promise<void> };

const certificates = makeCertificates();
const work = makeWorkFolder('/var/tmp');
const receivers = {
  quick: await startReceiver(certificates.server),
  slow: await startReceiver(certificates.server, 1),
};
const contenders: Contender[] = [];
try {
  for (const [at, folder] of folders.entries()) contenders.push(await startContender(folder, join(work, String(at))));
  const costs = new Map<string, Cost[]>();
  for (let round = -WARMING_ROUNDS; round < rounds; round += 1) {
    for (const part of parts) {
      for (const { folder, measure } of round % 2 === 0 ? contenders : contenders.toReversed()) {
        const cost = await measure(part);
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

async function startContender(folder: string, work: string): Promise<Contender> {
  mkdirSync(work);
  const shared = { certificates, batchRecords: 1, main: join(folder, 'src/main.ts') };
  const nodeFlags = values.profile === undefined ? [] : profilingFlags(values.profile);
  const server = instances === null ? null : await startCluster(DURABLE, '/var/tmp');
  const on = async (name: string) =>
    server === null || instances === null
      ? {}
      : { cluster: { databaseUrl: await newDatabase(server.url, name), instances } };
  const some = await startDelivering({
    ...{ ...shared, nodeFlags, dataDir: join(work, 'some'), receiver: receivers.quick, ...(await on('some')) },
  });
  const ordered = await startDelivering({
    ...{ ...shared, ordered: true, dataDir: join(work, 'ordered'), receiver: receivers.slow },
    ...(await on('in_order')),
  });
  const batched = await startDelivering({
    ...{ ...shared, batchRecords: 100, dataDir: join(work, 'batched'), receiver: receivers.quick },
    ...(await on('batched')),
  });
  const { adminToken } = some.service;
  const readers = await registerReaders(some.service, READERS);
  const employee = await createEmployee(some.service);
  const tokens = await Promise.all(readers.map((reader) => requestToken(some.service.url, reader)));
  const pools = some.instances.map(({ url }) => new Pool(url, { connections: publishers }));
  const cpu = async (pids: readonly number[]): Promise<Map<string, number>> => {
    const sum = new Map<string, number>();
    for (const pid of pids) for (const [name, ms] of cpuMillisByThread(pid)) sum.set(name, (sum.get(name) ?? 0) + ms);
    return sum;
  };
  const publishOne = async (n: number): Promise<void> => {
    const body = JSON.stringify({ type: eventType(n % ENDPOINTS), data: { text: 'x'.repeat(EVENT_BYTES - 11) } });
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${adminToken}` };
    const pool = pools[n % pools.length] as Pool;
    const answer = await pool.request({ method: 'POST', path: `${EDGE}/events`, headers, body });
    await answer.body.dump();
    if (answer.statusCode !== 202) throw new Error(`publishing was answered with ${answer.statusCode}`);
  };
  const requestOne = async (n: number, what: Dispatcher.RequestOptions): Promise<void> => {
    const answer = await (pools[n % pools.length] as Pool).request(what);
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`${what.path} was answered with ${answer.statusCode}`);
  };
  const issueOne = async (n: number): Promise<void> => {
    const { clientId, clientSecret } = readers[n % READERS] as Credentials;
    const body = JSON.stringify({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret });
    await requestOne(n, { method: 'POST', path: TOKEN_PATH, headers: { 'content-type': 'application/json' }, body });
  };
  const guardOne = async (n: number): Promise<void> => {
    const headers = { authorization: `Bearer ${tokens[n % READERS]?.access_token}` };
    await requestOne(n, { method: 'GET', path: employee.path, headers });
  };
  const requests = async (count: number, one: (n: number) => Promise<void>): Promise<Measured> => {
    const pids = some.instances.map(({ pid }) => pid);
    const before = await cpu(pids);
    const from = performance.now();
    await publishAll(count, one);
    return { ms: performance.now() - from, cpuMsByThread: differences(await cpu(pids), before) };
  };
  /** Adds PostgreSQL's time for `work`, which leaves out what comes before and after it. */
  const withPostgres = async (work: () => Promise<Measured>): Promise<Measured & { readonly postgresMs: number }> => {
    if (server === null) return { ...(await work()), postgresMs: 0 };
    const before = await cpuMillisOfPostgres(server.url('postgres'));
    const measured = await work();
    return { ...measured, postgresMs: (await cpuMillisOfPostgres(server.url('postgres'))) - before };
  };
  const measures: Record<Part, (records: number) => ReturnType<typeof withPostgres>> = {
    token: (count) => withPostgres(() => requests(count, issueOne)),
    guard: (count) => withPostgres(() => requests(count, guardOne)),
    publish: async (records) => {
      const measured = await withPostgres(() => requests(records, publishOne));
      await some.deliver(records);
      return measured;
    },
    batches: async (records) => {
      await publish(batched.service, records);
      return withPostgres(() => batched.deliver(records));
    },
    deliver: async (records) => {
      await publish(some.service, records);
      return withPostgres(() => some.deliver(records));
    },
    steady: (records) => withPostgres(() => some.deliver(records, () => publishAll(records, publishOne))),
    paced: (records) => withPostgres(() => some.deliver(records, () => publishPaced(records, publishOne))),
    ordered: async (records) => {
      const event = { type: eventType(0), data: { text: 'x'.repeat(200) } };
      await ordered.service.admin.call(202, 'POST', `${EDGE}/events`, { events: Array<unknown>(records).fill(event) });
      return withPostgres(() => ordered.deliver(records));
    },
  };
  return {
    folder,
    measure: async (part) => {
      const records = RECORDS[part];
      const { ms, cpuMsByThread, postgresMs } = await measures[part](records);
      const threads = Array.from(cpuMsByThread, ([name, cpuMs]) => [name, (cpuMs * 1000) / records] as const);
      return {
        threads: new Map(threads),
        postgres: (postgresMs * 1000) / records,
        perSecond: (records * 1000) / ms,
      };
    },
    stop: async () => {
      for (const pool of pools) await pool.close();
      await some.stop();
      await ordered.stop();
      await batched.stop();
      server?.stop();
    },
  };
}

async function newDatabase(url: (database: string) => string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: url('postgres') });
  await client.connect();
  await client.query(`CREATE DATABASE "${name}"`).finally(() => client.end());
  return url(name);
}

async function publishAll(records: number, publishOne: (n: number) => Promise<void>): Promise<void> {
  let at = 0;
  const publisher = async (): Promise<void> => {
    while (at < records) await publishOne(at++);
  };
  await Promise.all(Array.from({ length: publishers }, publisher));
}

async function publishPaced(records: number, publishOne: (n: number) => Promise<void>): Promise<void> {
  const from = performance.now();
  const all: Promise<void>[] = [];
  for (let at = 0; at < records; at += 1) {
    const waitMs = from + (at * 1000) / PACED - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    all.push(publishOne(at));
  }
  await Promise.all(all);
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
      `${name.padEnd(36)} ${median(totals).toFixed(0).padStart(5)} (${Math.min(...totals).toFixed(0)})  ${rate.padStart(6)}/s${server}  ${split.join(', ')}\n`,
    );
  }
}
