/**
 * Publishes and delivers events at a fixed rate while somebody else holds a snapshot of the database open, and draws rate, latency, CPU time
 * and the sizes of the tables. PostgreSQL cannot remove old versions of rows while the snapshot is held.
 *
 *     node scripts/bench/held-snapshot.ts --seconds 3600 --rate 500 --instances 2 --to docs/benchmarks
 *
 * The snapshot is held from a tenth of the time to nine tenths.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { Pool } from 'undici';
import { startCluster } from '../../test/support/postgres.ts';
import { makeCertificates } from '../../test/support/tls.ts';
import { requestToken } from '../demo/api.ts';
import { cpuMillis, cpuMillisOfPostgres } from './harness/cpu.ts';
import { ENDPOINTS, EVENT_BYTES, eventType, startDelivering } from './harness/deliveries.ts';
import { EDGE } from './harness/service.ts';
import { makeWorkFolder, removeFolder } from './harness/work-folder.ts';
import { startReceiver } from './receiver-process.ts';
import { timeline } from './report/timeline.ts';

const DURABLE = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' };
const SAMPLES = 120;
const CONNECTIONS = 32;
/** A token is valid for an hour. */
const TOKEN_MS = 1_800_000;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3600' },
    rate: { type: 'string', default: '500' },
    instances: { type: 'string', default: '2' },
    to: { type: 'string', default: '.' },
  },
});
const [seconds, rate, instances] = [values.seconds, values.rate, values.instances].map(Number) as [
  number,
  number,
  number,
];

type Sample = {
  readonly minute: number;
  readonly publishedPerSecond: number;
  readonly deliveredPerSecond: number;
  readonly waiting: number;
  readonly publishP50Ms: number;
  readonly publishP99Ms: number;
  /** For each delivered event, in microseconds. */
  readonly serviceMicros: number;
  readonly postgresMicros: number;
  /** With their indexes, of all partitions. */
  readonly bytes: Readonly<Record<string, number>>;
};

const SIZES = `
  SELECT regexp_replace(c.relname, '_p[0-9]+$', '') AS name, sum(pg_total_relation_size(c.oid)) AS bytes
  FROM pg_class AS c WHERE c.relkind = 'r' AND c.relnamespace = to_regnamespace('public') GROUP BY 1`;
const PROGRESS = `
  SELECT sum(next_offset) AS published, sum(pending_records + next_offset - cursor_offset) AS waiting FROM webhook_progress`;

const certificates = makeCertificates();
const work = makeWorkFolder('/var/tmp');
const server = await startCluster(DURABLE, '/var/tmp');
const receiver = await startReceiver(certificates.server);
try {
  const samples = await measure();
  const summary = { seconds, rate, instances, heldFrom: seconds / 10, heldTo: (seconds * 9) / 10, samples };
  writeFileSync(join(values.to, 'held-snapshot.json'), `${JSON.stringify(summary)}\n`);
  writeFileSync(join(values.to, 'held-snapshot.svg'), draw(samples));
} finally {
  receiver.stop();
  server.stop();
  removeFolder(work);
}

