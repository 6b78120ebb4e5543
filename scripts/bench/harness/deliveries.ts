/** Sallyport's side of the delivery benchmarks: webhooks whose records wait, and the time until all are delivered. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import BetterSqlite3 from 'better-sqlite3';
import pg from 'pg';
import { DATABASE_FILE } from '../../../src/data/data-folder.ts';
import type { Certificates } from '../../../test/support/tls.ts';
import type { Received, Receiver } from '../receiver-process.ts';
import type { Span } from '../report/profile.ts';
import type { ThreadProfile } from '../report/result.ts';
import { cpuMillisByThread } from './cpu.ts';
import { monotonicMicros, profilingFlags, readProfiles } from './profile.ts';
import { EDGE, type Service, startService } from './service.ts';

/** Data of an event. */
export const EVENT_BYTES = 1024;
/** With 8 current requests to each of 8 endpoints, there are 64: as many as the others have. */
export const ENDPOINTS = 8;

export type Drained = {
  readonly records: number;
  readonly requests: number;
  readonly ms: number;
  /** Of the receiver, if it reads them. */
  readonly lags: Received['lags'];
  readonly cpuMs: number;
  /** The same by the names of the threads. */
  readonly cpuMsByThread: ReadonlyMap<string, number>;
  /** From the word to begin until the last outcome was seen. */
  readonly span: Span;
};

export type Delivering = {
  readonly service: Service;
  /** The first is `service`. */
  readonly instances: readonly Service[];
  /**
   * Starts the webhooks and waits until `during` is over and all that was published is delivered, which must be so many records, or as
   * many as the number that `during` resolves to.
   */
  deliver(records: number, during?: () => Promise<unknown>): Promise<Drained>;
  stop(): Promise<void>;
};

export type DeliveringOptions = {
  readonly dataDir: string;
  readonly receiver: Receiver;
  readonly certificates: Certificates;
  readonly batchRecords: number;
  readonly ordered?: boolean | 'key';
  /** Another one than `records`. Versions before the formats have no such field. */
  readonly format?: 'standard' | 'cloudevents';
  readonly gzip?: boolean;
  /** A PGP public key, armored. */
  readonly publicKey?: string;
  /** The prefix of its event types' names. */
  readonly category?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Another program than `src/main.ts`. */
  readonly main?: string;
  /** The single binary, in place of the sources. */
  readonly binary?: string;
  readonly nodeFlags?: readonly string[];
  /** Instances on a PostgreSQL database, in place of one on SQLite. */
  readonly cluster?: { readonly databaseUrl: string; readonly instances: number };
};

/** The service with webhooks to the receiver, all stopped. */
export async function startDelivering({ dataDir, certificates, ...options }: DeliveringOptions): Promise<Delivering> {
  const env = { ...receiverSettings(`${dataDir}.ca.pem`, certificates), ...options.env };
  const { binary, main, nodeFlags, cluster } = options;
  const instances = await startInstances({ dataDir, env, nodeFlags, binary, main }, cluster);
  const [service] = instances as [Service];
  const webhooks = await makeWebhooks(service, options);
  const log = cluster === undefined ? openLog(join(dataDir, DATABASE_FILE)) : await connectLog(cluster.databaseUrl);
  const cpuOfAll = (): Map<string, number> => {
    const sum = new Map<string, number>();
    for (const { pid } of instances)
      for (const [name, ms] of cpuMillisByThread(pid)) sum.set(name, (sum.get(name) ?? 0) + ms);
    return sum;
  };
  const all = async (action: 'start' | 'stop'): Promise<unknown> =>
    Promise.all(webhooks.map((id) => service.admin.call(200, 'POST', `${EDGE}/webhooks/${id}/${action}`)));
  return {
    service,
    instances,
    deliver: async (records, during = async () => undefined) => {
      const deliveredBefore = await log.delivered();
      const { requests: requestsBefore } = await options.receiver.received();
      const cpuBefore = cpuOfAll();
      const from = monotonicMicros();
      await all('start');
      const published = await during();
      const wanted = typeof published === 'number' ? published : records;
      while ((await log.waiting()) > 0) await sleep(10);
      const to = monotonicMicros();
      const cpuMsByThread = differences(cpuOfAll(), cpuBefore);
      const cpuMs = [...cpuMsByThread.values()].reduce((sum, ms) => sum + ms, 0);
      const { requests: requestsAfter, lags } = await options.receiver.received();
      const requests = requestsAfter - requestsBefore;
      await all('stop');
      const came = (await log.delivered()) - deliveredBefore;
      if (came !== wanted) throw new Error(`${came} of ${wanted} records were delivered`);
      return { records: came, requests, ms: (to - from) / 1000, lags, cpuMs, cpuMsByThread, span: { from, to } };
    },
    stop: async () => {
      await log.close();
      for (const instance of instances) await instance.stop();
    },
  };
}

async function startInstances(
  options: Parameters<typeof startService>[0],
  cluster: DeliveringOptions['cluster'],
): Promise<Service[]> {
  if (cluster === undefined) return [await startService(options)];
  const { dataDir } = options;
  const env = {
    ...options.env,
    SALLYPORT_DATABASE_URL: cluster.databaseUrl,
    SALLYPORT_MASTER_KEY_FILE: `${dataDir}.master.key`,
  };
  const instances: Service[] = [];
  for (let n = 0; n < cluster.instances; n += 1) {
    const credentials = instances[0]?.credentials;
    const known = credentials === undefined ? {} : { credentials };
    instances.push(await startService({ ...options, ...known, env, dataDir: `${dataDir}.${n}` }));
  }
  return instances;
}

