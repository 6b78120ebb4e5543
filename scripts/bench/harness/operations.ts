/**
 * Operations of a service whose CPU time is measured: tokens, guarded calls, events published and records delivered. A request has one
 * event and a POST one record, unless a name says otherwise. Everything goes through the API, so that older versions can be measured too.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type Dispatcher, Pool } from 'undici';
import { startCluster } from '../../../test/support/postgres.ts';
import type { Certificates } from '../../../test/support/tls.ts';
import { requestToken } from '../../demo/api.ts';
import type { Receiver } from '../receiver-process.ts';
import { cpuMillisByThread, cpuMillisOfPostgres } from './cpu.ts';
import {
  type Delivering,
  type DeliveringOptions,
  type Drained,
  differences,
  ENDPOINTS,
  EVENT_BYTES,
  eventType,
  publish,
  startDelivering,
} from './deliveries.ts';
import { monotonicMicros } from './profile.ts';
import { type Credentials, createEmployee, EDGE, registerReaders, TOKEN_PATH } from './service.ts';

/** PostgreSQL as it comes. */
export const DURABLE = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
};
/** Events a second in the measurement at a low rate. */
export const PACED = 300;
const READERS = 20;
/** Ordering keys of `keyed`. */
const KEYS = 10_000;

/**
 * `steady`: publish and deliver together. `paced`: the same at 300 events a second. `ordered`: one ordered webhook.
 * `keyed`: as `deliver`, in the order of 10,000 keys. `standard`, `cloudevents`: as `deliver`, in these formats.
 */
