/** The bounds of deliveries (contract §5): requests, claims, settlements, and the tokens of customers' authorization servers. */

/** The most that a record adds to a batch besides its data: ids, names and punctuation. */
export const RECORD_OVERHEAD_BYTES = 1024;
/** The cost of a message besides its records (headers, signature, request), as bytes of records that take as long. */
export const MESSAGE_OVERHEAD_BYTES: number = 8 * 1024;
/**
 * Requests in progress, in all and to one endpoint. A request that is unanswered for `DELIVERY_LINGERS_MS` no longer counts towards the
 * first bound, up to `DELIVERIES_IN_FLIGHT_IN_ALL`, each of which may hold 1 MiB: slow endpoints cannot use up all slots.
 */
export const DELIVERIES_IN_FLIGHT = 64;
export const DELIVERIES_IN_FLIGHT_PER_ENDPOINT = 8;
export const DELIVERY_LINGERS_MS = 1000;
export const DELIVERIES_IN_FLIGHT_IN_ALL = 256;
/** Of all these, slow ones included, for one customer. */
export const DELIVERIES_IN_FLIGHT_PER_CUSTOMER = 64;
/** Test deliveries in progress, in all and of one customer, and the `Retry-After` of the refusal of one more. */
export const TEST_DELIVERIES_IN_FLIGHT = 16;
export const TEST_DELIVERIES_PER_CUSTOMER = 4;
/** Of one read of records: bytes of data, as of a batch, and how many records: at most, and if the reader does not say it. */
export const RECORDS_BYTES: number = 1024 * 1024;
export const RECORDS_MAX = 1000;
export const RECORDS_DEFAULT = 100;
/**
 * How long a reader may wait for the next record, how many readers may wait, and how often a record of another process is looked for. One
 * look, at most every `RECORDS_LOOK_EVERY_MS`, serves all readers. It is followed by a pause of `RECORDS_LOOK_SHARE` times its length.
 */
export const RECORDS_WAIT_MAX_SECONDS = 30;
export const RECORD_READERS_MAX = 1000;
/** Of these, readers of one customer. */
export const RECORDS_WAITING_PER_CUSTOMER = 100;
/** Bodies of reads that are made at a time, of one customer, and how many reads of it may wait for that. */
export const RECORDS_READING = 4;
export const RECORDS_READING_PER_CUSTOMER = 2;
export const RECORDS_READS_WAITING_PER_CUSTOMER = 100;
export const RECORDS_LOOK_MS = 100;
export const RECORDS_LOOK_EVERY_MS = 5;
export const RECORDS_LOOK_SHARE = 10;
export const TEST_DELIVERIES_RETRY_SECONDS = 5;
/** The interval between two looks at the outbox without a wake-up; also bounds how late a retry begins. */
export const POLL_MS = 250;
/**
 * The least interval between two looks at the outbox: under load, one look claims for several webhooks, and more records of each. With 5
 * ms, PostgreSQL took 15 % more for an event at 300 events a second.
 */
export const LOOK_EVERY_MS = 10;
/** Webhooks looked at in one round. */
export const WEBHOOKS_PER_ROUND = 64;
/** Bytes that are read, encoded, hashed and signed in one turn of the event loop: 1 MiB takes 5 to 10 ms. */
export const DELIVERY_BYTES_PER_TURN: number = 512 * 1024;
/** The same while requests are answered, and for `CALLED_LATELY_MS` afterwards: four messages of one record, or one larger message. */
export const DELIVERY_BYTES_PER_CALLED_TURN: number = 32 * 1024;
export const CALLED_LATELY_MS = 10;
/**
 * If this many requests are answered between two turns of deliveries, a queue of requests is waiting, and the next turn is delayed by
 * `CALLED_PAUSE_MS`. With deliveries of one record, 44 % more requests were answered and 7 % fewer records delivered; twice the pause
 * gained no more.
 */
export const CALLS_QUEUED = 8;
export const CALLED_PAUSE_MS = 4;
/**
 * Webhooks whose work is claimed in one turn of the event loop. On PostgreSQL they share a commit. With 4, an event took it 3 % more time.
 */
export const CLAIMS_AT_ONCE = 8;
/** Waiting records whose sizes are read for one claim. */
export const WAITING_READ_MAX = 2000;
/** Batches claimed ahead for one webhook, and about how many for all together; each may always have one. */
export const CLAIMED_PER_WEBHOOK = 256;
export const CLAIMED_IN_ALL = 4096;
/** Outcomes of one webhook that are written in one transaction. */
export const SETTLED_AT_ONCE_MAX = 128;
/**
 * The interval between two writes of outcomes that nothing waits for. With 5 ms, publishing and delivering together took 7 % more CPU time
 * (scripts/bench/cost.ts).
 */
export const SETTLE_EVERY_MS = 20;
/** The pause of a webhook at its limit, if no settlement wakes it earlier. */
export const FULL_PAUSE_MS = 5000;
/** The pause of a webhook whose work could not be claimed. */
export const UNCLAIMABLE_PAUSE_MS = 30_000;
/** Webhooks whose settings are cached with their secrets unsealed. */
export const TARGETS_CACHED = 1000;
/** The margin of a lease beyond the longest time of its attempt and those before it. */
export const LEASE_MARGIN_MS = 30_000;
/** After this many failures in a row an endpoint is probed: first after `PROBE_FIRST_MS`, then doubling up to `PROBE_MAX_MS`. */
export const PROBES_UNPACED = 10;
export const PROBE_FIRST_MS = 1000;
export const PROBE_MAX_MS = 30_000;
/** The pause of a webhook after an attempt that the service could not make. Such an attempt does not count, so it has no backoff. */
export const FAULT_PAUSE_MS = 10_000;
/** Refusals in a row after which writing an outcome pauses, and the pause, which also follows a failure of the store. */
export const SETTLE_REFUSED_ROUNDS = 20;
export const SETTLE_FAILED_PAUSE_MS = 500;
/** `webhook.running` and `webhook.failing` events of one webhook in a minute, and webhooks whose events are counted. */
export const STATE_EVENTS_PER_MINUTE = 60;
export const STATE_EVENT_WEBHOOKS = 10_000;
/** Bodies of about this size or more are made in a thread, which ends when it is idle for `LARGE_BODIES_IDLE_MS`. */
export const LARGE_BODY_BYTES: number = 64 * 1024;
export const LARGE_BODIES_IDLE_MS = 60_000;
/** Large bodies that the thread makes at a time, while one is compressed or read. The others wait outside it, and customers take turns. */
export const LARGE_BODIES_AT_ONCE = 4;
/** A thread that does not answer for this long is ended. The largest body, compressed and encrypted, takes 100 ms on a slow machine. */
export const LARGE_BODY_ANSWER_MS = 30_000;
/** Threads that may end while they make one body; then the attempt fails. */
export const LARGE_BODY_TRIES = 2;
/** A look for work that takes longer than this is stuck. */
export const LOOK_LIMIT_MS = 30_000;

// Tokens from customers' authorization servers (contract §5).
export const OAUTH_TIMEOUT_MS = 10_000;
/** A token is renewed this long before its end, or a tenth of its lifetime before if that is less. */
export const OAUTH_EARLY_MS = 60_000;
export const OAUTH_CACHED = 10_000;
/** How much of the token endpoint's error response is quoted. */
export const OAUTH_ANSWER_SHOWN_LENGTH = 500;
