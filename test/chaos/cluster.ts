/**
 * The test of several instances: three of them work on one PostgreSQL database while faults happen at random, and what publishers,
 * receivers and clients saw is checked against the promises (history.ts). The same seed makes the same choices; the machine's own timing
 * stays.
 */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FirstCredentials } from '../../src/data/data.ts';
import { cleanUpAlways } from '../support/cleanup.ts';
import { type ApiClient, createClient, tokenFor } from '../support/client.ts';
import { makeEndpoint, makeEventType, makeWebhook, startWebhook } from '../support/journey.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import type { Cluster } from '../support/postgres.ts';
import { temporaryFolder, writeCaFile } from '../support/service.ts';
import { type Absence, runAt } from '../support/standby.ts';
import { sharedCertificates } from '../support/tls.ts';
import { FAULT_LASTS_MS, type FaultSpan, type History, type Kept, type Violation, violations } from './history.ts';
import { type Program, runSallyport } from './life.ts';
import { createPublisher } from './publisher.ts';
import { createReader } from './reader.ts';
import { type Kind, orderOf, startReceivers } from './receivers.ts';
import { listed, randomNumbers, stillPending } from './run.ts';
import { type Servers, startServers } from './servers.ts';
import type { Steps } from './steps.ts';
import { createTokenClients } from './tokens.ts';

export const FAULTS = [
  ...(['kill', 'stop', 'pause', 'connections', 'crash', 'failover', 'network', 'pooler'] as const),
  ...(['standby stopped', 'standby frozen', 'standby cut'] as const),
] as const;
export type Fault = (typeof FAULTS)[number];

/** The fault while the standby is away: to the transactions that wait for it, or to the primary. */
export const MEANWHILE = ['nothing', 'ended', 'cancelled', 'crash'] as const;
export type Meanwhile = (typeof MEANWHILE)[number];

export type ClusterReport = {
  readonly seed: number;
  readonly durationMs: number;
  readonly faults: Readonly<Record<Fault, number>>;
  /** While the standby was away; and how often the primary was lost then and the standby promoted. */
  readonly meanwhile: Readonly<Record<Meanwhile, number>>;
  readonly promotedAfterAbsence: number;
  readonly acknowledged: number;
  readonly records: number;
  readonly repeats: number;
  /** Records that receivers read again, and the replies in which they came. */
  readonly read: number;
  readonly replies: number;
  /** Tokens that were issued, and those of them that were revoked on one instance and then tried on another. */
  readonly issued: number;
  readonly revoked: number;
  /** From each promotion until each instance issued a token again. */
  readonly reconnectedMs: readonly number[];
  readonly violations: readonly Violation[];
  /** Other faults that must not happen: 500s, deliveries that do not verify, records that stay. */
  readonly problems: readonly string[];
};

export type ClusterOptions = {
  readonly seed: number;
  readonly durationMs: number;
  readonly steps: Steps;
  tell(text: string): void;
};

const TYPE = 'chaos.happened';
const KINDS: readonly Kind[] = ['plain', 'ordered', 'batched', 'standard', 'keyed'];
const INSTANCES = 3;
/** Longer and shorter than a lease. */
const PAUSED_MAX_MS = 12_000;
const CUT_MAX_MS = 8000;
/** Before and after what happens while the standby is away. A caller is told after ten seconds that its write is not confirmed. */
const AWAY_MAX_MS = 13_000;
const AWAY_AFTER_MAX_MS = 4000;
const BETWEEN_FAULTS_MAX_MS = 3000;
const STARTED_WITHIN_MS = 60_000;
/** The servers, a fault with what follows it, and what the clients have in progress at the end. Each takes a few seconds. */
const SERVERS_WITHIN_MS = 300_000;
const FAULT_WITHIN_MS = 300_000;
const CLIENTS_WITHIN_MS = 120_000;
/** The pause before a refused read is repeated. */
const READ_AGAIN_MS = 1000;
/** One webhook: the last deliveries, for which the check waits 180 s (`SETTLED_WITHIN_MS` in run.ts), and the list of them. */
const CHECKED_WITHIN_MS = 400_000;
const STOPPED_WITHIN_MS = 30_000;
/** Before the first fault, and after each round of all faults once those have no effect any more: nothing may be repeated then. */
const CALM_MS = 3000;

type Instance = { readonly env: Readonly<Record<string, string>>; program: Program; url: string };

