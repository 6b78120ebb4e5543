/** Carrying an outbox out, one record a POST and in batches of 100, beside the bare POSTs and beside three job queues. */
import { makeCertificates } from '../../../test/support/tls.ts';
import { cpuMillis } from '../harness/cpu.ts';
import { type Postgres, type Redis, startPostgres, startRedis } from '../harness/databases.ts';
import {
  type Delivering,
  ENDPOINTS,
  EVENT_BYTES,
  profileDeliveries,
  publish,
  startDelivering,
} from '../harness/deliveries.ts';
import { type Contender, measureInRounds } from '../harness/rounds.ts';
import { startWorker } from '../harness/worker.ts';
import { startReceiver } from '../receiver-process.ts';
import {
  type BenchResult,
  type Goal,
  largest,
  medianRatio,
  type Row,
  type ThreadProfile,
  valuesOf,
} from '../report/result.ts';
import { median } from '../report/statistics.ts';
import type { Bench, BenchContext } from './bench.ts';

const BARE = 'bare POSTs';
const SALLYPORT = 'Sallyport';
const BULLMQ = 'BullMQ, Redis';
const PG_BOSS = 'pg-boss, PostgreSQL';
const GRAPHILE = 'graphile-worker, PostgreSQL';
const PEERS = [BULLMQ, PG_BOSS, GRAPHILE];
const BATCH = 100;
const inBatches = (name: string): string => `${name}, batches of ${BATCH}`;

/** Records for one measurement, of about two seconds each. */
const RECORDS: Readonly<Record<string, number>> = {
  [BARE]: 24_000,
  [SALLYPORT]: 16_000,
  [BULLMQ]: 6000,
  [PG_BOSS]: 4000,
  [GRAPHILE]: 4000,
  [inBatches(BARE)]: 200_000,
  [inBatches(SALLYPORT)]: 160_000,
  [inBatches(PG_BOSS)]: 16_000,
};

const recordsOf = (name: string): number => RECORDS[name] ?? 0;

type Measure = (records: number) => Promise<{ readonly ms: number; readonly cpuMs: number }>;
type Stop = () => Promise<void> | void;

export const deliveryBench: Bench = {
  name: 'delivery',
  programs: ['openssl'],
  peerPrograms: ['redis-server', 'postgres'],
  peers: true,
  run: async ({ folder, rounds, quick, missing, say }: BenchContext) => {
    const certificates = makeCertificates();
    const stops: Stop[] = [];
    try {
      const receiver = await startReceiver(certificates.server);
      stops.push(() => receiver.stop());
      const redis: Redis | null = missing.has('redis-server') ? null : await startRedis(folder);
      if (redis !== null) stops.push(redis.stop);
      const postgres: Postgres | null = missing.has('postgres') ? null : await startPostgres(folder);
      if (postgres !== null) stops.push(postgres.stop);
      const settings = {
        origin: receiver.origin,
        ca: certificates.ca,
        recordsPerPost: 1,
        redisSocket: redis?.socket,
        postgres: postgres?.connectionString,
      };
      const worker = async (program: string, recordsPerPost = 1): Promise<Measure> => {
        const running = await startWorker(program, { ...settings, recordsPerPost });
        stops.push(running.stop);
        return async (records) => {
          await running.queue(records);
          const before = cpuMillis(running.pid);
          const ms = await running.drain(records);
          return { ms, cpuMs: cpuMillis(running.pid) - before };
        };
      };
      const sallyport = async (name: string, batchRecords: number): Promise<Measure> => {
        const dataDir = `${folder}/${name}`;
        const running: Delivering = await startDelivering({ dataDir, receiver, certificates, batchRecords });
        stops.push(running.stop);
        return async (records) => {
          await publish(running.service, records);
          return running.deliver(records);
        };
      };
      say('starting the queues');
      const measures: [string, Measure][] = [
        [BARE, await worker('bare-posts.mjs')],
        [SALLYPORT, await sallyport('one', 1)],
        [inBatches(BARE), await worker('bare-posts.mjs', BATCH)],
        [inBatches(SALLYPORT), await sallyport('batches', BATCH)],
      ];
      if (redis !== null) measures.push([BULLMQ, await worker('bullmq.mjs')]);
      if (postgres !== null) {
        measures.push([PG_BOSS, await worker('pg-boss.mjs')]);
        measures.push([GRAPHILE, await worker('graphile-worker.mjs')]);
        measures.push([inBatches(PG_BOSS), await worker('pg-boss.mjs', BATCH)]);
      }
      const rows = await measureInRounds(
        measures.map(([name, measure]): Contender => contender(name, measure, quick)),
        rounds,
      );
      const notMeasured = [
        ...(redis === null ? [`${BULLMQ}: redis-server is not installed`] : []),
        ...(postgres === null ? [`${PG_BOSS}; ${GRAPHILE}: PostgreSQL 15 is not installed`] : []),
      ];
      say('profiling');
      const profile = (name: string, batchRecords: number): Promise<ThreadProfile[]> => {
        const dataDir = `${folder}/profiled ${name}`;
        const records = quick ? 800 : recordsOf(name) / 4;
        return profileDeliveries({ dataDir, receiver, certificates, batchRecords }, records);
      };
      const profiles = { one: await profile(SALLYPORT, 1), batches: await profile(inBatches(SALLYPORT), BATCH) };
      return describe(rows, profiles, notMeasured);
    } finally {
      for (const stop of stops.reverse()) await stop();
    }
  },
};

