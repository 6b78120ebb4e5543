/**
 * How long the event loop is held while payloads of 1 MiB go out at full load: plain, gzip, PGP (RSA-4096), both, and with
 * Standard Webhooks besides. Prints the loop's delay, and the CPU time of its turns, which other processes do not disturb. The
 * loop never sleeps while it is watched.
 *
 *     node scripts/run.mjs scripts/bench/loop-delay.ts
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHistogram, monitorEventLoopDelay, type RecordableHistogram } from 'node:perf_hooks';
import { readConfig } from '../../src/config/config.ts';
import type { Acting } from '../../src/domain/acting.ts';
import { createLog } from '../../src/observe/log.ts';
import { createSallyport, type Sallyport } from '../../src/sallyport.ts';
import { makeCertificates } from '../../test/support/tls.ts';
import { startReceiver } from './receiver-process.ts';

const ACTOR: Acting = { actor: 'application:bench', authority: 'unlimited' };
const BATCHES = 300;
/** Four records make a batch of 1 MiB, less what the records have beside their data. */
const EVENT_BYTES = 260_000;
/** The moment at which the key of the test vectors is valid. */
const PGP_NOW = Date.parse('2026-11-21T05:00:00.000Z');

type Mode = {
  readonly name: string;
  readonly gzip?: boolean;
  readonly pgp?: boolean;
  readonly standardWebhooks?: boolean;
};

const MODES: readonly Mode[] = [
  { name: 'plain' },
  { name: 'plain, Standard Webhooks', standardWebhooks: true },
  { name: 'gzip', gzip: true },
  { name: 'PGP', pgp: true },
  { name: 'PGP, gzip', pgp: true, gzip: true },
];

const certificates = makeCertificates();
const receiver = await startReceiver(certificates.server);
try {
  report('idle', await observed(() => new Promise((resolve) => setTimeout(resolve, 1000))), 0);
  for (const mode of MODES) await measure(mode);
} finally {
  receiver.stop();
}

async function measure(mode: Mode): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const sallyport = await open(folder);
  try {
    const webhooks = await makeWebhooks(sallyport, mode);
    const text = Array.from({ length: EVENT_BYTES / 26 }, (_, n) => `${n} the quick brown fox jumps`.slice(0, 26)).join(
      '',
    );
    const event = { type: 'bench.event', data: { text } };
    for (let n = 0; n < (BATCHES * 4) / webhooks.length; n += 4)
      await sallyport.publish({ events: [event, event, event, event] });
    await sallyport.startDelivery();
    for (const id of webhooks) await sallyport.services.webhooks.start(id, ACTOR);
    const before = (await receiver.received()).requests;
    const startedAt = performance.now();
    const delay = await observed(async () => {
      while ((await receiver.received()).requests < before + BATCHES)
        await new Promise((resolve) => setTimeout(resolve, 20));
    });
    report(mode.name, delay, BATCHES / ((performance.now() - startedAt) / 1000));
  } finally {
    await sallyport.stop();
    rmSync(folder, { recursive: true });
  }
}

async function makeWebhooks({ services }: Sallyport, mode: Mode): Promise<string[]> {
  const { eventTypes, endpoints, webhooks, keys } = services;
  await eventTypes.create({ name: 'bench.event' }, ACTOR);
  const publicKey = readFileSync(new URL('../../test/vectors/pgp/rsa4096.public.asc', import.meta.url), 'utf8');
  const { name } = await keys.create({ customerId: null, name: 'bench', publicKey }, ACTOR);
  const contentEncoding = mode.gzip === true ? 'gzip' : null;
  const ids: string[] = [];
  for (let n = 0; n < 2; n += 1) {
    const endpoint = await endpoints.create(
      { name: `receiver ${n}`, url: `${receiver.origin}/hook`, contentEncoding },
      ACTOR,
    );
    const fields = {
      name: `webhook ${n}`,
      endpointId: endpoint.id,
      eventTypes: ['bench.event'],
      encryptionKeyName: mode.pgp === true ? name : null,
      standardWebhooks: mode.standardWebhooks === true,
    };
    ids.push((await webhooks.create(fields, ACTOR)).id);
  }
  return ids;
}

function open(folder: string): Promise<Sallyport> {
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, certificates.ca);
  const env = { SALLYPORT_DATA: folder, SALLYPORT_CA_FILE: caFile, SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8,::1' };
  const ahead = PGP_NOW - Date.now();
  return createSallyport(readConfig(env), createLog('warn'), { clock: () => Date.now() + ahead });
}

/** What a turn of the event loop took: `delay` on the clock, `cpu` of this thread, which knows nothing of other processes. */
type Turns = { readonly delay: ReturnType<typeof monitorEventLoopDelay>; readonly cpu: RecordableHistogram };

async function observed(work: () => Promise<unknown>): Promise<Turns> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const cpu = createHistogram();
  let before = process.threadCpuUsage();
  let observing = true;
  const turn = (): void => {
    const now = process.threadCpuUsage();
    cpu.record(Math.max(1, Math.round(now.user + now.system - before.user - before.system)));
    before = now;
    if (observing) setImmediate(turn);
  };
  delay.enable();
  setImmediate(turn);
  await work();
  observing = false;
  delay.disable();
  return { delay, cpu };
}

function report(name: string, { delay, cpu }: Turns, perSecond: number): void {
  const row = (histogram: Turns['cpu'] | Turns['delay'], perMs: number): string => {
    const ms = (value: number): string => (value / perMs).toFixed(1).padStart(6);
    // Most turns only count themselves; the longest ones matter.
    return `p99 ${ms(histogram.percentile(99))}  p99.9 ${ms(histogram.percentile(99.9))}  most ${ms(histogram.max)} ms`;
  };
  const speed = perSecond === 0 ? '' : `${perSecond.toFixed(0)} MiB/s`;
  process.stdout.write(`${name.padEnd(26)} delay ${row(delay, 1e6)}   CPU a turn ${row(cpu, 1e3)}  ${speed}\n`);
}
