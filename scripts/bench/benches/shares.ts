/** Fair shares (contract §8.8): how long a guarded call of one customer takes beside hostile requests of another. */

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { EVENT_REQUEST_BYTES } from '../../../src/domain/limits.ts';
import { EVENT_DATA_BYTES } from '../../../src/events/limits.ts';
import { type Api, requestToken } from '../../demo/api.ts';
import { type Attack, startAttack } from '../harness/attack.ts';
import { makeDamagedKey, makePublicKey } from '../harness/pgp.ts';
import { measureInRounds } from '../harness/rounds.ts';
import { type Credentials, EDGE, type Service, startService } from '../harness/service.ts';
import { type BenchResult, type Goal, type Row, valuesOf } from '../report/result.ts';
import { median } from '../report/statistics.ts';
import type { Bench, BenchContext } from './bench.ts';

/** The contract's promise for the other customer's calls. */
const P99_MS = 25;
const LONGEST_MS = 100;

const IDLE = 'nothing else';
/** The customer's webhooks with slow filters, as many as it may have beside two others. */
const FILTERS = 98;
/** As many as a key of 64 KiB has. */
const DAMAGED_USERS = 200;
const CALL_EVERY_MS = 10;
/** An idle service has no longer turns. */
const QUIET_MS = 200;
const QUIET_TURN_MS = 5;
const SCOPES = [
  ...['endpoints', 'webhooks', 'keys'].flatMap((name) => [`${name}:view`, `${name}:manage`]),
  'events:publish',
  'deliveries:view',
  'records:read',
];

export const sharesBench: Bench = {
  name: 'shares',
  programs: [],
  peers: false,
  run: async ({ folder, rounds, seconds, quick, say }: BenchContext) => {
    const turnsFile = `${folder}/turns`;
    const service = await startService({
      dataDir: `${folder}/data`,
      nodeFlags: ['--import', fileURLToPath(new URL('../harness/turns.ts', import.meta.url))],
      env: { TURNS_FILE: turnsFile },
    });
    try {
      const hostile = await makeCustomer(service, 'hostile');
      const other = await makeCustomer(service, 'other');
      const attacks = await attacksOf(service, hostile, quick ? 3 : FILTERS);
      const guarded = `${service.url}${EDGE}/webhooks/${await makeWebhook(other.api, 'one')}`;
      const beside = async (attack: Attack | null): Promise<Record<string, number>> => {
        await quiet(service.pid, turnsFile);
        const { url } = service;
        const under = attack === null ? null : await startAttack(folder, { ...attack, url, token: hostile.token });
        const took = await callFor(guarded, other.token, seconds * 1000);
        const turn = await longestTurn(service.pid, turnsFile);
        const replies = await under?.stop();
        if (replies !== undefined) say(`${attack?.name}: ${JSON.stringify(replies)}`);
        const at = (part: number): number =>
          took[Math.min(took.length - 1, Math.floor(took.length * part))] ?? Number.NaN;
        return { p99: at(0.99), p50: at(0.5), longest: at(1), turn };
      };
      const contenders = [null, ...attacks].map((attack) => ({
        name: attack?.name ?? IDLE,
        measure: () => beside(attack),
      }));
      return [describe(await measureInRounds(contenders, rounds))];
    } finally {
      await service.stop();
    }
  },
};

type Customer = { readonly id: string; readonly api: Api; readonly token: string };

/** An application of a new customer that may do what customers may. */
async function makeCustomer({ admin, url }: Service, name: string): Promise<Customer> {
  const make = async <T>(path: string, body: unknown): Promise<T> =>
    (await admin.call<T>(201, 'POST', `${EDGE}/${path}`, body)).body;
  const { id: customerId } = await make<{ id: string }>('customers', { name, externalId: name });
  const role = { userName: name, role: 'administrator', permissions: SCOPES };
  const { id: userId } = await make<{ id: string }>('users', { customerId, ...role });
  const application = { customerId, name, userId, scopes: SCOPES };
  const token = (await requestToken(url, await make<Credentials>('applications', application))).access_token;
  return { id: customerId, api: admin.as(token), token };
}

