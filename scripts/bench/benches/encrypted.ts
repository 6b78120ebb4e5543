/** Batches that are compressed, encrypted, or both, beside the cost of only gzip and OpenPGP. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificates } from '../../../test/support/tls.ts';
import { cpuMillis } from '../harness/cpu.ts';
import { ENDPOINTS, eventText, publish, startDelivering } from '../harness/deliveries.ts';
import { gpgLoop } from '../harness/gpg.ts';
import { makePublicKey } from '../harness/pgp.ts';
import { type Contender, measureInRounds } from '../harness/rounds.ts';
import { subfolder } from '../harness/work-folder.ts';
import { startWorker } from '../harness/worker.ts';
import { startReceiver } from '../receiver-process.ts';
import { type BenchResult, type Goal, medianRatio, type Row } from '../report/result.ts';
import type { Bench, BenchContext } from './bench.ts';

const BATCH = 100;
/** Batches for one measurement. */
const BATCHES = 160;
const GPG_MESSAGES = 10;
const ROUNDS_MAX = 3;

type Mode = { readonly name: string; readonly isGzipped: boolean; readonly isEncrypted: boolean };

const MODES: readonly Mode[] = [
  { name: 'gzip', isGzipped: true, isEncrypted: false },
  { name: 'PGP', isGzipped: false, isEncrypted: true },
  { name: 'gzip and PGP', isGzipped: true, isEncrypted: true },
];
const delivered = ({ name }: Mode): string => `Sallyport, ${name}`;
const withoutService = ({ name }: Mode): string => `${name}, without Sallyport`;

export const encryptedBench: Bench = {
  name: 'encrypted',
  programs: ['openssl', 'gpg'],
  peers: false,
  run: async ({ folder, rounds, quick, say }: BenchContext) => {
    const certificates = makeCertificates();
    const publicKey = await makePublicKey();
    const stops: (() => Promise<void> | void)[] = [];
    try {
      const receiver = await startReceiver(certificates.server);
      stops.push(() => receiver.stop());
      const batches = quick ? 8 : BATCHES;
      const body = sampleBody();
      const bodyFile = join(folder, 'body');
      writeFileSync(bodyFile, body);
      const contenders: Contender[] = [];
      say('starting the services');
      for (const mode of [PLAIN, ...MODES]) {
        const delivering = await startDelivering({
          dataDir: `${folder}/${contenders.length}`,
          receiver,
          certificates,
          batchRecords: BATCH,
          gzip: mode.isGzipped,
          ...(mode.isEncrypted && { publicKey }),
        });
        stops.push(delivering.stop);
        const measure = async (): Promise<Record<string, number>> => {
          await publish(delivering.service, batches * BATCH, eventText);
          const { ms, cpuMs, requests } = await delivering.deliver(batches * BATCH);
          return { elapsed: ms / requests, cpu: cpuMs / requests };
        };
        contenders.push({ name: delivered(mode), measure });
        if (mode === PLAIN) continue;
        const worker = await startWorker('crypto.mjs', { bodyFile, publicKey, recordsPerPost: BATCH, ...mode });
        stops.push(worker.stop);
        const measureWithoutService = async (): Promise<Record<string, number>> => {
          const before = cpuMillis(worker.pid);
          const ms = await worker.drain(batches * BATCH);
          return { elapsed: ms / batches, cpu: (cpuMillis(worker.pid) - before) / batches };
        };
        contenders.push({ name: withoutService(mode), measure: measureWithoutService });
      }
      const encrypt = await gpgLoop(subfolder(folder, 'gpg'), publicKey, bodyFile);
      const messages = quick ? 1 : GPG_MESSAGES;
      contenders.push({
        name: 'gpg --encrypt, a process each',
        measure: async () => ({ elapsed: (await encrypt(messages)) / messages }),
      });
      const rows = await measureInRounds(contenders, Math.min(rounds, ROUNDS_MAX));
      return [describe(rows, body.length)];
    } finally {
      for (const stop of stops.reverse()) await stop();
    }
  },
};

const PLAIN: Mode = { name: 'plain', isGzipped: false, isEncrypted: false };

/** A realistic body: the texts repeat, and no two ids are alike, so gzip has realistic work. */
function sampleBody(): string {
  const records = Array.from({ length: BATCH }, (_, offset) => {
    const correlationId = randomUUID();
    return {
      offset,
      timestamp: new Date().toISOString(),
      lag: 0.1,
      correlationId,
      value: {
        headers: { messageId: randomUUID(), eventType: 'bench.event0', actorId: null, correlationId },
        benchEvent0: { text: eventText(offset * ENDPOINTS) },
      },
    };
  });
  return JSON.stringify({ subscriptionId: randomUUID(), sessionId: randomUUID(), attemptNumber: 1, records });
}

function describe(rows: readonly Row[], bytes: number): Omit<BenchResult, 'seconds'> {
  const goals = MODES.map(
    (mode): Goal => ({
      text: `${mode.name}: CPU time, of that of ${withoutService(mode)}`,
      bound: 'at most',
      limit: 1.3,
      unit: '×',
      actual: medianRatio({ rows }, 'cpu', delivered(mode), withoutService(mode)),
    }),
  );
  return {
    bench: 'encrypted',
    title: 'Compressed and encrypted',
    method:
      `Batches of ${BATCH} events, about ${Math.round(bytes / 1000)} kB of words, to ${ENDPOINTS} endpoints: ` +
      'elapsed time and CPU time (all threads of the service) of one batch. For comparison, the same libraries ' +
      'with the same settings on such a ' +
      'body in a separate process, and one GnuPG process per message. The key is RSA-2048.',
    figures: [
      { name: 'cpu', unit: 'ms' },
      { name: 'elapsed', unit: 'ms' },
    ],
    rows,
    baseline: null,
    goals,
    notMeasured: [],
  };
}
