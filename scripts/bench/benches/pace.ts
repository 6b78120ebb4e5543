/** One event now and then, and events at a low rate: how soon they arrive, and the CPU time of each. */
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCertificates } from '../../../test/support/tls.ts';
import { EVENT_BYTES, startDelivering } from '../harness/deliveries.ts';
import { PACED, paced, prepareCalls } from '../harness/operations.ts';
import { type Contender, measureInRounds } from '../harness/rounds.ts';
import { startReceiver } from '../receiver-process.ts';
import { type BenchResult, valuesOf } from '../report/result.ts';
import { median } from '../report/statistics.ts';
import type { Bench, BenchContext } from './bench.ts';

const IDLE = 'an event now and then';
const STEADY = `${PACED} events a second`;
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
    try {
      const { publishOne, close } = await prepareCalls(running, CONNECTIONS);
      const contender = (name: string, count: number, work: (count: number) => Promise<void>): Contender => ({
        name,
        measure: async () => {
          const { cpuMs, lags } = await running.deliver(count, () => work(count));
          return { p50: median(lags), cpu: (cpuMs * 1000) / count };
        },
      });
      const nowAndThen = async (count: number): Promise<void> => {
        for (let n = 0; n < count; n += 1) {
          await sleep(IDLE_MS);
          await publishOne(n);
        }
      };
      const rows = await measureInRounds(
        [
          contender(IDLE, quick ? 5 : 40, nowAndThen),
          contender(STEADY, quick ? 50 : 5 * PACED, (count) => paced(count, publishOne)),
        ],
        rounds,
      );
      await close();
      return [describe(rows)];
    } finally {
      await running.stop();
      receiver.stop();
    }
  },
};

function describe(rows: BenchResult['rows']): Omit<BenchResult, 'seconds'> {
  const of = (row: string, figure: string): number => median(valuesOf({ rows }, row, figure));
  return {
    bench: 'pace',
    title: 'At low rates',
    method:
      `Events of ${EVENT_BYTES} bytes, each published with a request of its own and delivered with a POST of its own by one of eight ` +
      'webhooks. `p50` is the median time from the start of the publishing request to the first byte of the delivery, so it includes the ' +
      'fsync before the 202. `cpu` is the CPU time of all threads of Sallyport for each event.',
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
