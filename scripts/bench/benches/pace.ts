/** One event now and then, and events at a low rate: how soon they arrive, and the CPU time of each. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { makeCertificates } from '../../../test/support/tls.ts';
import { cpuMillis } from '../harness/cpu.ts';
import { type Delivering, EVENT_BYTES, startDelivering } from '../harness/deliveries.ts';
import { type HttpServer, startBareEvents } from '../harness/http-peers.ts';
import { eventOfNow, PACED, paced, prepareCalls } from '../harness/operations.ts';
import { type Contender, measureInRounds } from '../harness/rounds.ts';
import { subfolder } from '../harness/work-folder.ts';
import { type Receiver, startReceiver } from '../receiver-process.ts';
import { type BenchResult, valuesOf } from '../report/result.ts';
import { median } from '../report/statistics.ts';
import type { Bench, BenchContext } from './bench.ts';

const IDLE = 'an event now and then';
const STEADY = `${PACED} events a second`;
const BARE = `${STEADY}, without Sallyport`;
const CONNECTIONS = 16;
/** Longer than all that the service writes after a delivery. */
const IDLE_MS = 150;

export const paceBench: Bench = {
  name: 'pace',
  programs: ['openssl'],
  peers: false,
  run: async ({ folder, rounds, quick, say }: BenchContext) => {
    const certificates = makeCertificates();
    const receiver = await startReceiver(certificates.server, 0, true);
    say('starting');
    const running = await startDelivering({ dataDir: `${folder}/pace`, receiver, certificates, batchRecords: 1 });
    const bare = await startBareEvents(subfolder(folder, 'bare'), receiver, certificates);
    const { publishOne, close } = await prepareCalls(running, CONNECTIONS);
    const count = quick ? 50 : 5 * PACED;
    const nowAndThen = async (events: number): Promise<void> => {
      for (let n = 0; n < events; n += 1) {
        await sleep(IDLE_MS);
        await publishOne(n);
      }
    };
    try {
      const rows = await measureInRounds(
        [
          contender(IDLE, running, quick ? 5 : 40, nowAndThen),
          contender(STEADY, running, count, (events) => paced(events, publishOne)),
          bareContender(bare, receiver, count),
        ],
        rounds,
      );
      return [describe(rows)];
    } finally {
      await close();
      await running.stop();
      await bare.stop();
      receiver.stop();
    }
  },
};

function contender(
  name: string,
  running: Delivering,
  count: number,
  work: (count: number) => Promise<void>,
): Contender {
  return {
    name,
    measure: async () => {
      const { cpuMs, lags } = await running.deliver(count, () => work(count));
      return { p50: median(lags), cpu: (cpuMs * 1000) / count };
    },
  };
}

/** The same requests to a program that does the least that an event needs. */
function bareContender({ url, pid }: HttpServer, receiver: Receiver, count: number): Contender {
  const publishOne = async (pool: Pool, n: number): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    const { body } = await pool.request({ method: 'POST', path: '/', headers, body: eventOfNow(n) });
    await body.dump();
  };
  return {
    name: BARE,
    measure: async () => {
      const pool = new Pool(url, { connections: CONNECTIONS });
      const { requests: before } = await receiver.received();
      const cpuBefore = cpuMillis(pid);
      await paced(count, (n) => publishOne(pool, n));
      const lags: number[] = [];
      for (let came = 0; came < count; ) {
        const received = await receiver.received();
        lags.push(...received.lags);
        came = received.requests - before;
      }
      await pool.close();
      return { p50: median(lags), cpu: ((cpuMillis(pid) - cpuBefore) * 1000) / count };
    },
  };
}

function describe(rows: BenchResult['rows']): Omit<BenchResult, 'seconds'> {
  const of = (row: string, figure: string): number => median(valuesOf({ rows }, row, figure));
  return {
    bench: 'pace',
    title: 'At low rates',
    method:
      `Events of ${EVENT_BYTES} bytes, each published with a request of its own and delivered with a POST of its own by one of eight ` +
      'webhooks. `p50` is the median time from the start of the publishing request to the first byte of the delivery, so it includes the ' +
      'fsync before the 202. `cpu` is the CPU time of all threads for each event. The last row is a program of 60 lines that does the ' +
      'least that an event needs: it commits the body of the request, signs and sends it, and commits the status.',
    figures: [
      { name: 'p50', unit: 'ms' },
      { name: 'cpu', unit: 'µs' },
    ],
    rows,
    baseline: null,
    notMeasured: [],
    goals: [
      { text: `p50 of ${IDLE}`, bound: 'at most', limit: 6, unit: 'ms', actual: of(IDLE, 'p50') },
      { text: `CPU time at ${STEADY}`, bound: 'at most', limit: 600, unit: 'µs', actual: of(STEADY, 'cpu') },
    ],
  };
}
