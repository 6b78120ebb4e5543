/** The effect of deliveries on callers of the API: the latency of guarded GETs while the outbox is delivered. */
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCertificates } from '../../../test/support/tls.ts';
import { ENDPOINTS, eventType, makeWebhooks, publish, receiverSettings } from '../harness/deliveries.ts';
import { guardedRequest, jsonTokenRequest, tokensFor } from '../harness/http-peers.ts';
import { CONNECTIONS, load, makeTarget } from '../harness/load.ts';
import { makePublicKey } from '../harness/pgp.ts';
import { measureInRounds } from '../harness/rounds.ts';
import { createEmployee, EDGE, registerReaders, type Service, startService, TOKEN_PATH } from '../harness/service.ts';
import { startReceiver } from '../receiver-process.ts';
import { type BenchResult, type Goal, medianRatio, type Row } from '../report/result.ts';
import type { Bench, BenchContext } from './bench.ts';

/** For connections to be accepted, of which Node takes one in each turn. */
const OPEN_MS = 2000;
const IDLE = 'nothing else';
const DELIVERING = 'deliveries of one record flat out';
const ENCRYPTING = 'bodies of 1 MiB encrypted flat out';
/** Four make a body of 1 MiB, less what the records have beside their data. */
const LARGE_BYTES = 250_000;
/** For each webhook. They are sent again as soon as they have been, so that there are always some. */
const LARGE_BODIES = 24;
const REPLAYED_EVERY_MS = 50;

export const isolationBench: Bench = {
  name: 'isolation',
  programs: ['wrk', 'openssl'],
  peers: false,
  run: async ({ folder, rounds, quick, ...context }: BenchContext) => {
    const seconds = context.seconds + OPEN_MS / 1000;
    const certificates = makeCertificates();
    const receiver = await startReceiver(certificates.server);
    const publicKey = await makePublicKey();
    const service = await startService({
      dataDir: `${folder}/data`,
      env: receiverSettings(`${folder}/ca.pem`, certificates),
    });
    try {
      const small = await makeWebhooks(service, { receiver, batchRecords: 1 });
      const large = await makeWebhooks(service, { receiver, batchRecords: 100, publicKey, category: 'large' });
      const clients = await registerReaders(service, 100);
      const { path } = await createEmployee(service);
      const asked = clients.map((client) => jsonTokenRequest(TOKEN_PATH, client));
      const guarded = (await tokensFor(service.url, asked)).map((token) => guardedRequest(path, token));
      const target = makeTarget(folder, 'guarded', service, guarded);
      const loaded = async (): Promise<Record<string, number>> => {
        const { perSecond, p50Ms, p99Ms } = await load(target, { seconds, openMs: OPEN_MS });
        return { p99: p99Ms, p50: p50Ms, rate: perSecond };
      };
      const beside = async (
        webhooks: readonly string[],
        during: (until: AbortSignal) => Promise<void> = async () => undefined,
      ): Promise<Record<string, number>> => {
        const before = (await receiver.received()).requests;
        const over = new AbortController();
        await all(service, webhooks, 'start');
        const others = during(over.signal);
        const measured = await loaded();
        const { requests } = await receiver.received();
        over.abort();
        await others;
        await all(service, webhooks, 'stop');
        return { ...measured, posts: (requests - before) / seconds };
      };
      let isPublished = false;
      const rows = await measureInRounds(
        [
          { name: IDLE, measure: async () => ({ ...(await loaded()), posts: 0 }) },
          {
            name: DELIVERING,
            measure: async () => {
              await publish(service, quick ? 800 : 8000 * seconds);
              return beside(small);
            },
          },
          {
            name: ENCRYPTING,
            measure: async () => {
              if (!isPublished) await publishLarge(service, quick ? 1 : LARGE_BODIES);
              isPublished = true;
              return beside(large, (until) => keepReplaying(service, large, until));
            },
          },
        ],
        rounds,
      );
      return [describe(rows)];
    } finally {
      await service.stop();
      receiver.stop();
    }
  },
};

/** So many bodies of 1 MiB for each of the webhooks. */
async function publishLarge({ admin }: Service, bodies: number): Promise<void> {
  const data = { text: 'x'.repeat(LARGE_BYTES) };
  for (let n = 0; n < bodies; n += 1) {
    for (let webhook = 0; webhook < ENDPOINTS; webhook += 1) {
      const events = Array.from({ length: 4 }, () => ({ type: eventType(webhook, 'large'), data }));
      await admin.call(202, 'POST', `${EDGE}/events`, { events });
    }
  }
}

/** Replays all deliveries, one webhook after the other. */
async function keepReplaying({ admin }: Service, webhooks: readonly string[], until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    for (const id of webhooks) {
      await admin.call(200, 'POST', `${EDGE}/webhooks/${id}/replay`, { states: ['delivered'] });
      await sleep(REPLAYED_EVERY_MS);
    }
  }
}

async function all({ admin }: Service, webhooks: readonly string[], action: 'start' | 'stop'): Promise<void> {
  await Promise.all(webhooks.map((id) => admin.call(200, 'POST', `${EDGE}/webhooks/${id}/${action}`)));
  if (action === 'stop') await sleep(100);
}

function describe(rows: readonly Row[]): Omit<BenchResult, 'seconds'> {
  const goal = (name: string): Goal => ({
    text: `p99 beside ${name}, of that beside nothing`,
    bound: 'at most',
    limit: 2,
    unit: '×',
    actual: medianRatio({ rows }, 'p99', name, IDLE),
  });
  return {
    bench: 'isolation',
    title: 'Calls beside deliveries',
    method:
      `Guarded GETs of an employee over ${CONNECTIONS} existing connections: without deliveries, during ` +
      'deliveries of one record per POST, and during encrypted deliveries of 1 MiB (RSA-2048), both with ' +
      'as many requests in flight as allowed, to a receiver on the same machine. `posts` counts the deliveries during the measurement.',
    figures: [
      { name: 'p99', unit: 'ms' },
      { name: 'p50', unit: 'ms' },
      { name: 'rate', unit: '/s' },
      { name: 'posts', unit: '/s' },
    ],
    rows,
    baseline: IDLE,
    goals: [goal(DELIVERING), goal(ENCRYPTING)],
    notMeasured: [],
  };
}