export const OPERATIONS = [
  'token',
  'guard',
  'publish',
  'deliver',
  'batches',
  'steady',
  'paced',
  'ordered',
  'keyed',
  'standard',
  'cloudevents',
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** CPU time of one operation in microseconds: of the service by the names of its threads, and of PostgreSQL. */
export type Cost = {
  readonly threads: ReadonlyMap<string, number>;
  readonly postgres: number;
  readonly perSecond: number;
};

/** A version of the service. */
export type Contender = {
  /** Does the operation `count` times. */
  measure(operation: Operation, count: number): Promise<Cost>;
  stop(): Promise<void>;
};

export type ContenderOptions = {
  /** The version's `src/main.ts`. */
  readonly main: string;
  /** For its data; does not exist yet. */
  readonly folder: string;
  readonly operations: readonly Operation[];
  readonly certificates: Certificates;
  /** `slow` answers after 1 ms. */
  readonly receivers: { readonly quick: Receiver; readonly slow: Receiver };
  /** Concurrent requests. */
  readonly publishers: number;
  /** So many instances on a PostgreSQL server of their own. Null: SQLite. */
  readonly instances?: number | null;
  readonly nodeFlags?: readonly string[];
};

type Measured = Pick<Drained, 'ms' | 'cpuMsByThread'>;

/** Starts only the services that the operations need. */
export async function startContender(options: ContenderOptions): Promise<Contender> {
  const { main, folder, operations, certificates, receivers, publishers, instances = null, nodeFlags = [] } = options;
  mkdirSync(folder);
  const server = instances === null ? null : await startCluster(DURABLE, '/var/tmp');
  const startOne = async (name: string, more: Partial<DeliveringOptions>): Promise<Delivering> => {
    const cluster =
      server === null || instances === null
        ? {}
        : { cluster: { databaseUrl: await newDatabase(server.url, name), instances } };
    const shared = { certificates, batchRecords: 1, main, receiver: receivers.quick };
    return startDelivering({ ...shared, ...more, ...cluster, dataDir: join(folder, name) });
  };
  const some = await startOne('some', { nodeFlags });
  const settings: { readonly [Name in Operation]?: Partial<DeliveringOptions> } = {
    batches: { batchRecords: 100 },
    ordered: { ordered: true, receiver: receivers.slow },
    keyed: { ordered: 'key' },
    standard: { format: 'standard' },
    cloudevents: { format: 'cloudevents' },
  };
  const own = new Map<Operation, Delivering>();
  for (const name of operations) {
    const others = settings[name];
    if (others !== undefined) own.set(name, await startOne(name, others));
  }
  const serviceFor = (operation: Operation): Delivering => own.get(operation) ?? some;
  const calls = await prepareCalls(some, publishers);
  /** The other operations deliver events that were published before. */
  const called: { readonly [Name in Operation]?: (count: number) => Promise<Measured> } = {
    token: (count) => costOf(some, () => atOnce(count, publishers, calls.issueOne)),
    guard: (count) => costOf(some, () => atOnce(count, publishers, calls.guardOne)),
    publish: (count) => costOf(some, () => atOnce(count, publishers, calls.publishOne)),
    steady: (count) => some.deliver(count, () => atOnce(count, publishers, calls.publishOne)),
    paced: (count) => some.deliver(count, () => paced(count, calls.publishOne)),
  };
  const delivered = async (operation: Operation, count: number): Promise<() => Promise<Measured>> => {
    const running = serviceFor(operation);
    const keyOf = operation === 'keyed' ? (n: number) => `key-${n % KEYS}` : undefined;
    if (operation === 'ordered') await publishInOrder(running, count);
    else await publish(running.service, count, undefined, keyOf);
    return () => running.deliver(count);
  };
  const postgresMs = async (): Promise<number> =>
    server === null ? 0 : await cpuMillisOfPostgres(server.url('postgres'));
  return {
    measure: async (operation, count) => {
      const call = called[operation];
      const run = call === undefined ? await delivered(operation, count) : () => call(count);
      const before = await postgresMs();
      const { ms, cpuMsByThread } = await run();
      const postgres = (((await postgresMs()) - before) * 1000) / count;
      // What was published is delivered before the next measurement.
      if (operation === 'publish') await some.deliver(count);
      const threads = Array.from(cpuMsByThread, ([name, cpuMs]) => [name, (cpuMs * 1000) / count] as const);
      return { threads: new Map(threads), postgres, perSecond: (count * 1000) / ms };
    },
    stop: async () => {
      await calls.close();
      for (const running of [some, ...own.values()]) await running.stop();
      server?.stop();
    },
  };
}

/** Rounds that do not count, until most functions are compiled. */
const WARMING_ROUNDS = 2;

/**
 * Measures each operation with each contender in turn, round after round, so that other load affects all of them alike. Returns the costs
 * of the rounds by operation, for each contender.
 */
export async function measureCosts(
  contenders: readonly Contender[],
  counts: ReadonlyMap<Operation, number>,
  rounds: number,
): Promise<ReadonlyMap<Operation, readonly Cost[][]>> {
  const costs = new Map([...counts.keys()].map((name) => [name, contenders.map((): Cost[] => [])]));
  // None of them is always the first.
  const orders = [[...contenders.keys()], [...contenders.keys()].reverse()];
  for (let round = -WARMING_ROUNDS; round < rounds; round += 1) {
    for (const [name, count] of counts) {
      for (const at of orders[Math.abs(round % 2)] ?? []) {
        const cost = await contenders[at]?.measure(name, count);
        if (round >= 0 && cost !== undefined) costs.get(name)?.[at]?.push(cost);
      }
    }
    process.stderr.write('.');
  }
  process.stderr.write('\n');
  return costs;
}

/** The CPU time of all threads of the service. */
export function totalMicros({ threads }: Cost): number {
  return [...threads.values()].reduce((sum, micros) => sum + micros, 0);
}

export type Calls = Readonly<Record<'publishOne' | 'issueOne' | 'guardOne', (n: number) => Promise<void>>> & {
  close(): Promise<void>;
};

/** Requests by their number, which choose the instance, the client and the event type. */
export async function prepareCalls({ service, instances }: Delivering, connections: number): Promise<Calls> {
  const { adminToken, url } = service;
  const readers = await registerReaders(service, READERS);
  const employee = await createEmployee(service);
  const tokens = await Promise.all(readers.map((reader) => requestToken(url, reader)));
  const pools = instances.map((instance) => new Pool(instance.url, { connections }));
  const request = async (n: number, wanted: number, what: Dispatcher.RequestOptions): Promise<void> => {
    const answer = await (pools[n % pools.length] as Pool).request(what);
    await answer.body.dump();
    if (answer.statusCode !== wanted) throw new Error(`${what.path} was answered with ${answer.statusCode}`);
  };
  const json = { 'content-type': 'application/json' };
  return {
    publishOne: (n) => {
      const headers = { ...json, authorization: `Bearer ${adminToken}` };
      return request(n, 202, { method: 'POST', path: `${EDGE}/events`, headers, body: eventOfNow(n) });
    },
    issueOne: (n) => {
      const { clientId, clientSecret } = readers[n % READERS] as Credentials;
      const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
      return request(n, 200, { method: 'POST', path: TOKEN_PATH, headers: json, body: JSON.stringify(grant) });
    },
    guardOne: (n) => {
      const headers = { authorization: `Bearer ${tokens[n % READERS]?.access_token}` };
      return request(n, 200, { method: 'GET', path: employee.path, headers });
    },
    close: async () => {
      for (const pool of pools) await pool.close();
    },
  };
}

/** The body of a request to publish an event of 1 KiB, with the time at which it is made. */
export function eventOfNow(n: number): string {
  const data = { sentAt: Math.round(monotonicMicros()), text: 'x'.repeat(EVENT_BYTES - 33) };
  return JSON.stringify({ type: eventType(n % ENDPOINTS), data });
}

/** CPU time of all instances during the work. */
async function costOf({ instances }: Delivering, work: () => Promise<void>): Promise<Measured> {
  const cpu = (): Map<string, number> => {
    const sum = new Map<string, number>();
    for (const { pid } of instances)
      for (const [name, ms] of cpuMillisByThread(pid)) sum.set(name, (sum.get(name) ?? 0) + ms);
    return sum;
  };
  const before = cpu();
  const from = performance.now();
  await work();
  return { ms: performance.now() - from, cpuMsByThread: differences(cpu(), before) };
}

export async function newDatabase(url: (database: string) => string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: url('postgres') });
  await client.connect();
  await client.query(`CREATE DATABASE "${name}"`).finally(() => client.end());
  return url(name);
}

/** Each of the callers does its next one when the one before is done. */
async function atOnce(count: number, callers: number, one: (n: number) => Promise<void>): Promise<void> {
  let at = 0;
  const caller = async (): Promise<void> => {
    while (at < count) await one(at++);
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

/** At `PACED` a second, whether or not those before are answered. */
export async function paced(count: number, one: (n: number) => Promise<void>): Promise<void> {
  const from = performance.now();
  const all: Promise<void>[] = [];
  for (let at = 0; at < count; at += 1) {
    const waitMs = from + (at * 1000) / PACED - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    all.push(one(at));
  }
  await Promise.all(all);
}

async function publishInOrder({ service }: Delivering, count: number): Promise<void> {
  const event = { type: eventType(0), data: { text: 'x'.repeat(200) } };
  await service.admin.call(202, 'POST', `${EDGE}/events`, { events: Array<unknown>(count).fill(event) });
}
