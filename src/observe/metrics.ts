/** The metrics in Prometheus's text format: those of a service, and those of the process, which all its services share. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ObserveSettled } from '../delivery/settle.ts';
import type { SettledBatch } from '../domain/batch.ts';
import type { ObserveStep } from '../housekeeping/scheduler.ts';
import type { Clock } from '../kernel/ids.ts';
import { VERSION } from '../kernel/version.ts';
import type { InstanceStore } from '../store/port/instances.ts';
import type { QueueStore } from '../store/port/overview.ts';
import { standardError } from './log-destination.ts';
import { COUNTERS, GAUGES, HISTOGRAMS } from './metric-names.ts';
import type { ObserveRequest } from './requests.ts';

/** Webhooks with their own series in the metrics; all others share one. */
export const METRICS_WEBHOOKS_MAX = 200;

export type Metrics = {
  readonly contentType: string;
  /** The current metrics. Reads the webhooks' progress once. */
  render(): Promise<string>;
  readonly observeRequest: ObserveRequest;
  /** The number of requests answered so far. */
  answeredRequests(): number;
  readonly observeSettled: ObserveSettled;
  readonly observeStep: ObserveStep;
};

type Dependencies = {
  readonly queues: QueueStore;
  readonly clock: Clock;
  /** Null on SQLite, which has no metrics of instances. */
  readonly instances?: Pick<InstanceStore, 'list' | 'held' | 'database'> | null;
};

export function createMetrics({ queues, clock, instances = null }: Dependencies): Metrics {
  const own = new Registry();
  const registers = [own];
  const build = new Gauge({ ...GAUGES.build, registers });
  build.set({ version: VERSION }, 1);

  const requests = createRequestMetrics();
  const tokens = new Counter({ ...COUNTERS.tokens, registers });
  const refusals = new Counter({ ...COUNTERS.refusals, registers });
  const deliveries = new Counter({ ...COUNTERS.deliveries, registers });
  const attemptSeconds = new Histogram({ ...HISTOGRAMS.attemptSeconds, registers });
  const attemptErrors = new Counter({ ...COUNTERS.attemptErrors, registers });
  const stepSeconds = new Histogram({ ...HISTOGRAMS.stepSeconds, registers });
  const housekeptRows = new Counter({ ...COUNTERS.housekeptRows, registers });
  const webhooks = new Gauge({ ...GAUGES.webhooks, registers });
  const queueRecords = new Gauge({ ...GAUGES.queueRecords, registers });
  const oldestSeconds = new Gauge({ ...GAUGES.oldestSeconds, registers });
  new Counter({
    ...COUNTERS.droppedLogLines,
    registers,
    collect() {
      this.reset();
      this.inc(standardError.droppedLines());
    },
  });
  const readInstances = instances === null ? async () => {} : measureInstances(own, instances, clock);
  let answered = 0;
  ofProcess ??= measureProcess();
  const registry = Registry.merge([ofProcess, own]);

  /** Webhooks with their own label. Bounded, so that the number of series is. */
  const labelled = new Set<string>();
  /** Starts the series at 0: if one started with its first dead record, Prometheus' `increase` would not see that record. */
  const beginAtZero = (webhook: string): void => {
    for (const outcome of OUTCOMES) deliveries.inc({ webhook, outcome }, 0);
  };
  const labelOf = (webhookId: string): string => {
    if (labelled.has(webhookId)) return webhookId;
    if (labelled.size >= METRICS_WEBHOOKS_MAX) return OTHER;
    labelled.add(webhookId);
    beginAtZero(webhookId);
    if (labelled.size === METRICS_WEBHOOKS_MAX) beginAtZero(OTHER);
    return webhookId;
  };

  const readQueues = async (): Promise<void> => {
    const now = clock();
    const { queues: found, otherRecords } = await queues.read(METRICS_WEBHOOKS_MAX);
    const known = new Set(found.map(({ webhookId }) => webhookId));
    for (const webhook of labelled) {
      if (known.has(webhook)) continue;
      labelled.delete(webhook);
      for (const outcome of OUTCOMES) deliveries.remove({ webhook, outcome });
    }
    for (const gauge of [webhooks, queueRecords, oldestSeconds]) gauge.reset();
    for (const { webhookId, name, state, records, oldestAt } of found) {
      const webhook = labelOf(webhookId);
      webhooks.set({ webhook, name, state }, 1);
      queueRecords.set({ webhook }, records);
      oldestSeconds.set({ webhook }, records === 0 || oldestAt === null ? 0 : Math.max(0, now - oldestAt) / 1000);
    }
    if (otherRecords > 0) queueRecords.inc({ webhook: OTHER }, otherRecords);
  };

  return {
    contentType: registry.contentType,
    render: async () => {
      await Promise.all([readQueues(), readInstances()]);
      return `${await registry.metrics()}\n${requests.render()}`;
    },
    answeredRequests: () => answered,
    observeRequest: (request) => {
      answered += 1;
      requests.observe(request);
      const { metered, refusal } = request;
      if (metered === 'token') tokens.inc({ result: refusal ?? 'issued' });
      else if (refusal !== null && GATE_REFUSALS.has(refusal)) refusals.inc({ reason: refusal });
    },
    observeSettled: (webhookId, { batch, fate, attempt }) => {
      if (batch !== null && fate !== null) {
        const webhook = labelOf(webhookId);
        deliveries.inc({ webhook, outcome: fate.kind }, batch.lastOffset - batch.firstOffset + 1);
      }
      if (attempt === null) return;
      const { kind, errorClass, timings } = attempt;
      const outcome = errorClass === null ? 'delivered' : 'failed';
      if (timings.totalMs !== null) attemptSeconds.observe({ kind, outcome }, timings.totalMs / 1000);
      if (errorClass !== null) attemptErrors.inc({ class: errorClass });
    },
    observeStep: (job, { rows, took }) => {
      housekeptRows.inc({ task: job }, rows);
      stepSeconds.observe((took.statementsMs + took.commitMs) / 1000);
    },
  };
}

