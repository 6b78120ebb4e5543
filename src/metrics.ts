/** What the service counts and measures, in Prometheus's text format: one record per service, and one of the process for all in it. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ObserveSettled } from './delivery/settle.ts';
import type { ObserveStep } from './housekeeping/scheduler.ts';
import { TOKEN_PATH } from './http/routes/token.ts';
import type { ObserveRequest } from './http/server.ts';
import type { Clock } from './ids.ts';
import { METRICS_WEBHOOKS_MAX } from './limits.ts';
import type { QueueStore } from './store/queues.ts';
import type { SettledBatch } from './store/settlement.ts';
import { VERSION } from './version.ts';

export type Metrics = {
  readonly contentType: string;
  /** Everything as it is now. Costs one read of the webhooks' progress. */
  render(): Promise<string>;
  readonly observeRequest: ObserveRequest;
  readonly observeSettled: ObserveSettled;
  readonly observeStep: ObserveStep;
};

type Dependencies = { readonly queues: QueueStore; readonly clock: Clock };

/** Seconds: from answers out of memory up to the longest time-out of an attempt. */
const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];
const ATTEMPT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const STEP_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1];

export function createMetrics({ queues, clock }: Dependencies): Metrics {
  const own = new Registry();
  const registers = [own];
  const build = new Gauge({ ...BUILD, registers });
  build.set({ version: VERSION }, 1);

  const requests = new Counter({ ...REQUESTS, registers });
  const requestSeconds = new Histogram({ ...REQUEST_SECONDS, registers });
  const tokens = new Counter({ ...TOKENS, registers });
  const refusals = new Counter({ ...REFUSALS, registers });
  const deliveries = new Counter({ ...DELIVERIES, registers });
  const attemptSeconds = new Histogram({ ...ATTEMPT_SECONDS, registers });
  const attemptErrors = new Counter({ ...ATTEMPT_ERRORS, registers });
  const stepSeconds = new Histogram({ ...STEP_SECONDS, registers });
  const housekeptRows = new Counter({ ...HOUSEKEPT_ROWS, registers });
  const webhooks = new Gauge({ ...WEBHOOKS, registers });
  const queueRecords = new Gauge({ ...QUEUE_RECORDS, registers });
  const oldestSeconds = new Gauge({ ...OLDEST_SECONDS, registers });
  ofProcess ??= measureProcess();
  const registry = Registry.merge([ofProcess, own]);

  /** Webhooks with a label of their own. However many there are, and come and go, the series stay bounded. */
  const labelled = new Set<string>();
  const labelOf = (webhookId: string): string => {
    if (!labelled.has(webhookId) && labelled.size >= METRICS_WEBHOOKS_MAX) return OTHER;
    labelled.add(webhookId);
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
      await readQueues();
      return registry.metrics();
    },
    observeRequest: ({ method, route, status, refusal, seconds }) => {
      const labels = { route: route ?? 'unknown' };
      requests.inc({ ...labels, method: METHODS.has(method) ? method : 'other', status: String(status) });
      requestSeconds.observe(labels, seconds);
      if (route === TOKEN_PATH) tokens.inc({ result: refusal ?? 'issued' });
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
    observeStep: (job, { rows, held }) => {
      housekeptRows.inc({ task: job }, rows);
      stepSeconds.observe((held.statementsMs + held.commitMs) / 1000);
    },
  };
}

/** What measures the process cannot be ended: it is begun with the first service, and serves every other one. */
let ofProcess: Registry | null = null;

function measureProcess(): Registry {
  const register = new Registry();
  collectDefaultMetrics({ register });
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
/** What may become of a batch. */
const OUTCOMES: readonly NonNullable<SettledBatch['fate']>['kind'][] = [
  'delivered',
  'retry',
  'halve',
  'release',
  'dead',
  'discarded',
];

const BUILD = { name: 'sallyport_build_info', help: 'The version that runs.', labelNames: ['version'] as const };
const REQUESTS = {
  name: 'sallyport_http_requests_total',
  help: 'Requests answered, by route and status.',
  labelNames: ['route', 'method', 'status'] as const,
};
const REQUEST_SECONDS = {
  name: 'sallyport_http_request_duration_seconds',
  help: 'From the head of a request to its answer.',
  labelNames: ['route'] as const,
  buckets: REQUEST_BUCKETS,
};
const TOKENS = {
  name: 'sallyport_token_requests_total',
  help: 'Token requests: issued, or the reason of the refusal.',
  labelNames: ['result'] as const,
};
const REFUSALS = {
  name: 'sallyport_gate_refusals_total',
  help: 'Calls that the gate refused, by reason.',
  labelNames: ['reason'] as const,
};
const DELIVERIES = {
  name: 'sallyport_deliveries_total',
  help: 'Records by webhook and by what an attempt made of them: delivered, dead or discarded for good; retry, halve or release for now.',
  labelNames: ['webhook', 'outcome'] as const,
};
const ATTEMPT_SECONDS = {
  name: 'sallyport_attempt_duration_seconds',
  help: 'How long attempts took, waiting for a connection included.',
  labelNames: ['kind', 'outcome'] as const,
  buckets: ATTEMPT_BUCKETS,
};
const ATTEMPT_ERRORS = {
  name: 'sallyport_attempt_errors_total',
  help: 'Failed attempts by class of error.',
  labelNames: ['class'] as const,
};
const STEP_SECONDS = {
  name: 'sallyport_housekeeping_step_duration_seconds',
  help: 'How long steps of housekeeping held the database.',
  buckets: STEP_BUCKETS,
};
const HOUSEKEPT_ROWS = {
  name: 'sallyport_housekeeping_rows_total',
  help: 'What housekeeping took away, or warned of, by task.',
  labelNames: ['task'] as const,
};
const WEBHOOKS = {
  name: 'sallyport_webhook_info',
  help: 'A webhook with its name and state; 1.',
  labelNames: ['webhook', 'name', 'state'] as const,
};
const QUEUE_RECORDS = {
  name: 'sallyport_webhook_queue_records',
  help: 'Records that wait, those under way and those waiting for a retry included.',
  labelNames: ['webhook'] as const,
};
const OLDEST_SECONDS = {
  name: 'sallyport_webhook_oldest_pending_seconds',
  help: 'The age of the oldest record that waits; 0 when none does.',
  labelNames: ['webhook'] as const,
};
