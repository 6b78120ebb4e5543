/** The metrics of `GET /metrics`: names, labels, buckets and help texts. docs/reference/metrics.md is generated from this. */

/** Seconds: from answers from memory up to the longest timeout of an attempt. */
const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];
const ATTEMPT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const STEP_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1];

/** Counters start at 0 with the process. */
export const COUNTERS = {
  requests: {
    name: 'sallyport_http_requests_total',
    help: 'Requests answered, by route and status.',
    labelNames: ['route', 'method', 'status'],
  },
  tokens: {
    name: 'sallyport_token_requests_total',
    help: 'Token requests: issued, or the error code.',
    labelNames: ['result'],
  },
  refusals: {
    name: 'sallyport_gate_refusals_total',
    help: 'Calls that the gate refused, by reason.',
    labelNames: ['reason'],
  },
  deliveries: {
    name: 'sallyport_deliveries_total',
    help:
      'Records by webhook and outcome of an attempt: delivered (in mode pull: acknowledged), dead and discarded ' +
      'are final; retry, halve and release are not.',
    labelNames: ['webhook', 'outcome'],
  },
  attemptErrors: {
    name: 'sallyport_attempt_errors_total',
    help: 'Failed attempts by class of error.',
    labelNames: ['class'],
  },
  housekeptRows: {
    name: 'sallyport_housekeeping_rows_total',
    help: 'Rows that housekeeping deleted, warned about, or released, by task.',
    labelNames: ['task'],
  },
  droppedLogLines: {
    name: 'sallyport_log_lines_dropped_total',
    help: 'Log lines that were dropped because the reader is slower than the service, or the disk is full.',
    labelNames: [],
  },
} as const;

export const GAUGES = {
  build: {
    name: 'sallyport_build_info',
    help: 'The running version. Always 1.',
    labelNames: ['version'],
  },
  webhooks: {
    name: 'sallyport_webhook_info',
    help: 'A webhook with its name and state. Always 1.',
    labelNames: ['webhook', 'name', 'state'],
  },
  queueRecords: {
    name: 'sallyport_webhook_queue_records',
    help: 'Pending records, including those being sent and those waiting for a retry. In mode pull: not acknowledged yet.',
    labelNames: ['webhook'],
  },
  oldestSeconds: {
    name: 'sallyport_webhook_oldest_pending_seconds',
    help: 'The age of the oldest pending record, also while the webhook is stopped; 0 without pending records.',
    labelNames: ['webhook'],
  },
  instances: {
    name: 'sallyport_instances',
    help: 'Instances on the PostgreSQL database, by state: alive, or expired and not yet replaced.',
    labelNames: ['state'],
  },
  webhooksHeld: {
    name: 'sallyport_webhooks_held',
    help: 'The webhooks that this instance sends for.',
    labelNames: [],
  },
  roundTrip: {
    name: 'sallyport_database_round_trip_seconds',
    help: 'The time of a query that does nothing.',
    labelNames: [],
  },
  clockDifference: {
    name: 'sallyport_database_clock_difference_seconds',
    help: 'The clock of this machine minus the clock of the database.',
    labelNames: [],
  },
  standbyLag: {
    name: 'sallyport_database_standby_lag_seconds',
    help: 'How far the replay of a standby is behind. `synchronous` says whether commits wait for it.',
    labelNames: ['standby', 'synchronous'],
  },
  oldestSnapshot: {
    name: 'sallyport_database_oldest_snapshot_seconds',
    help: 'The age of the oldest transaction that keeps old versions of rows; 0 without one, NaN if the role lacks pg_read_all_stats.',
    labelNames: [],
  },
  partitions: {
    name: 'sallyport_database_partitions_days',
    help: 'The days until the first table runs out of partitions. Housekeeping keeps it above 14.',
    labelNames: [],
  },
} as const;

export const HISTOGRAMS = {
  requestSeconds: {
    name: 'sallyport_http_request_duration_seconds',
    help: 'The time from the head of a request to its answer.',
    labelNames: ['route'] as const,
    buckets: REQUEST_BUCKETS,
  },
  attemptSeconds: {
    name: 'sallyport_attempt_duration_seconds',
    help: 'The duration of attempts, including the wait for a connection.',
    labelNames: ['kind', 'outcome'] as const,
    buckets: ATTEMPT_BUCKETS,
  },
  stepSeconds: {
    name: 'sallyport_housekeeping_step_duration_seconds',
    help: 'The time that steps of housekeeping occupied the database.',
    labelNames: [] as const,
    buckets: STEP_BUCKETS,
  },
};