function contender(name: string, measure: Measure, quick: boolean): Contender {
  const most = recordsOf(name);
  return {
    name,
    measure: async (round) => {
      // The rehearsal is shorter.
      const records = quick ? 800 : round < 0 ? most / 4 : most;
      const { ms, cpuMs } = await measure(records);
      return { rate: records / (ms / 1000), cpu: (cpuMs * 1000) / records };
    },
  };
}

const METHOD =
  `Waiting events of ${EVENT_BYTES} bytes, timed from the start signal until the last outcome is stored. All contenders ` +
  'POST over HTTPS to one receiver process on this machine, with 64 requests in flight over persistent connections, ' +
  'signed with HMAC-SHA256; the others use undici. Sallyport is `sallyport serve` ' +
  `with ${ENDPOINTS} webhooks. The queues have a job for each record, Redis with \`appendfsync always\` and PostgreSQL ` +
  'with its defaults, so all of them have an outcome on the disk before they report it. The bare POSTs send the same ' +
  'body again and store nothing. `cpu` is the CPU time of the sending process, without its database server.';

function describe(
  rows: readonly Row[],
  profiles: { readonly one: readonly ThreadProfile[]; readonly batches: readonly ThreadProfile[] },
  notMeasured: readonly string[],
): Omit<BenchResult, 'seconds'>[] {
  const figures = [
    { name: 'rate', unit: '/s' },
    { name: 'cpu', unit: 'µs' },
  ] as const;
  const shared = { figures, notMeasured } as const;
  const pick = (names: readonly string[]): Row[] => names.flatMap((name) => rows.filter((row) => row.name === name));
  const one = pick([BARE, SALLYPORT, ...PEERS]);
  // Two of the queues hand their jobs out singly: what they reach in batches is what they reach with one record a POST.
  const batches = pick([inBatches(BARE), inBatches(SALLYPORT), inBatches(PG_BOSS), BULLMQ, GRAPHILE]);
  return [
    {
      ...shared,
      bench: 'delivery',
      title: 'Delivering, one record a POST',
      method: `${METHOD} Rates are records a second.`,
      rows: one,
      baseline: BARE,
      goals: goalsOfOne({ rows: one }),
      profile: profiles.one,
    },
    {
      ...shared,
      bench: 'batches',
      title: `Delivering in batches of ${BATCH}`,
      method:
        `${METHOD} A POST has up to ${BATCH} records; rates count records. pg-boss fetches jobs in batches, and ` +
        `each batch of ${BATCH} is one POST. BullMQ and graphile-worker fetch single jobs, ` +
        'so their figures are those of one record a POST.',
      rows: batches,
      baseline: inBatches(BARE),
      goals: goalsOfBatches({ rows: batches }),
      profile: profiles.batches,
    },
  ];
}

function goalsOfOne(result: Pick<BenchResult, 'rows'>): Goal[] {
  const peer = largest(result, 'rate', PEERS);
  return [
    {
      text: 'rate, of the bare POSTs',
      bound: 'at least',
      limit: 75,
      unit: '%',
      actual: medianRatio(result, 'rate', SALLYPORT, BARE) * 100,
    },
    ...(peer === null ? [] : [againstPeer(result, 'rate', SALLYPORT, peer, 2)]),
  ];
}

function goalsOfBatches(result: Pick<BenchResult, 'rows'>): Goal[] {
  const peer = largest(result, 'rate', [inBatches(PG_BOSS), BULLMQ, GRAPHILE]);
  return [
    {
      text: 'records a second',
      bound: 'at least',
      limit: 80_000,
      unit: '/s',
      actual: median(valuesOf(result, inBatches(SALLYPORT), 'rate')),
    },
    ...(peer === null ? [] : [againstPeer(result, 'records', inBatches(SALLYPORT), peer, 20)]),
  ];
}

function againstPeer(result: Pick<BenchResult, 'rows'>, what: string, name: string, peer: string, limit: number): Goal {
  const actual = medianRatio(result, 'rate', name, peer);
  return { text: `${what}, against the best peer (${peer})`, actual, bound: 'at least', limit, unit: '×' };
}