/** The cookie of a session in the customer's portal. */
async function openPortal({ admin }: Service, customer: Customer): Promise<string> {
  const link = await admin.call<{ url: string }>(201, 'POST', `${EDGE}/customers/${customer.id}/portal-links`, {
    role: 'viewer',
  });
  const { headers } = await fetch(link.body.url, { redirect: 'manual' });
  return headers
    .getSetCookie()
    .map((cookie) => cookie.split(';', 1)[0])
    .join('; ');
}

async function makeWebhook(api: Api, type: string, filter: object | null = null): Promise<string> {
  const webhook = { name: `webhook ${Math.random()}`, mode: 'pull', eventTypes: [`order.${type}`], filter };
  return (await api.call<{ id: string }>(201, 'POST', `${EDGE}/webhooks`, webhook)).body.id;
}

/** As slow as a filter can be: fails at the last of its conditions, each at the end of a long path. */
function slowFilter(n: number): object {
  const path = `data${'.a'.repeat(19)}`;
  const conditions = Array.from({ length: 49 }, (_, at) => ({ [`${path}.b${at}`]: { $lt: at } }));
  return { $or: conditions, 'data.x': `${n}${'x'.repeat(9000)}` };
}

/** The data that it judges. */
function deepData(): object {
  const innermost = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`b${n}`, n]));
  return Array.from({ length: 19 }).reduce<object>((inner) => ({ a: inner }), innermost);
}

/** So many bytes of parts with a comma between them. */
function filled(bytes: number, part: (n: number) => string): string {
  const parts: string[] = [];
  let size = 0;
  for (let n = 0; ; n += 1) {
    const next = part(n);
    size += next.length + 1;
    if (size > bytes) return parts.join(',');
    parts.push(next);
  }
}

async function attacksOf(service: Service, hostile: Customer, filters: number): Promise<Attack[]> {
  const { admin } = service;
  const { api } = hostile;
  const names = ['one', 'filtered', 'plain', 'matched'];
  for (const name of names) await admin.call(201, 'POST', `${EDGE}/event-types`, { name: `order.${name}` });
  for (let n = 0; n < filters; n += 1) await makeWebhook(api, 'filtered', slowFilter(n));
  const plain = await makeWebhook(api, 'plain');
  await makeWebhook(api, 'matched', { 'data.l': 1 });
  const events = (type: string, count: number): object => ({
    events: Array.from({ length: count }, () => ({ type: `order.${type}`, data: deepData() })),
  });
  await api.call(202, 'POST', `${EDGE}/events`, events('plain', 1000));
  const large = (type: string, more: string): string => {
    const objects = filled(EVENT_DATA_BYTES - 1024, (n) => `{"k${n}":1}`);
    const event = (n: number): string =>
      `{"type":"order.${type}"${more.replace('#', String(n))},"data":{"l":[${objects}]}}`;
    return `{"events":[${filled(EVENT_REQUEST_BYTES - 1024, event)}]}`;
  };
  const members = filled(EVENT_REQUEST_BYTES - 1024, (n) => `"${n * 7}":1`);
  const objects = (bytes: number): string => filled(bytes, (n) => `{"k${n}":1}`);
  const post = `${EDGE}/events`;
  const publicKey = await makePublicKey();
  const damagedKey = await makeDamagedKey(DAMAGED_USERS);
  const cookie = await openPortal(service, hostile);
  const ofMembers = `{"type":"order.plain","data":{${members}}}`;
  return [
    {
      name: '1,000 events for slow filters',
      connections: 1,
      path: post,
      body: JSON.stringify(events('filtered', 1000)),
    },
    {
      name: 'previews of a slow filter',
      connections: 3,
      path: `${EDGE}/webhooks/${plain}/filter-preview`,
      body: JSON.stringify({ filter: slowFilter(0), limit: 1000 }),
    },
    { name: '8 MiB in one event', connections: 2, path: post, body: ofMembers },
    { name: '8 MiB in large events', connections: 4, path: post, body: large('plain', '') },
    { name: '8 MiB in large events, filtered', connections: 2, path: post, body: large('matched', '') },
    {
      name: '8 MiB in large events, with keys',
      connections: 2,
      path: post,
      body: large('plain', ',"idempotencyKey":"#"'),
    },
    {
      name: '8 MiB of white space',
      connections: 4,
      path: post,
      body: `{"type":"order.plain",${' '.repeat(EVENT_REQUEST_BYTES - 1024)}"data":{}}`,
    },
    {
      name: 'webhooks of 1 MiB',
      connections: 4,
      path: `${EDGE}/webhooks`,
      body: `{"name":"x","eventTypes":[${objects(1024 * 1024 - 1024)}]}`,
    },
    {
      name: 'webhooks of 19,000 values',
      connections: 4,
      path: `${EDGE}/webhooks`,
      body: `{"name":"x","eventTypes":[${filled(100_000, (n) => `{"k${n}":1}`)}]}`,
    },
    {
      name: 'small events on 16 connections',
      connections: 16,
      path: post,
      body: JSON.stringify({ type: 'order.filtered', data: deepData() }),
    },
    { name: '100 unfinished bodies', connections: 100, path: post, body: ofMembers, unfinished: true },
    {
      name: '100 reads that wait',
      connections: 100,
      method: 'GET',
      path: `${EDGE}/webhooks/${plain}/records?after=1000000&wait=30`,
    },
    { name: 'PGP keys', connections: 8, path: `${EDGE}/keys`, body: JSON.stringify({ name: 'key', publicKey }) },
    {
      name: 'PGP keys with damaged signatures',
      connections: 4,
      path: `${EDGE}/keys`,
      body: JSON.stringify({ name: 'key', publicKey: damagedKey }),
    },
    { name: '300 live pages', connections: 300, method: 'GET', path: '/deliveries/live', cookie },
  ];
}