/** The counts of records in the database. */
type DeliveryLog = { waiting(): Promise<number>; delivered(): Promise<number>; close(): Promise<void> };

// Nothing is deleted during a run. These tables are the same in every version that is compared.
const WAITING = `
  SELECT (SELECT count(*) FROM outbox) -
    (SELECT coalesce(sum(last_offset - first_offset + 1), 0) FROM batch WHERE state <> 'pending') AS number`;
const DELIVERED = `SELECT coalesce(sum(last_offset - first_offset + 1), 0) AS number FROM batch WHERE state = 'delivered'`;

function openLog(file: string): DeliveryLog {
  const database = new BetterSqlite3(file, { readonly: true });
  const [waiting, delivered] = [WAITING, DELIVERED].map((sql) => database.prepare(sql).pluck());
  return {
    waiting: async () => Number(waiting?.get()),
    delivered: async () => Number(delivered?.get()),
    close: async () => void database.close(),
  };
}

async function connectLog(databaseUrl: string): Promise<DeliveryLog> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const ask = async (sql: string): Promise<number> => Number((await client.query(sql)).rows[0]?.number);
  return { waiting: () => ask(WAITING), delivered: () => ask(DELIVERED), close: () => client.end() };
}

export function differences(
  after: ReadonlyMap<string, number>,
  before: ReadonlyMap<string, number>,
): Map<string, number> {
  return new Map(Array.from(after, ([name, value]) => [name, value - (before.get(name) ?? 0)]));
}

/** Profiles the service while it delivers, without publishing: so many records, after half as many until it is warm. */
export async function profileDeliveries(options: DeliveringOptions, records: number): Promise<ThreadProfile[]> {
  const profiles = `${options.dataDir}.profiles`;
  const running = await startDelivering({ ...options, nodeFlags: profilingFlags(profiles) });
  let span: Span;
  try {
    await publish(running.service, records / 2);
    await running.deliver(records / 2);
    await publish(running.service, records);
    ({ span } = await running.deliver(records));
  } finally {
    await running.stop();
  }
  return readProfiles(profiles, span);
}

const FILLING = 'x'.repeat(EVENT_BYTES - 11);

/** Words and figures, of about the size of an event, which compress as such data does. */
export function eventText(n: number): string {
  let text = '';
  for (let at = n * 7; text.length < EVENT_BYTES - 24; at += 1)
    text += `${WORDS[(at * at) % WORDS.length]} ${(at * 2654435761) % 9973} `;
  return text;
}

const WORDS = (
  'order customer invoice amount currency line item delivered pending street city country email phone quantity ' +
  'price tax total note reference status warehouse carrier tracking'
).split(' ');

/** The settings with which a service delivers to a receiver on this machine. */
export function receiverSettings(caFile: string, { ca }: Certificates): Record<string, string> {
  writeFileSync(caFile, ca);
  return { SALLYPORT_CA_FILE: caFile, SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8,::1' };
}

/** Publishes `records` events of 1 KiB with the webhooks' types in turn. `text` returns the content of each, `keyOf` its ordering key. */
export async function publish(
  { admin }: Service,
  records: number,
  text: (n: number) => string = () => FILLING,
  keyOf: (n: number) => string | null = () => null,
): Promise<void> {
  for (let at = 0; at < records; at += 1000) {
    const count = Math.min(1000, records - at);
    const events = Array.from({ length: count }, (_, n) => ({
      type: eventType((at + n) % ENDPOINTS),
      data: { text: text(at + n) },
      orderingKey: keyOf(at + n) ?? undefined,
    }));
    await admin.call(202, 'POST', `${EDGE}/events`, { events });
  }
}

/** An endpoint, an event type and a stopped webhook for each; answers the webhooks' ids. */
export async function makeWebhooks(
  { admin }: Service,
  {
    receiver,
    batchRecords,
    ordered = false,
    format,
    gzip,
    publicKey,
    category = 'bench',
  }: Omit<DeliveringOptions, 'dataDir' | 'certificates' | 'binary' | 'main' | 'nodeFlags'>,
): Promise<string[]> {
  const create = async (what: string, body: unknown): Promise<string> =>
    (await admin.call<{ id: string }>(201, 'POST', `${EDGE}/${what}`, body)).body.id;
  if (publicKey !== undefined) await create('keys', { name: 'bench', publicKey });
  const ids: string[] = [];
  for (let n = 0; n < ENDPOINTS; n += 1) {
    await create('event-types', { name: eventType(n, category) });
    const contentEncoding = gzip === true ? 'gzip' : null;
    const endpointId = await create('endpoints', {
      name: `receiver ${n}`,
      url: `${receiver.origin}/hook`,
      contentEncoding,
    });
    const encryptionKeyName = publicKey === undefined ? null : 'bench';
    const webhook = { name: `${category} ${n}`, endpointId, eventTypes: [eventType(n, category)], encryptionKeyName };
    const formatted = format === undefined ? {} : { format };
    ids.push(await create('webhooks', { ...webhook, ...formatted, maxBatchRecords: batchRecords, ordered }));
  }
  return ids;
}

/** The type of the events that go to the webhook of this number. */
export function eventType(n: number, category = 'bench'): string {
  return `${category}.event${n}`;
}