export async function runCluster(
  t: TestContext,
  { seed, durationMs, steps, tell }: ClusterOptions,
): Promise<ClusterReport> {
  const random = randomNumbers(seed);
  const below = (end: number): number => Math.floor(random() * end);
  const servers = await steps.run('the start of the servers', SERVERS_WITHIN_MS, () => startServers(t));
  const { privateKey } = await pgpKeyPair();
  const receivers = await startReceivers(t, { privateKey, random });
  const publisher = createPublisher(TYPE, random);
  const folder = temporaryFolder(t);
  const instances: Instance[] = [];
  cleanUpAlways(t, () => {
    for (const program of programs) program.kill('SIGKILL');
  });
  /** Every program that ran, also those that are killed, for their logs. */
  const programs: Program[] = [];
  const problems: string[] = [];
  const counts = Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Record<Fault, number>;

  const environment = (n: number): Record<string, string> => ({
    SALLYPORT_DATA: join(folder, `instance-${n}`),
    SALLYPORT_MASTER_KEY_FILE: join(folder, 'master.key'),
    ...servers.ways[n],
    SALLYPORT_PORT: '0',
    SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8,::1',
    SALLYPORT_LOG_LEVEL: 'warn',
    SALLYPORT_CA_FILE: writeCaFile(t, sharedCertificates().ca),
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
  });
  const start = async (
    env: Instance['env'],
  ): Promise<{ program: Program; announced: FirstCredentials & { url: string } }> => {
    const giveUpAt = performance.now() + STARTED_WITHIN_MS;
    for (;;) {
      const program = runSallyport(['serve', '--json'], env);
      programs.push(program);
      const line = await steps
        .run('the start of an instance', STARTED_WITHIN_MS, () => program.firstLine, program.log)
        .catch((error: unknown) => {
          program.kill('SIGKILL');
          throw error;
        });
      if (line !== null) return { program, announced: JSON.parse(line) };
      // The database may be gone for a moment.
      if (performance.now() > giveUpAt) throw new Error(`an instance does not start: ${program.log()}`);
      await sleep(200);
    }
  };

  const first = await start(environment(0));
  instances.push({ env: environment(0), program: first.program, url: first.announced.url });
  for (let n = 1; n < INSTANCES; n += 1) {
    const { program, announced } = await start(environment(n));
    instances.push({ env: environment(n), program, url: announced.url });
  }
  const credentials = first.announced;
  const token = await tokenFor(first.announced.url, credentials);
  const admin = (): ApiClient => createClient((instances[below(INSTANCES)] as Instance).url, token);
  const webhooks = await subscribe(admin(), receivers);

  const over = new AbortController();
  const publishing = (async () => {
    while (!over.signal.aborted) {
      const { url } = instances[below(INSTANCES)] as Instance;
      await publisher.publishUntil({ url, token }, over.signal);
      await sleep(50);
    }
  })();
  const reader = createReader(webhooks, publisher.next);
  const reading = reader.readUntil(() => ({ url: (instances[below(INSTANCES)] as Instance).url, token }), over.signal);
  const urlOf = (): string => (instances[below(INSTANCES)] as Instance).url;
  const clients = createTokenClients(credentials, { urlOf, next: publisher.next, random });
  const revoking = clients.workUntil(over.signal);

  const reconnectedMs: number[] = [];
  const acknowledged = (): number =>
    publisher.publishes.filter(({ acknowledgements }) => acknowledgements.length > 0).length;
  const promoted = async (): Promise<void> => {
    const from = performance.now();
    const times = instances.map(async ({ url }) => {
      while (!(await issuesToken(url, credentials))) await sleep(20);
      return Math.round(performance.now() - from);
    });
    reconnectedMs.push(...(await Promise.all(times)));
    await clients.tryAll();
  };
  const meanwhile = Object.fromEntries(MEANWHILE.map((what) => [what, 0])) as Record<Meanwhile, number>;
  let promotedAfterAbsence = 0;
  let absences = 0;
  const absence = (): Absent => {
    const what = MEANWHILE[absences++ % MEANWHILE.length] as Meanwhile;
    const promotes = below(2) === 0;
    meanwhile[what] += 1;
    if (promotes) promotedAfterAbsence += 1;
    return { what, promotes };
  };

  const waiting: Fault[] = [];
  const spans: FaultSpan[] = [];
  const begunAt = performance.now();
  while (performance.now() - begunAt < durationMs) {
    // Each of them once before any comes again.
    if (waiting.length === 0) {
      await sleep(CALM_MS + (spans.length === 0 ? 0 : FAULT_LASTS_MS));
      waiting.push(...FAULTS);
    }
    await sleep(below(BETWEEN_FAULTS_MAX_MS));
    const [fault] = waiting.splice(below(waiting.length), 1) as [Fault];
    const fromMs = Date.now();
    const instance = instances[below(INSTANCES)] as Instance;
    const means = { servers, steps, start, below, promoted, absence };
    await steps.run(`the fault '${fault}'`, FAULT_WITHIN_MS, () => happen(fault, instance, means));
    spans.push({ fromMs, untilMs: Date.now() });
    counts[fault] += 1;
    const { length } = publisher.publishes;
    tell(`${Math.round((performance.now() - begunAt) / 1000)} s: ${fault}; ${length} events published`);
  }
  over.abort();
  const atEnd = async (what: string, work: () => Promise<unknown>): Promise<void> =>
    void (await steps.run(what, CLIENTS_WITHIN_MS, work));
  await atEnd('the last requests of publishers', () => publishing);
  await atEnd('the last requests of clients with tokens', () => revoking);
  await atEnd('the last requests of readers', () => reading);
  await atEnd('the trial of every token', clients.tryAll);

  receivers.acceptAll();
  await atEnd('publishing again', () => publisher.finish({ url: (instances[0] as Instance).url, token }));
  await atEnd('reading to the end', () => reader.finish({ url: (instances[1] as Instance).url, token }));
  const kept = new Map<Kind, Kept[]>();
  const checkWebhook = async (kind: Kind, id: string): Promise<void> => {
    const waiting = await stillPending(patient(admin()), id);
    if (waiting !== null) problems.push(`${kind} stays pending: ${JSON.stringify(waiting)}`);
    kept.set(kind, await listed(patient(admin()), id));
  };
  for (const [kind, id] of webhooks)
    await steps.run(`what is left of ${kind}`, CHECKED_WITHIN_MS, () => checkWebhook(kind, id));
  for (const { program } of instances) {
    program.kill('SIGTERM');
    const { code } = await steps.run('a stop', STOPPED_WITHIN_MS, () => program.exited, program.log);
    if (code !== 0) problems.push(`a stop ended with ${code}: ${program.log().slice(-2000)}`);
  }
  for (const fault of [...publisher.faults, ...reader.faults, ...clients.faults]) {
    const [, errorId] = /"errorId":"([0-9a-f-]+)"/.exec(fault) ?? [];
    const said = errorId === undefined ? [] : programs.flatMap((one) => linesWith(one.log(), errorId));
    problems.push([fault, ...said].join('\n'));
  }
  problems.push(...receivers.problems);
  const history: History = {
    webhooks: KINDS.map((name) => ({ name, ordered: orderOf(name), kept: kept.get(name) ?? [] })),
    publishes: publisher.publishes,
    arrivals: receivers.arrivals,
    erasures: [],
    readings: reader.readings,
    tokens: clients.tokens,
    faults: spans,
    paused: true,
  };
  const accepted = history.arrivals.filter((arrival) => arrival.accepted);
  const records = accepted.flatMap(({ webhook, records: all }) =>
    all.map(({ messageId }) => `${webhook} ${messageId}`),
  );
  return {
    seed,
    durationMs,
    faults: counts,
    meanwhile,
    promotedAfterAbsence,
    reconnectedMs,
    problems,
    issued: clients.tokens.length,
    revoked: clients.tokens.filter(({ revokedAt }) => revokedAt !== null).length,
    acknowledged: acknowledged(),
    records: records.length,
    repeats: records.length - new Set(records).size,
    read: reader.readings.reduce((all, one) => all + one.records.length, 0),
    replies: reader.readings.length,
    violations: violations(history),
  };
}