async function measure(): Promise<Sample[]> {
  const admin = new pg.Client({ connectionString: server.url('postgres') });
  await admin.connect();
  await admin.query('CREATE DATABASE held').finally(() => admin.end());
  const databaseUrl = server.url('held');
  const delivering = await startDelivering({
    ...{ certificates, receiver, batchRecords: 1, dataDir: join(work, 'data') },
    cluster: { databaseUrl, instances },
  });
  const pools = delivering.instances.map(({ url }) => new Pool(url, { connections: CONNECTIONS }));
  const clients = [1, 2].map(() => new pg.Client({ connectionString: databaseUrl }));
  await Promise.all(clients.map((client) => client.connect()));
  const [watching, holding] = clients as [pg.Client, pg.Client];
  const samples: Sample[] = [];
  const total = seconds * rate;
  let published = 0;
  let latencies: number[] = [];
  let token = delivering.service.adminToken;
  let tokenFrom = performance.now();

  const publishOne = async (n: number): Promise<void> => {
    const body = JSON.stringify({ type: eventType(n % ENDPOINTS), data: { text: 'x'.repeat(EVENT_BYTES - 11) } });
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const from = performance.now();
    const pool = pools[n % pools.length] as Pool;
    const answer = await pool.request({ method: 'POST', path: `${EDGE}/events`, headers, body });
    await answer.body.dump();
    if (answer.statusCode !== 202) throw new Error(`publishing was answered with ${answer.statusCode}`);
    latencies.push(performance.now() - from);
    published += 1;
  };

  const state = async () => {
    const { rows } = await watching.query(PROGRESS);
    const sizes = await watching.query(SIZES);
    return {
      at: performance.now(),
      published,
      delivered: Number(rows[0].published) - Number(rows[0].waiting),
      waiting: Number(rows[0].waiting),
      serviceMs: delivering.instances.reduce((sum, { pid }) => sum + cpuMillis(pid), 0),
      postgresMs: await cpuMillisOfPostgres(server.url('postgres')),
      bytes: Object.fromEntries(sizes.rows.map(({ name, bytes }) => [String(name), Number(bytes)])),
    };
  };

  await delivering.deliver(total, async () => {
    const from = performance.now();
    let before = await state();
    let isHeld = false;
    let isReleased = false;
    const underWay = new Set<Promise<void>>();
    let fault: Error | null = null;
    for (let at = 0; at < total; at += 1) {
      const passed = (performance.now() - from) / 1000;
      if (performance.now() - tokenFrom > TOKEN_MS) {
        tokenFrom = performance.now();
        token = (await requestToken(delivering.service.url, delivering.service.credentials)).access_token;
      }
      // If it became slower than the rate, fewer are published.
      if (passed >= seconds) break;
      if (!isHeld && passed >= seconds / 10) {
        isHeld = true;
        await holding.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
        await holding.query('SELECT count(*) FROM webhook');
      }
      if (!isReleased && passed >= (seconds * 9) / 10) {
        isReleased = true;
        await holding.query('COMMIT');
      }
      if (passed >= ((samples.length + 1) * seconds) / SAMPLES) {
        const after = await state();
        samples.push(sampleOf(before, after, (after.at - from) / 60_000));
        process.stderr.write(`${JSON.stringify(samples.at(-1))}\n`);
        before = after;
      }
      const waitMs = (at * 1000) / rate - (performance.now() - from);
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      // A service that answers slowly is not asked faster than it answers.
      while (underWay.size >= pools.length * CONNECTIONS) await Promise.race(underWay);
      if (fault !== null) throw fault;
      const one: Promise<void> = publishOne(at)
        .catch((error: Error) => {
          fault = error;
        })
        .finally(() => underWay.delete(one));
      underWay.add(one);
    }
    await Promise.all(underWay);
    return published;
  });

  function sampleOf(
    before: Awaited<ReturnType<typeof state>>,
    after: Awaited<ReturnType<typeof state>>,
    minute: number,
  ): Sample {
    const took = (after.at - before.at) / 1000;
    const delivered = Math.max(1, after.delivered - before.delivered);
    const sorted = latencies.toSorted((a, b) => a - b);
    latencies = [];
    const quantile = (part: number): number => round(sorted[Math.floor(sorted.length * part)] ?? 0);
    return {
      minute: round(minute),
      publishedPerSecond: round((after.published - before.published) / took),
      deliveredPerSecond: round((after.delivered - before.delivered) / took),
      waiting: after.waiting,
      publishP50Ms: quantile(0.5),
      publishP99Ms: quantile(0.99),
      serviceMicros: round(((after.serviceMs - before.serviceMs) * 1000) / delivered),
      postgresMicros: round(((after.postgresMs - before.postgresMs) * 1000) / delivered),
      bytes: after.bytes,
    };
  }

  for (const client of clients) await client.end();
  for (const pool of pools) await pool.close();
  await delivering.stop();
  return samples;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function draw(samples: readonly Sample[]): string {
  const of = (name: string, value: (sample: Sample) => number) => ({ name, values: samples.map(value) });
  const megabytes = (table: string, name = table) => of(name, ({ bytes }) => (bytes[table] ?? 0) / 1024 ** 2);
  const shaded = { name: 'somebody holds a snapshot', from: seconds / 600, to: (seconds * 9) / 600 };
  return timeline(
    `${rate} events a second on PostgreSQL while a snapshot is held`,
    samples.map(({ minute }) => minute),
    shaded,
    [
      {
        title: 'Events',
        unit: 'a second',
        lines: [
          of('published', ({ publishedPerSecond }) => publishedPerSecond),
          of('delivered', ({ deliveredPerSecond }) => deliveredPerSecond),
        ],
      },
      {
        title: 'Time of a publish request',
        unit: 'ms',
        lines: [of('median', ({ publishP50Ms }) => publishP50Ms), of('p99', ({ publishP99Ms }) => publishP99Ms)],
      },
      {
        title: 'CPU time of an event, from publish to delivery',
        unit: 'µs',
        lines: [
          of('PostgreSQL', ({ postgresMicros }) => postgresMicros),
          of('service', ({ serviceMicros }) => serviceMicros),
        ],
      },
      {
        title: 'Tables that grow with the events',
        unit: 'MiB',
        lines: ['event', 'attempt', 'outbox', 'batch'].map((table) => megabytes(table)),
      },
      {
        title: 'Tables of the progress of webhooks',
        unit: 'MiB',
        lines: ['webhook_progress', 'webhook_wake'].map((table) => megabytes(table)),
      },
    ],
  );
}
