/**
 * How fast the outbox is carried out: deliveries/s and records/s of 1 KiB events, HMAC-signed, every outcome recorded at
 * `synchronous=FULL`, to a local HTTPS receiver in a process of its own; beside it, in the same run, the rate of bare POSTs of
 * the same body by the same client with nothing around them. Absolute figures belong to one machine and moment; the ratio lasts.
 *
 *     node scripts/run.mjs --development scripts/bench/outbox.ts [rounds] [part of a mode's name]
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { Pool } from 'undici';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import { DELIVERIES_IN_FLIGHT_PER_ENDPOINT } from '../../src/delivery/limits.ts';
import { createSallyport, type Sallyport } from '../../src/sallyport.ts';
import { makeCertificates } from '../../test/support/tls.ts';
import { type Receiver, startReceiver } from './receiver-process.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const ONLY = process.argv[3] ?? '';
const EVENT_BYTES = 1024;
const PER_ENDPOINT = DELIVERIES_IN_FLIGHT_PER_ENDPOINT;

type Mode = {
  readonly name: string;
  readonly endpoints: number;
  readonly batchRecords: number;
  readonly records: number;
};

const MODES: readonly Mode[] = [
  { name: 'batches of 1, one endpoint', endpoints: 1, batchRecords: 1, records: 20_000 },
  { name: 'batches of 1, 8 endpoints', endpoints: 8, batchRecords: 1, records: 20_000 },
  { name: 'batches of 100, one endpoint', endpoints: 1, batchRecords: 100, records: 100_000 },
  { name: 'batches of 100, 8 endpoints', endpoints: 8, batchRecords: 100, records: 100_000 },
];

const bareName = ({ endpoints }: Mode): string => `bare POSTs, ${endpoints * PER_ENDPOINT} connections`;
const certificates = makeCertificates();
const receiver = await startReceiver(certificates.server);
const results = new Map<string, { rate: number; cpuMicros: number }[]>();
try {
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const mode of MODES.filter(({ name }) => name.includes(ONLY))) {
      if (mode.batchRecords === 1) note(bareName(mode), await bare(receiver, mode.endpoints * PER_ENDPOINT));
      note(mode.name, await carriedOut(mode, receiver));
    }
  }
} finally {
  receiver.stop();
}
report();

/** POSTs/s of a body as large as a delivery of one record. */
async function bare({ origin }: Receiver, connections: number, count = 20_000): Promise<Measured> {
  const pool = new Pool(origin, { connections, allowH2: false, connect: { ca: certificates.ca } });
  const body = Buffer.alloc(EVENT_BYTES + 430, 'x');
  const headers = { 'content-type': 'application/json', 'x-api-key': '0'.repeat(32), authorization: 'x'.repeat(110) };
  let left = count;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const answer = await pool.request({ method: 'POST', path: '/hook', headers, body });
      await answer.body.dump();
    }
  };
  const measured = measure();
  await Promise.all(Array.from({ length: connections }, worker));
  const rate = measured(count);
  await pool.close();
  return rate;
}

/** Records/s from the start of webhooks that have all their records waiting to the last outcome being written. */
async function carriedOut({ endpoints, batchRecords, records }: Mode, receiver: Receiver): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const sallyport = await openSallyport(folder);
  try {
    const webhookIds = await makeWebhooks(sallyport, receiver, endpoints, batchRecords);
    await publish(sallyport, records / endpoints);
    const database = new BetterSqlite3(join(folder, DATABASE_FILE), { readonly: true });
    const left = database.prepare(`SELECT sum(waiting_records + pending_records) FROM webhook_status`);
    const before = await receiver.received();
    await sallyport.startDelivery();
    const measured = measure();
    for (const id of webhookIds) await sallyport.webhooks.start(id);
    while (Number(left.pluck().get()) > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    const rate = measured(records / batchRecords);
    const requests = (await receiver.received()).requests - before.requests;
    const delivered = database.prepare(
      "SELECT sum(last_offset - first_offset + 1) FROM batch WHERE state = 'delivered'",
    );
    const attempts = database.prepare("SELECT count(*) FROM attempt WHERE kind = 'delivery' AND error_class IS NULL");
    if (delivered.pluck().get() !== records || attempts.pluck().get() !== requests) {
      throw new Error(
        `${records} records, ${delivered.get()} delivered; ${requests} requests, ${attempts.get()} attempts`,
      );
    }
    database.close();
    return rate;
  } finally {
    await sallyport.stop();
    rmSync(folder, { recursive: true });
  }
}

function openSallyport(folder: string): Promise<Sallyport> {
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, certificates.ca);
  return createSallyport({ dataDir: folder, caFile, egressAllow: '127.0.0.0/8,::1', logLevel: 'warn' });
}

async function makeWebhooks(
  { eventTypes, endpoints, webhooks }: Sallyport,
  { origin }: Receiver,
  count: number,
  maxBatchRecords: number,
): Promise<string[]> {
  await eventTypes.create({ name: 'bench.event' });
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const { id: endpointId } = await endpoints.create({ name: `receiver ${i}`, url: `${origin}/hook` });
    const name = `webhook ${i}`;
    const { id } = await webhooks.create({ name, endpointId, eventTypes: ['bench.event'], maxBatchRecords });
    ids.push(id);
  }
  return ids;
}

async function publish(sallyport: Sallyport, count: number): Promise<void> {
  const event = { type: 'bench.event', data: { text: 'x'.repeat(EVENT_BYTES - 11) } };
  for (let left = count; left > 0; left -= 1000) {
    await sallyport.publish({ events: Array.from({ length: Math.min(1000, left) }, () => event) });
  }
}

/** POSTs per second, and this process's CPU time for one POST, which depends less on other load. */
type Measured = { readonly rate: number; readonly cpuMicros: number };

function measure(): (posts: number) => Measured {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  return (posts) => {
    const { user, system } = process.cpuUsage(before);
    return { rate: posts / ((performance.now() - startedAt) / 1000), cpuMicros: (user + system) / posts };
  };
}

function note(name: string, measured: Measured): void {
  results.set(name, [...(results.get(name) ?? []), measured]);
  process.stderr.write('.');
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function report(): void {
  process.stdout.write(`\nNode ${process.version}, ${ROUNDS} rounds: median (least to most)\n`);
  for (const [name, measured] of results) {
    const mode = MODES.find((one) => one.name === name);
    const batch = mode?.batchRecords ?? 1;
    const rates = measured.map(({ rate }) => rate);
    const bare = mode === undefined ? [] : (results.get(bareName(mode)) ?? []);
    const ratios = rates.map((rate, round) => rate / (bare[round]?.rate ?? Number.NaN));
    const cells = [
      name.padEnd(30),
      `${(median(rates) * batch).toFixed(0).padStart(7)} records/s`,
      (
        `${median(rates).toFixed(0).padStart(6)} ${mode === undefined ? 'POSTs' : 'deliveries'}/s ` +
        `(${Math.min(...rates).toFixed(0)} to ${Math.max(...rates).toFixed(0)})`
      ).padEnd(36),
      `${median(measured.map(({ cpuMicros }) => cpuMicros))
        .toFixed(0)
        .padStart(5)} µs CPU a POST`,
      bare.length === 0 ? '' : `${(median(ratios) * batch).toFixed(2)} records a bare POST`,
    ];
    process.stdout.write(`${cells.join('  ')}\n`);
  }
}
