/**
 * The kill test: the service is killed at random moments of everything that it does, started again each time, and what publishers and
 * receivers saw is checked against the promises (history.ts). The same seed makes the same choices; the machine's own timing stays.
 */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FirstCredentials } from '../../src/data/data.ts';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import { auditStore } from '../../src/store/shared/audit.ts';
import { damages } from '../../src/store/sqlite/damage.ts';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';
import type { DeliveryView } from '../../src/webhooks/deliveries.ts';
import { type ApiClient, createClient, type Page, succeeded, tokenFor } from '../support/client.ts';
import { importKey, makeEndpoint, makeEventType, makeWebhook, startWebhook } from '../support/journey.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { temporaryFolder, writeCaFile } from '../support/service.ts';
import { sharedCertificates } from '../support/tls.ts';
import { type Erasure, type History, type Kept, type Violation, violations } from './history.ts';
import { type Program, runSallyport } from './life.ts';
import { createPublisher, type Door } from './publisher.ts';
import { type Kind, newSecret, orderOf, type Receiver, startReceivers } from './receivers.ts';
import type { Steps } from './steps.ts';

/** The work under way when the service, or the command beside it, is killed. */
export const MOMENTS = [
  'start',
  'publish',
  'delivery',
  'erasure',
  'replay',
  'rotation',
  'backup',
  'master key',
] as const;
export type Moment = (typeof MOMENTS)[number];

export type ChaosReport = {
  readonly seed: number;
  readonly kills: Readonly<Record<Moment, number>>;
  readonly acknowledged: number;
  readonly deliveries: number;
  readonly records: number;
  /** Records that a receiver had accepted before. */
  readonly repeats: number;
  readonly erased: number;
  readonly violations: readonly Violation[];
  /** Other faults that must not happen: 500s, faults in the log, deliveries that do not verify, a damaged database. */
  readonly faults: readonly string[];
};

export type ChaosOptions = {
  readonly seed: number;
  readonly kills: number;
  readonly steps: Steps;
  tell(text: string): void;
};

const TYPE = 'chaos.happened';
const KINDS: readonly Kind[] = ['plain', 'ordered', 'keyed', 'batched', 'encrypted', 'standard', 'oauth'];
/** How long after something began the kill comes at the latest; in half of all cases it comes right after the reply instead. */
const KILLED_WITHIN_MS: Readonly<Record<Exclude<Moment, 'start' | 'master key'>, number>> = {
  publish: 250,
  delivery: 250,
  erasure: 80,
  replay: 80,
  rotation: 40,
  backup: 900,
};
const MEDDLING: ReadonlySet<Moment> = new Set(['erasure', 'replay', 'rotation']);
const KILLED_AFTER_REPLY_MS = 10;
/** A start is killed within this many times as long as the first one took. */
const START_FACTOR = 1.2;
/** A run ends after this many times as many lives as kills are wanted, also if one moment had none. */
const LIVES_MAX = 2;
const SETTLED_WITHIN_MS = 180_000;
/** Starts and ends take at most some seconds. */
const STARTED_WITHIN_MS = 60_000;
const ENDED_WITHIN_MS = 120_000;
const LOOK_MS = 200;
const FAULT_LEVEL = 50;

type Stage = {
  readonly webhooks: ReadonlyMap<
    Kind,
    { readonly id: string; readonly endpointId: string; readonly receiver: Receiver }
  >;
  readonly door: Door;
  readonly admin: ApiClient;
  readonly service: Program;
};

