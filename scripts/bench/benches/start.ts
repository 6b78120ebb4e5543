/** From the start of the process to a port that answers that it is ready, on an empty folder and with 10⁶ rows of history. */
import { makeCertificates } from '../../../test/support/tls.ts';
import { buildBinary } from '../harness/binary.ts';
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
const FROM_SOURCES = '10⁶ rows, from the sources';

export const startBench: Bench = {
  name: 'start',
  programs: ['openssl'],
  peers: false,
  run: async ({ folder, rounds, quick, say }: BenchContext) => {
    const certificates = makeCertificates();
    const receiver = await startReceiver(certificates.server);
    try {
      say('building the binary');
      const binary = await buildBinary(folder);
      const first = await startService({ dataDir: `${folder}/empty` });
      await first.stop();
      say('making the rows');
      const [history] = await makeHistories(folder, [quick ? 10_000 : 1_000_000], { receiver, certificates });
      if (history === undefined) throw new Error('there is no history');
      const env = receiverSettings(`${history.dataDir}.ca.pem`, certificates);
      const rows = await measureInRounds(
        [
          {
            name: EMPTY,
            measure: () => startOnce({ dataDir: `${folder}/empty`, credentials: first.credentials, binary }),
          },
          { name: FULL, measure: () => startOnce({ ...history, env, binary }) },
          { name: FROM_SOURCES, measure: () => startOnce({ ...history, env }) },
        ],
        rounds,
      );
      const figure = { name: 'ready', unit: 'ms' } as const;
      return [
        {
          bench: 'start',
          title: 'Starting',
          method:
            'Time from the start of the process to the first 200 of `/readyz`, with an empty data folder and ' +
            'with 10⁶ delivered records, 10⁶ tokens and 10⁵ stuck records: for the single binary, and for ' +
            "`node src/main.ts serve`, whose compiled code an earlier start has stored. The files are in the system's cache.",
          figures: [figure],
          rows,
          baseline: null,
          notMeasured: [],
          goals: [
            {
              text: `ready with ${FULL}`,
              bound: 'at most' as const,
              limit: 300,
              unit: 'ms' as const,
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
  readonly binary?: string;
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