function linesWith(log: string, text: string): string[] {
  return log.split('\n').filter((line) => line.includes(text));
}

/** Reads again after a 503, as every client may: a database that just came back can still be slow on a busy machine. */
function patient(client: ApiClient): ApiClient {
  const get: ApiClient['get'] = async (path, headers) => {
    const giveUpAt = performance.now() + CLIENTS_WITHIN_MS;
    for (;;) {
      const reply = await client.get<never>(path, headers);
      if (reply.status !== 503 || performance.now() > giveUpAt) return reply;
      await sleep(READ_AGAIN_MS);
    }
  };
  return { ...client, get };
}

async function subscribe(
  admin: ApiClient,
  receivers: Awaited<ReturnType<typeof startReceivers>>,
): Promise<ReadonlyMap<Kind, string>> {
  await makeEventType(admin, TYPE);
  const made = new Map<Kind, string>();
  for (const kind of KINDS) {
    const { secrets, ...rest } = receivers.add(kind);
    const endpoint = await makeEndpoint(admin, { ...rest, secret: secrets[0] ?? '' }, {});
    const webhook = await makeWebhook(admin, endpoint, [TYPE], {
      name: kind,
      ordered: orderOf(kind),
      // In order, one request waits for the one before. Batches of 5 fell behind publishers who take all the processor has.
      maxBatchRecords: kind === 'plain' ? 1 : orderOf(kind) === false ? 50 : 20,
      standardWebhooks: kind === 'standard',
    });
    await startWebhook(admin, webhook);
    made.set(kind, webhook.id);
  }
  return made;
}