export async function runChaos(
  t: TestContext,
  { seed, kills: wanted, steps, tell }: ChaosOptions,
): Promise<ChaosReport> {
  const random = randomNumbers(seed);
  const below = (end: number): number => Math.floor(random() * end);
  const { privateKey, publicKey } = await pgpKeyPair();
  const receivers = await startReceivers(t, { privateKey, random });
  const publisher = createPublisher(TYPE, random);
  const folder = temporaryFolder(t);
  const dataDir = join(folder, 'data');
  const env = {
    SALLYPORT_DATA: dataDir,
    SALLYPORT_PORT: '0',
    SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8,::1',
    SALLYPORT_LOG_LEVEL: 'warn',
    SALLYPORT_CA_FILE: writeCaFile(t, sharedCertificates().ca),
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
  };
  const kills = Object.fromEntries(MOMENTS.map((moment) => [moment, 0])) as Record<Moment, number>;
  const erasures: Erasure[] = [];
  const faults: string[] = [];
  let running: Program | null = null;
  t.after(() => running?.kill('SIGKILL'));

  const run = (...args: string[]): Program => {
    running = runSallyport(args, env);
    return running;
  };
  /** Whether the kill ended it. */
  const ended = async (program: Program, moment: Moment): Promise<boolean> => {
    const { signal } = await steps.run(`the end by a kill (${moment})`, ENDED_WITHIN_MS, () => program.exited);
    const isKilled = signal === 'SIGKILL';
    if (isKilled) kills[moment] += 1;
    faults.push(...faultLines(program.log()));
    return isKilled;
  };
  const killWithin = async (program: Program, moment: Moment, ms: number): Promise<boolean> => {
    await sleep(below(ms));
    program.kill('SIGKILL');
    return ended(program, moment);
  };

  const stage = await prepare();
  const { webhooks } = stage;
  const { token } = stage.door;

  async function prepare(): Promise<Stage> {
    const service = run('serve', '--json');
    const credentials = JSON.parse((await service.firstLine) ?? '{}') as FirstCredentials & { url: string };
    const { url } = credentials;
    const door = { url, token: await tokenFor(url, credentials) };
    const admin = createClient(url, door.token);
    await makeEventType(admin, TYPE);
    await importKey(admin, 'chaos', publicKey);
    const made = new Map<Kind, { id: string; endpointId: string; receiver: Receiver }>();
    for (const kind of KINDS) {
      const receiver = receivers.add(kind);
      const { secrets, ...rest } = receiver;
      const oauth = { clientId: 'chaos', clientSecret: 'chaos', tokenUrl: receivers.tokenUrl };
      const endpoint = await makeEndpoint(
        admin,
        { ...rest, secret: secrets[0] ?? '' },
        {
          ...(kind === 'encrypted' && { contentEncoding: 'gzip' }),
          ...(kind === 'oauth' && { oauth }),
        },
      );
      const webhook = await makeWebhook(admin, endpoint, [TYPE], {
        name: kind,
        ordered: orderOf(kind),
        maxBatchRecords: kind === 'plain' ? 1 : orderOf(kind) === false ? 50 : 5,
        standardWebhooks: kind === 'standard',
        ...(kind === 'encrypted' && { encryptionKeyName: 'chaos' }),
      });
      await startWebhook(admin, webhook);
      made.set(kind, { id: webhook.id, endpointId: endpoint.id, receiver });
    }
    return { webhooks: made, door, admin, service };
  }

  /** Begins a life. Throws where the service does not start any more. */
  const live = async (): Promise<Stage> => {
    const service = run('serve', '--json');
    const announced = await steps.run('a start', STARTED_WITHIN_MS, () => service.firstLine, service.state);
    if (announced === null) throw new Error(`the service did not start again: ${service.log()}`);
    const { url } = JSON.parse(announced) as { url: string };
    return { webhooks, door: { url, token }, admin: createClient(url, token), service };
  };

  /** Requests of an operator or a customer while the service is killed. Their replies are not awaited. */
  const meddle = async (moment: Moment, { admin }: Stage): Promise<void> => {
    const kind = KINDS[below(KINDS.length)] ?? 'plain';
    const webhook = webhooks.get(kind);
    if (webhook === undefined) return;
    if (moment === 'erasure') {
      const subject = publisher.retireSubject();
      if (subject === null) return;
      const at = erasures.push({ subject, repliedAtMs: null }) - 1;
      const reply = await admin.post('events/erase', { subject });
      if (reply.status >= 300) faults.push(`erasing was answered with ${reply.status}: ${JSON.stringify(reply.body)}`);
      else erasures[at] = { subject, repliedAtMs: Date.now() };
    } else if (moment === 'replay' && orderOf(kind) === false) {
      const since = new Date(Date.now() - below(20_000)).toISOString();
      const reply = await admin.post(`webhooks/${webhook.id}/replay`, { since, states: ['delivered', 'dead'] });
      if (reply.status >= 400) faults.push(`a replay was answered with ${reply.status}: ${JSON.stringify(reply.body)}`);
    } else if (moment === 'rotation') {
      const secret = newSecret();
      webhook.receiver.secrets.push(secret);
      const asked = { secret, overlapSeconds: below(3), activateAfterSeconds: below(3) };
      const reply = await admin.post(`endpoints/${webhook.endpointId}/rotate-secret`, asked);
      if (reply.status >= 500)
        faults.push(`a rotation was answered with ${reply.status}: ${JSON.stringify(reply.body)}`);
    }
  };

  /** One life with load that ends by a kill. */
  const liveAndDie = async (moment: keyof typeof KILLED_WITHIN_MS, alive: Stage): Promise<void> => {
    const over = new AbortController();
    const publishing = publisher.publishUntil(alive.door, over.signal);
    if (moment === 'delivery') await publishing;
    if (moment !== 'publish' && moment !== 'delivery') await sleep(below(KILLED_WITHIN_MS.publish));
    const beside = moment === 'backup' ? runSallyport(['backup', join(folder, 'backup'), '--force'], env) : null;
    const meddling = meddle(moment, alive).catch(() => undefined);
    const repliedTo = MEDDLING.has(moment) && below(2) === 0;
    if (repliedTo) await meddling;
    await killWithin(alive.service, moment, repliedTo ? KILLED_AFTER_REPLY_MS : KILLED_WITHIN_MS[moment]);
    over.abort();
    if (beside !== null) await killWithin(beside, moment, KILLED_WITHIN_MS.backup);
    await steps.run('requests to a service that is gone', ENDED_WITHIN_MS, () => Promise.all([publishing, meddling]));
  };

  // A stop keeps the compile cache, so every later start is as fast as in operation.
  stage.service.kill('SIGTERM');
  await steps.run('the first stop', ENDED_WITHIN_MS, () => stage.service.exited, stage.service.state);
  const startedAt = performance.now();
  await liveAndDie('publish', await live());
  const startMs = START_FACTOR * (performance.now() - startedAt);
  // The command may end long before a start would, if the machine was busier then. After a kill that came too late the next comes earlier.
  let rotationMs = startMs;
  // What ends before its kill counts for none, so a short run may need further lives for a kill at each moment.
  const isOver = (n: number): boolean =>
    sum(kills) >= wanted && (n > LIVES_MAX * wanted || MOMENTS.every((moment) => kills[moment] > 0));
  for (let n = 1; !isOver(n); n += 1) {
    const moment = MOMENTS[n % MOMENTS.length] ?? 'start';
    if (moment === 'start') await killWithin(run('serve', '--json'), moment, startMs);
    else if (moment === 'master key') {
      if (!(await killWithin(run('rotate-master-key'), moment, rotationMs))) rotationMs /= 2;
    } else await liveAndDie(moment, await live());
    if (n % 20 === 0) tell(`${sum(kills)} kills, ${publisher.publishes.length} events published`);
  }

  receivers.acceptAll();
  const last = await live();
  await steps.run('publishing again', ENDED_WITHIN_MS, () => publisher.finish(last.door));
  // Until then, a record that was left out for an erasure has the state of its batch.
  await steps.run('the end of the erasures', 2 * SETTLED_WITHIN_MS, () => erasuresEnd(last.admin));
  const kept = new Map<Kind, Kept[]>();
  for (const [kind, { id }] of webhooks) {
    const waiting = await steps.run(`what is left of ${kind}`, 2 * SETTLED_WITHIN_MS, () =>
      stillPending(last.admin, id),
    );
    if (waiting !== null) {
      faults.push(`${kind}: still pending after ${SETTLED_WITHIN_MS / 1000} s: ${JSON.stringify(waiting)}`);
    }
    kept.set(kind, await listed(last.admin, id));
  }
  last.service.kill('SIGTERM');
  const { code } = await steps.run('the last stop', ENDED_WITHIN_MS, () => last.service.exited, last.service.state);
  if (code !== 0) faults.push(`the last stop ended with ${code}`);
  faults.push(...faultLines(last.service.log()), ...publisher.faults, ...receivers.problems);
  faults.push(...(await databaseFaults(join(dataDir, DATABASE_FILE))));

  const history: History = {
    webhooks: KINDS.map((name) => ({ name, ordered: orderOf(name), kept: kept.get(name) ?? [] })),
    publishes: publisher.publishes,
    arrivals: receivers.arrivals,
    erasures,
  };
  const accepted = history.arrivals.filter((arrival) => arrival.accepted);
  const records = accepted.flatMap(({ webhook, records }) => records.map(({ messageId }) => `${webhook} ${messageId}`));
  return {
    seed,
    kills,
    acknowledged: history.publishes.filter(({ acknowledgements }) => acknowledgements.length > 0).length,
    deliveries: accepted.length,
    records: records.length,
    repeats: records.length - new Set(records).size,
    erased: erasures.filter(({ repliedAtMs }) => repliedAtMs !== null).length,
    violations: violations(history),
    faults,
  };
}

