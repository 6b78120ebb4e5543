/** From the start of the process to a port that answers that it is ready, on an empty folder and with 10⁶ rows of history. */
import { makeCertificates } from '../../../test/support/tls.ts';
import { receiverSettings } from '../harness/deliveries.ts';
import { makeHistories } from '../harness/histories.ts';
import { measureInRounds } from '../harness/rounds.ts';
import { type Credentials, startService } from '../harness/service.ts';
import { startReceiver } from '../receiver-process.ts';
import { valuesOf } from '../report/result.ts';
import { median } from '../report/statistics.ts';
import type { Bench, BenchContext } from './bench.ts';

const EMPTY = 'no rows';
const FULL = '10⁶ rows';

export const startBench: Bench = {
  name: 'start',
  programs: ['openssl'],
  peers: false,
  run: async ({ folder, rounds, quick, say }: BenchContext) => {
    const certificates = makeCertificates();
    const receiver = await startReceiver(certificates.server);
    try {
      const first = await startService({ dataDir: `${folder}/empty` });
      await first.stop();
      say('making the rows');
      const [history] = await makeHistories(folder, [quick ? 10_000 : 1_000_000], { receiver, certificates });
      if (history === undefined) throw new Error('there is no history');
      const env = receiverSettings(`${history.dataDir}.ca.pem`, certificates);
      const rows = await measureInRounds(
        [
          { name: EMPTY, measure: () => startOnce({ dataDir: `${folder}/empty`, credentials: first.credentials }) },
          { name: FULL, measure: () => startOnce({ ...history, env }) },
        ],
        rounds,
      );
      const figure = { name: 'ready', unit: 'ms' } as const;
      return [
        {
          ...{ bench: 'start', title: 'Starting' },
          method:
            'From the start of the process (`node src/main.ts serve`) to the first 200 of `/readyz`, on a folder without history and on one with 10⁶ delivered records, as many tokens, and 10⁵ stuck records. The files are in ' +
            "the system's cache.",
          ...{ figures: [figure], rows, baseline: null, notMeasured: [], chart: { kind: 'bars' as const } },
          goals: [
            {
              ...{ text: `ready with ${FULL}`, bound: 'at most' as const, limit: 300, unit: 'ms' as const },
              actual: median(valuesOf({ rows }, FULL, 'ready')),
            },
          ],
        },
      ];
    } finally {
      receiver.stop();
    }
  },
};

async function startOnce(options: {
  readonly dataDir: string;
  readonly credentials: Credentials;
  readonly env?: Readonly<Record<string, string>>;
}): Promise<Record<string, number>> {
  const startedAt = performance.now();
  const service = await startService(options, async ({ url }) => {
    const response = await fetch(`${url}/readyz`);
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`/readyz answered ${response.status}`);
  });
  await service.stop();
  return { ready: service.readyMs - startedAt };
}
