/**
 * Publishes events at a steady rate to instances on PostgreSQL, which deliver them, while another session holds a snapshot of the
 * database, as a long report or a forgotten transaction does. Until it ends, PostgreSQL removes no old versions of rows. It is
 * held from a tenth to nine tenths of the time. Prints a line for each minute, and at the end whether everything was delivered.
 *
 *     npm run bench:snapshot -- [options]
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startCluster } from '../../test/support/postgres.ts';
import { makeCertificates } from '../../test/support/tls.ts';
import { cpuMillis, cpuMillisOfPostgres } from './harness/cpu.ts';
import { startDelivering } from './harness/deliveries.ts';
import { type Calls, DURABLE, newDatabase, prepareCalls } from './harness/operations.ts';
import { ownWorkFolder, runProgram, wholeNumber } from './harness/program.ts';
import type { Service } from './harness/service.ts';
import { startReceiver } from './receiver-process.ts';
import { drawMinutes, type Minute } from './report/minutes.ts';
import { median } from './report/statistics.ts';

/** Requests in progress at most. What could not be published in time is published as soon as it can be. */
const PUBLISHERS = 64;
const MINUTE_MS = 60_000;

const USAGE = `usage: npm run bench:snapshot -- [options]

  --minutes <n>      how long it runs (60)
  --rate <n>         events published a second (500)
  --instances <n>    instances of Sallyport (2)
  --draw <file>      writes the minutes as an SVG, such as docs/images/snapshot.svg
`;

type Options = Pick<Publishing, 'minutes' | 'rate'> & {
  readonly instances: number;
  readonly draw: string | undefined;
};

/** Throws an `Error` that names the problem. */
function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: '60' },
      rate: { type: 'string', default: '500' },
      instances: { type: 'string', default: '2' },
      draw: { type: 'string' },
    },
  });
  return {
    minutes: wholeNumber(values.minutes, 'minutes'),
    rate: wholeNumber(values.rate, 'rate'),
    instances: wholeNumber(values.instances, 'instances'),
    draw: values.draw,
  };
}

async function measure({ minutes, rate, instances, draw }: Options): Promise<number> {
  const work = ownWorkFolder('/var/tmp');
  const server = await startCluster(DURABLE, '/var/tmp');
  const certificates = makeCertificates();
  const receiver = await startReceiver(certificates.server);
  const databaseUrl = await newDatabase(server.url, 'some');
  const delivering = await startDelivering({
    dataDir: join(work, 'data'),
    certificates,
    receiver,
    batchRecords: 1,
    cluster: { databaseUrl, instances },
  });
  const calls = await prepareCalls(delivering, PUBLISHERS);
  const rows: Minute[] = [];
  const held = { from: minutes * 0.1, to: minutes * 0.9 };
  const publishing = { minutes, rate, held, calls, databaseUrl, services: delivering.instances };
  const postgresMs = (): Promise<number> => cpuMillisOfPostgres(server.url('postgres'));
  const { records, requests } = await delivering.deliver(0, () =>
    publishAll({ ...publishing, postgresMs, onMinute: (row) => rows.push(row) }),
  );
  console.log(`${records} events were published, and all were delivered, in ${requests} requests`);
  if (draw !== undefined) writeFileSync(draw, drawMinutes(rows, held));
  await calls.close();
  await delivering.stop();
  receiver.stop();
  server.stop();
  return 0;
}

type Publishing = {
  readonly minutes: number;
  /** Events a second. */
  readonly rate: number;
  /** When the snapshot is held, in minutes. */
  readonly held: { readonly from: number; readonly to: number };
  /** CPU time of PostgreSQL so far. */
  postgresMs(): Promise<number>;
  readonly calls: Calls;
  readonly databaseUrl: string;
  readonly services: readonly Service[];
  onMinute(row: Minute): void;
};

/** Answers how many events were published. */
async function publishAll(publishing: Publishing): Promise<number> {
  const { minutes, rate, held, calls, databaseUrl, services, postgresMs, onMinute } = publishing;
  const from = performance.now();
  const until = from + minutes * MINUTE_MS;
  let asked = 0;
  let published = 0;
  let latencies: number[] = [];
  const publisher = async (): Promise<void> => {
    while (performance.now() < until) {
      const n = asked++;
      const waitMs = from + (n * 1000) / rate - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      const began = performance.now();
      await calls.publishOne(n);
      latencies.push(performance.now() - began);
      published += 1;
    }
  };
  const cpu = async (): Promise<{ service: number; postgres: number }> => ({
    service: services.reduce((sum, { pid }) => sum + cpuMillis(pid), 0),
    postgres: await postgresMs(),
  });
  const all = Promise.all(Array.from({ length: PUBLISHERS }, publisher));
  const holder = hold(databaseUrl, from + held.from * MINUTE_MS, from + held.to * MINUTE_MS);
  let [before, publishedBefore, at] = [await cpu(), 0, from];
  for (let minute = 1; minute <= minutes; minute += 1) {
    // A publisher that fails ends the run, which stops the servers.
    await Promise.race([all, sleep(from + minute * MINUTE_MS - performance.now())]);
    const [now, count, seconds] = [await cpu(), published - publishedBefore, (performance.now() - at) / 1000];
    const row: Minute = {
      minute,
      perSecond: count / seconds,
      latencyMs: median(latencies),
      serviceMicros: ((now.service - before.service) * 1000) / count,
      postgresMicros: ((now.postgres - before.postgres) * 1000) / count,
    };
    console.log(
      `${String(minute).padStart(3)}  ${row.perSecond.toFixed(0).padStart(5)}/s  ${row.latencyMs.toFixed(1).padStart(6)} ms  ` +
        `${row.serviceMicros.toFixed(0)} + ${row.postgresMicros.toFixed(0)} µs`,
    );
    onMinute(row);
    [before, publishedBefore, at] = [now, published, performance.now()];
    latencies = [];
  }
  await Promise.all([all, holder]);
  return published;
}

/** Holds a snapshot of the database between two times of `performance.now`. */
async function hold(databaseUrl: string, from: number, to: number): Promise<void> {
  await sleep(from - performance.now());
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT count(*) FROM batch');
  console.log('the snapshot is held');
  await sleep(to - performance.now());
  await client.end();
  console.log('the snapshot is released');
}

await runProgram(USAGE, readOptions, measure);