export function sum(kills: Readonly<Record<Moment, number>>): number {
  return Object.values(kills).reduce((all, count) => all + count, 0);
}

/** The counts as a person reads them. */
export function reportText({ seed, kills, violations: broken, faults, ...counts }: ChaosReport): string {
  const { acknowledged, deliveries, records, repeats, erased } = counts;
  const moments = MOMENTS.map((moment) => `${moment} ${kills[moment]}`).join(', ');
  const kinds = ['lost', 'reordered', 'gap', 'duplicate', 'erased', 'unknown'] as const;
  const found = kinds.map((kind) => `${kind} ${broken.filter((one) => one.kind === kind).length}`).join(', ');
  return [
    `seed ${seed}`,
    `${sum(kills)} kills: ${moments}`,
    `${acknowledged} events acknowledged, ${erased} people erased`,
    `${deliveries} deliveries with ${records} records accepted, ${repeats} of them repeats`,
    `broken promises: ${found}; other faults: ${faults.length}`,
    ...broken.slice(0, 20).map(({ kind, detail }) => `  ${kind}: ${detail}`),
    ...faults.slice(0, 20).map((fault) => `  ${fault}`),
    '',
  ].join('\n');
}

/** The same numbers in [0, 1) for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Waits until nothing of the webhook is pending; answers a delivery that still is when it has waited long enough. */
export async function stillPending(admin: ApiClient, webhookId: string): Promise<DeliveryView | null> {
  const giveUpAt = performance.now() + SETTLED_WITHIN_MS;
  for (;;) {
    const path = `deliveries?webhookId=${webhookId}&state=pending&limit=1`;
    const [waiting] = (await succeeded<Page<DeliveryView>>(admin.get(path))).items;
    if (waiting === undefined) return null;
    if (performance.now() > giveUpAt) return waiting;
    await sleep(LOOK_MS);
  }
}

