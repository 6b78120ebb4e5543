/** What `GET /metrics` tells: names, labels and buckets, each with the sentence that says what it is. docs/reference/ is made from it. */

/** Seconds: from answers out of memory up to the longest time-out of an attempt. */
const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];
const ATTEMPT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const STEP_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1];

/** Each begins at 0 with the process. */
export const COUNTERS = {
  requests: {
    name: 'sallyport_http_requests_total',
    help: 'Requests answered, by route and status.',
    labelNames: ['route', 'method', 'status'],
  },
  tokens: {
    name: 'sallyport_token_requests_total',
    help: 'Token requests: issued, or the reason of the refusal.',
    labelNames: ['result'],
  },
  refusals: {
    name: 'sallyport_gate_refusals_total',
    help: 'Calls that the gate refused, by reason.',
    labelNames: ['reason'],
  },
  deliveries: {
    name: 'sallyport_deliveries_total',
    help: 'Records by webhook and by what an attempt made of them: delivered, dead or discarded for good; retry, halve or release for now.',
    labelNames: ['webhook', 'outcome'],
  },
  attemptErrors: {
    name: 'sallyport_attempt_errors_total',
    help: 'Failed attempts by class of error.',
    labelNames: ['class'],
  },
  housekeptRows: {
    name: 'sallyport_housekeeping_rows_total',
    help: 'What housekeeping took away, warned of, or freed, by task.',
    labelNames: ['task'],
  },
  droppedLogLines: {
    name: 'sallyport_log_lines_dropped_total',
    help: 'Lines of the log that were dropped because whoever reads it is slower than the service, or its disk is full.',
    labelNames: [],
  },
} as const;

export const GAUGES = {
  build: {
    name: 'sallyport_build_info',
    help: 'The version that runs; 1.',
    labelNames: ['version'],
  },
  webhooks: {
    name: 'sallyport_webhook_info',
    help: 'A webhook with its name and state; 1.',
    labelNames: ['webhook', 'name', 'state'],
  },
  queueRecords: {
    name: 'sallyport_webhook_queue_records',
    help: 'Records that wait, those under way and those waiting for a retry included.',
    labelNames: ['webhook'],
  },
  oldestSeconds: {
    name: 'sallyport_webhook_oldest_pending_seconds',
    help: 'The age of the oldest record that waits, also while its webhook is stopped; 0 when none does.',
    labelNames: ['webhook'],
  },
} as const;

export const HISTOGRAMS = {
  requestSeconds: {
    name: 'sallyport_http_request_duration_seconds',
    help: 'From the head of a request to its answer.',
    labelNames: ['route'] as const,
    buckets: REQUEST_BUCKETS,
  },
  attemptSeconds: {
    name: 'sallyport_attempt_duration_seconds',
    help: 'How long attempts took, waiting for a connection included.',
    labelNames: ['kind', 'outcome'] as const,
    buckets: ATTEMPT_BUCKETS,
  },
  stepSeconds: {
    name: 'sallyport_housekeeping_step_duration_seconds',
    help: 'How long steps of housekeeping held the database.',
    labelNames: [] as const,
    buckets: STEP_BUCKETS,
  },
};