/** Returns the function that reads the metrics of the instances and of their database. */
function measureInstances(
  register: Registry,
  store: NonNullable<Dependencies['instances']>,
  clock: Clock,
): () => Promise<void> {
  const registers = [register];
  const count = new Gauge({ ...GAUGES.instances, registers });
  const held = new Gauge({ ...GAUGES.webhooksHeld, registers });
  const roundTrip = new Gauge({ ...GAUGES.roundTrip, registers });
  const clockDifference = new Gauge({ ...GAUGES.clockDifference, registers });
  const standbyLag = new Gauge({ ...GAUGES.standbyLag, registers });
  const oldestSnapshot = new Gauge({ ...GAUGES.oldestSnapshot, registers });
  const partitions = new Gauge({ ...GAUGES.partitions, registers });
  return async () => {
    const [all, database] = await Promise.all([store.list(), store.database()]);
    const alive = all.filter((one) => one.alive).length;
    count.set({ state: 'alive' }, alive);
    count.set({ state: 'expired' }, all.length - alive);
    held.set(store.held());
    roundTrip.set(database.roundTripMs / 1000);
    clockDifference.set(database.clockAheadMs / 1000);
    standbyLag.reset();
    for (const { name, isSynchronous, lagMs } of database.standbys) {
      if (lagMs !== null) standbyLag.set({ standby: name, synchronous: String(isSynchronous) }, lagMs / 1000);
    }
    oldestSnapshot.set(database.oldestSnapshotMs === null ? Number.NaN : database.oldestSnapshotMs / 1000);
    partitions.set((database.partitionsEndAt - clock()) / 86_400_000);
  };
}

const { requests: REQUESTS } = COUNTERS;
const { requestSeconds: SECONDS } = HISTOGRAMS;