type Means = {
  readonly servers: Servers;
  readonly steps: Steps;
  /** Resolves when every instance issues tokens after a promotion. */
  readonly promoted: () => Promise<void>;
  readonly start: (env: Instance['env']) => Promise<{ program: Program; announced: { url: string } }>;
  readonly below: (end: number) => number;
  /** The faults while the standby is away; each in turn. */
  readonly absence: () => Absent;
};
type Absent = { readonly what: Meanwhile; readonly promotes: boolean };

/** Resolves when the fault is over. */
async function happen(fault: Fault, instance: Instance, means: Means): Promise<void> {
  const { servers, start, below, promoted, steps } = means;
  if (fault === 'kill' || fault === 'stop') {
    instance.program.kill(fault === 'kill' ? 'SIGKILL' : 'SIGTERM');
    await steps.run('the end of an instance', STOPPED_WITHIN_MS, () => instance.program.exited, instance.program.log);
    const { program, announced } = await start(instance.env);
    Object.assign(instance, { program, url: announced.url });
  } else if (fault === 'pause') {
    instance.program.kill('SIGSTOP');
    await sleep(below(PAUSED_MAX_MS));
    instance.program.kill('SIGCONT');
  } else if (fault === 'crash') await servers.primary().crash();
  else if (fault === 'failover') await servers.failOver(promoted);
  else if (fault === 'network') await servers.cutNetwork(below(CUT_MAX_MS));
  else if (fault === 'pooler') await servers.pooler.restart();
  else if (fault === 'connections') await endConnections(servers.primary(), below);
  else await loseStandby(fault.replace('standby ', '') as Absence, means);
}

/** Takes the standby away for a time. Then it comes back, or the primary is lost and it takes over. */
async function loseStandby(how: Absence, { servers, below, promoted, absence }: Means): Promise<void> {
  const { what, promotes } = absence();
  await servers.takeStandbyAway(how);
  await sleep(below(AWAY_MAX_MS));
  const end = { ended: 'pg_terminate_backend', cancelled: 'pg_cancel_backend' } as const;
  if (what === 'crash') await servers.primary().crash();
  else if (what !== 'nothing')
    await runAt(servers.primary(), `SELECT ${end[what]}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`);
  await sleep(below(AWAY_AFTER_MAX_MS));
  if (promotes) await servers.failOver(promoted, how);
  else await servers.giveStandbyBack(how);
}

/** Ends a random half of the connections of the instances. */
async function endConnections(cluster: Cluster, below: Means['below']): Promise<void> {
  const [found] = await runAt(
    cluster,
    'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename IS NOT NULL',
  );
  const chosen = (found?.rows ?? []).filter(() => below(2) === 0).map(({ pid }) => Number(pid));
  await runAt(cluster, ...chosen.map((pid) => `SELECT pg_terminate_backend(${pid})`));
}

function issuesToken(url: string, credentials: FirstCredentials): Promise<boolean> {
  return tokenFor(url, credentials).then(
    () => true,
    () => false,
  );
}

/** The counts as a person reads them. */
export function clusterReportText({
  seed,
  durationMs,
  faults,
  violations: broken,
  problems,
  ...counts
}: ClusterReport): string {
  const { acknowledged, records, repeats, read, replies, issued, revoked, reconnectedMs } = counts;
  const kinds = [
    ...(['lost', 'reordered', 'gap', 'duplicate', 'repeated', 'unread', 'unknown', 'revoked', 'refused'] as const),
  ];
  const found = kinds.map((kind) => `${kind} ${broken.filter((one) => one.kind === kind).length}`).join(', ');
  return [
    `seed ${seed}, ${Math.round(durationMs / 1000)} s, ${INSTANCES} instances`,
    `faults: ${FAULTS.map((fault) => `${fault} ${faults[fault]}`).join(', ')}`,
    `while the standby was away: ${MEANWHILE.map((what) => `${what} ${counts.meanwhile[what]}`).join(', ')}; ` +
      `promoted then: ${counts.promotedAfterAbsence}`,
    `${acknowledged} events acknowledged; ${issued} tokens issued, ${revoked} of them revoked and tried elsewhere`,
    `${records} records accepted, ${repeats} of them repeats; ${read} records read again in ${replies} replies`,
    'from a promotion until an instance issues tokens again: ' +
      `${reconnectedMs.length === 0 ? 'none' : `at most ${Math.max(...reconnectedMs)} ms (${reconnectedMs.join(', ')})`}`,
    `broken promises: ${found}; other problems: ${problems.length}`,
    ...broken.slice(0, 20).map(({ kind, detail }) => `  ${kind}: ${detail}`),
    ...problems.slice(0, 20).map((problem) => `  ${problem.slice(0, 600)}`),
    '',
  ].join('\n');
}
