/** How much memory the service takes: with a million events queued and drained, and in a soak of everything together. */
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCertificates } from '../../../test/support/tls.ts';
import { buildBinary, unitEnvironment } from '../harness/binary.ts';
import { residentBytes } from '../harness/cpu.ts';
import { publish, startDelivering } from '../harness/deliveries.ts';
import { guardedRequest, jsonTokenRequest, tokensFor } from '../harness/http-peers.ts';
import { load, makeTarget } from '../harness/load.ts';
import { createEmployee, registerReaders, type Service, TOKEN_PATH } from '../harness/service.ts';
import { startReceiver } from '../receiver-process.ts';
import type { BenchResult } from '../report/result.ts';
import { median } from '../report/statistics.ts';
import type { Bench, BenchContext } from './bench.ts';

const EVENTS = 1_000_000;
const SAMPLE_MS = 250;
/** Of the soak, each with its median; the first one warms up. */
const PARTS = 6;
/** Published a second in the soak. */
const SOAK_EVENTS = 2000;
/** Megabytes. */
const RESIDENT_MAX = 200;
const MEGABYTE = 1_000_000;

export const memoryBench: Bench = {
  name: 'memory',
  programs: ['wrk', 'openssl'],
  peers: false,
  run: async ({ folder, quick, soakMinutes, say }: BenchContext) => {
    const certificates = makeCertificates();
    const receiver = await startReceiver(certificates.server);
    say('building the binary');
    const binary = await buildBinary(folder);
    const delivering = await startDelivering({
      dataDir: `${folder}/data`,
      receiver,
      certificates,
      batchRecords: 100,
      binary,
      env: unitEnvironment(),
    });
    const { service } = delivering;
    try {
      const resident = (): number => residentBytes(service.pid) / MEGABYTE;
      const started = resident();
      const events = quick ? 10_000 : EVENTS;
      say(`${events} events`);
      const queueing = await sampled(resident, () => publish(service, events));
      const draining = await sampled(resident, () => delivering.deliver(events));
      const drained = resident();
      say(`a soak of ${minutesText(soakMinutes)}`);
      const soaked = await soak(service, folder, soakMinutes, delivering.deliver, resident);
      const million: Record<string, readonly number[]> = {
        started: [started],
        queueing: [Math.max(...queueing)],
        draining: [Math.max(...draining)],
        drained: [drained],
      };
      const parts = Object.fromEntries(soaked.map((value, part) => [`soak ${part + 1}/${PARTS}`, [value]]));
      return [describe(events, soakMinutes, { ...million, ...parts })];
    } finally {
      await delivering.stop();
      receiver.stop();
    }
  },
};

/** Resident megabytes, again and again while the work goes on. */
async function sampled(resident: () => number, work: () => Promise<unknown>): Promise<number[]> {
  const samples = [resident()];
  let over = false;
  const working = work().finally(() => {
    over = true;
  });
  while (!over) {
    await sleep(SAMPLE_MS);
    samples.push(resident());
  }
  await working;
  return samples;
}

/** Publishing and delivering, tokens and guarded calls side by side; answers the median of each part of the time. */
async function soak(
  service: Service,
  folder: string,
  minutes: number,
  deliverAll: (records: number) => Promise<unknown>,
  resident: () => number,
): Promise<number[]> {
  const clients = await registerReaders(service, 100);
  const { path } = await createEmployee(service);
  const asked = clients.map((client) => jsonTokenRequest(TOKEN_PATH, client));
  const guarded = (await tokensFor(service.url, asked)).map((token) => guardedRequest(path, token));
  const target = makeTarget(folder, 'soak', service, [...asked, ...guarded]);
  const seconds = Math.max(1, Math.round(minutes * 60));
  const until = performance.now() + seconds * 1000;
  const deliver = async (): Promise<void> => {
    while (performance.now() < until) {
      const next = performance.now() + 1000;
      await publish(service, SOAK_EVENTS);
      await deliverAll(SOAK_EVENTS);
      await sleep(Math.max(0, next - performance.now()));
    }
  };
  const samples = await sampled(resident, () => Promise.all([load(target, { seconds, connections: 16 }), deliver()]));
  return Array.from({ length: PARTS }, (_, part) => {
    const own = samples.slice((part * samples.length) / PARTS, ((part + 1) * samples.length) / PARTS);
    return median(own.length > 0 ? own : samples);
  });
}

function minutesText(minutes: number): string {
  return `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
}

function describe(
  events: number,
  minutes: number,
  values: Readonly<Record<string, readonly number[]>>,
): Omit<BenchResult, 'seconds'> {
  const soakParts = Object.entries(values).filter(([name]) => name.startsWith('soak'));
  const of = (part: number): number => soakParts[part]?.[1][0] ?? Number.NaN;
  const most = Math.max(...Object.values(values).flat());
  return {
    bench: 'memory',
    title: 'Memory',
    method:
      'Resident memory of the single binary, in the environment of the systemd unit: at the start, the maximum ' +
      `while ${events.toLocaleString('en-GB')} events of 1 KiB are published, the maximum while they are ` +
      'delivered in batches of 100, and afterwards. Then a soak test of ' +
      `${minutesText(minutes)}, with the median of each sixth: ${SOAK_EVENTS.toLocaleString('en-GB')} events per ` +
      'second are published and delivered, and 16 connections request tokens and make guarded calls without ' +
      'pause.',
    figures: Object.keys(values).map((name) => ({ name, unit: 'MB' })),
    rows: [{ name: 'resident', values }],
    baseline: null,
    notMeasured: [],
    goals: [
      { text: 'at most, at any time', actual: most, bound: 'at most', limit: RESIDENT_MAX, unit: 'MB' },
      {
        text: `flat: the last sixth of the soak against its second`,
        actual: of(PARTS - 1) / of(1),
        bound: 'at most',
        limit: 1.1,
        unit: '×',
      },
    ],
  };
}