type Measured = {
  /** Answers by method and status. */
  readonly answers: Map<string, Map<number, number>>;
  /** The durations up to each bound and above the one before. The last is of those above all bounds. */
  readonly buckets: number[];
  sum: number;
};

type RequestMetrics = {
  readonly observe: ObserveRequest;
  render(): string;
};

/**
 * Counts and durations of requests in Prometheus's text format. Every request is counted, and prom-client takes 1.5 µs for it, a twentieth
 * of a guarded call: it makes a text of all labels each time.
 */
function createRequestMetrics(): RequestMetrics {
  const routes = new Map<string | null, Measured>();
  const measuredOf = (route: string | null): Measured => {
    let found = routes.get(route);
    if (found === undefined) {
      found = { answers: new Map(), buckets: [...SECONDS.buckets.map(() => 0), 0], sum: 0 };
      routes.set(route, found);
    }
    return found;
  };
  return {
    observe: ({ route, method, status, seconds }) => {
      const measured = measuredOf(route);
      const name = METHODS.has(method) ? method : OTHER;
      const statuses = measured.answers.get(name);
      if (statuses === undefined) measured.answers.set(name, new Map([[status, 1]]));
      else statuses.set(status, (statuses.get(status) ?? 0) + 1);
      measured.sum += seconds;
      const bucket = bucketOf(seconds);
      measured.buckets[bucket] = (measured.buckets[bucket] ?? 0) + 1;
    },
    render: () => {
      const all = Array.from(routes, ([route, measured]) => ({ route: route ?? 'unknown', measured }));
      const counts = all.flatMap(({ route, measured }) => countsOf(route, measured));
      const seconds = all.flatMap(({ route, measured }) => secondsOf(route, measured));
      return [...headOf(REQUESTS, 'counter'), ...counts, '', ...headOf(SECONDS, 'histogram'), ...seconds, ''].join(
        '\n',
      );
    },
  };
}

function bucketOf(seconds: number): number {
  const { buckets: bounds } = SECONDS;
  let at = 0;
  while (at < bounds.length && seconds > (bounds[at] as number)) at += 1;
  return at;
}

function headOf({ name, help }: { readonly name: string; readonly help: string }, type: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function countsOf(route: string, { answers }: Measured): string[] {
  return Array.from(answers, ([method, statuses]) =>
    Array.from(
      statuses,
      ([status, count]) => `${REQUESTS.name}{route="${route}",method="${method}",status="${status}"} ${count}`,
    ),
  ).flat();
}

/** Each bucket of the format has the ones before too. */
function secondsOf(route: string, { buckets, sum }: Measured): string[] {
  let count = 0;
  const upTo = buckets.map((durations, at) => {
    count += durations;
    return `${SECONDS.name}_bucket{le="${SECONDS.buckets[at] ?? '+Inf'}",route="${route}"} ${count}`;
  });
  return [...upTo, `${SECONDS.name}_sum{route="${route}"} ${sum}`, `${SECONDS.name}_count{route="${route}"} ${count}`];
}

/** The metrics of the process cannot be stopped. They start with the first service and serve all others. */
let ofProcess: Registry | null = null;

function measureProcess(): Registry {
  const register = new Registry();
  collectDefaultMetrics({ register });
  // Gauges with a counter's suffix, which `promtool check metrics` refuses. Those without it have the same values by type.
  for (const kind of ['handles', 'requests', 'resources']) register.removeSingleMetric(`nodejs_active_${kind}_total`);
  return register;
}

const OTHER = 'other';
/** All others are counted together, because clients can invent them. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
export const GATE_REFUSALS: ReadonlySet<string> = new Set([
  'unauthorized',
  'invalid_token',
  'insufficient_scope',
  'insufficient_permission',
]);
/** The outcomes of a batch. */
const OUTCOMES: readonly NonNullable<SettledBatch['fate']>['kind'][] = [
  'delivered',
  'retry',
  'halve',
  'release',
  'dead',
  'discarded',
];