/** Calls every `CALL_EVERY_MS`, whether or not the calls before have their replies. Returns how long each took, the shortest first. */
async function callFor(url: string, token: string, ms: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const took: number[] = [];
  const calls: Promise<void>[] = [];
  for (const end = performance.now() + ms; performance.now() < end; await sleep(CALL_EVERY_MS)) {
    const startedAt = performance.now();
    calls.push(guardedCall(url, token, agent).then(() => void took.push(performance.now() - startedAt)));
  }
  await Promise.all(calls);
  agent.destroy();
  return took.sort((a, b) => a - b);
}

function guardedCall(url: string, token: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, { agent, headers: { authorization: `Bearer ${token}` } }, (reply) => {
      if (reply.statusCode !== 200) reject(new Error(`a guarded call got ${reply.statusCode}`));
      reply.resume().once('end', resolve);
    })
      .once('error', reject)
      .end();
  });
}

/** The longest turn of the service's event loop since the last time, in milliseconds of the processor's time. */
async function longestTurn(pid: number, file: string): Promise<number> {
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file)) await sleep(10);
  return Number(readFileSync(file, 'utf8'));
}

/** Waits until the service is done with the rest of the attack before. */
async function quiet(pid: number, file: string): Promise<void> {
  for (let turns = 0; turns < 3; ) {
    await sleep(QUIET_MS);
    turns = (await longestTurn(pid, file)) < QUIET_TURN_MS ? turns + 1 : 0;
  }
}

function describe(rows: readonly Row[]): Omit<BenchResult, 'seconds'> {
  const attacks = rows.filter(({ name }) => name !== IDLE).map(({ name }) => name);
  const goal = (text: string, limit: number, actual: number): Goal => ({
    text,
    bound: 'at most',
    limit,
    unit: 'ms',
    actual,
  });
  return {
    bench: 'shares',
    title: 'Calls of one customer beside hostile requests of another',
    method:
      `A guarded GET of one customer every ${CALL_EVERY_MS} ms, while an application of another customer ` +
      'sends the same request over and over, on the ' +
      'same machine. `turn` is the longest time for which the event loop of the service kept the processor without a pause.',
    figures: [
      { name: 'p99', unit: 'ms' },
      { name: 'p50', unit: 'ms' },
      { name: 'longest', unit: 'ms' },
      { name: 'turn', unit: 'ms' },
    ],
    rows,
    baseline: IDLE,
    notMeasured: [],
    goals: attacks.flatMap((name) => [
      goal(`p99 beside ${name}`, P99_MS, median(valuesOf({ rows }, name, 'p99'))),
      goal(`longest call beside ${name}`, LONGEST_MS, Math.max(...valuesOf({ rows }, name, 'longest'))),
    ]),
  };
}
