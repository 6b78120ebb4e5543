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

// Metrics.
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

  const requests = new Counter({ ...COUNTERS.requests, registers });
  const requestSeconds = new Histogram({ ...HISTOGRAMS.requestSeconds, registers });
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
      return registry.metrics();
    },
    answeredRequests: () => answered,
    observeRequest: ({ method, route, metered, status, refusal, seconds }) => {
      answered += 1;
      const labels = { route: route ?? 'unknown' };
      requests.inc({ ...labels, method: METHODS.has(method) ? method : 'other', status });
      requestSeconds.observe(labels, seconds);
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