/** Waits until each erasure that was recorded is finished. */
async function erasuresEnd(admin: ApiClient): Promise<void> {
  while ((await auditEntries(admin, 'event.erase-done')) < (await auditEntries(admin, 'event.erase'))) {
    await sleep(LOOK_MS);
  }
}

async function auditEntries(admin: ApiClient, action: string): Promise<number> {
  let count = 0;
  for await (const _ of everyItem<object>(admin, `audit?action=${action}`)) count += 1;
  return count;
}

export async function listed(admin: ApiClient, webhookId: string): Promise<Kept[]> {
  const kept: Kept[] = [];
  for await (const { offset, eventId, state } of everyItem<DeliveryView>(admin, `deliveries?webhookId=${webhookId}`)) {
    kept.push({ offset, eventId, state });
  }
  return kept;
}

/** The items of all pages of a list. */
async function* everyItem<T>(admin: ApiClient, path: string): AsyncGenerator<T> {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const page: Page<T> = await succeeded(admin.get(`${path}&limit=200${after}`));
    yield* page.items;
    cursor = page.nextCursor;
  }
}

/** Lines of the log at level error and above, and other output. */
function faultLines(log: string): string[] {
  const lines = log.split('\n').slice(0, -1);
  return lines.filter(
    (line) => !line.startsWith('{') || Number((JSON.parse(line) as { level: number }).level) >= FAULT_LEVEL,
  );
}

async function databaseFaults(path: string): Promise<string[]> {
  const db = openSqlite(path);
  try {
    const broken = await auditStore(db).firstBroken();
    return [...damages(db), ...(broken === null ? [] : [`entry ${broken} of the audit log does not fit its chain`])];
  } finally {
    await db.close();
  }
}
