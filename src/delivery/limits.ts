/** Bounds that several files of this folder share. */
import type { SchedulerLimits } from '../domain/batch.ts';

/** How long a stop waits for requests and deliveries in progress. */
export const DRAIN_MS = 8000;

/** The cost of a message besides its records (headers, signature, request), as bytes of records that take as long. */
export const MESSAGE_OVERHEAD_BYTES: number = 8 * 1024;

/**
 * The most requests in progress, in all and to one endpoint. A request that is unanswered for `DELIVERY_LINGERS_MS` no longer counts
 * towards the first bound, up to `DELIVERIES_IN_FLIGHT_IN_ALL`, each of which may hold 1 MiB: slow endpoints cannot use up all slots.
 */
export const DELIVERIES_IN_FLIGHT = 64;
export const DELIVERIES_IN_FLIGHT_PER_ENDPOINT = 8;
const DELIVERY_LINGERS_MS = 1000;
const DELIVERIES_IN_FLIGHT_IN_ALL = 256;
/** The share of one customer in all of these, slow ones included. */
const DELIVERIES_IN_FLIGHT_PER_CUSTOMER = 64;

/** The interval between two looks at the outbox without a wake-up; also bounds how late a retry begins. */
export const POLL_MS = 250;

/**
 * The least interval between two looks at the outbox: under load, one look claims for several webhooks, and more records of each. With 5
 * ms, PostgreSQL took 15 % more for an event at 300 events a second.
 */
export const LOOK_EVERY_MS = 10;

/** Waiting records whose sizes are read for one claim. */
export const WAITING_READ_MAX = 2000;

/** Webhooks whose positions are read together. */
export const POSITIONS_AT_ONCE = 500;

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

/** Batches claimed ahead for one webhook, and about how many for all together; each may always have one. */
export const CLAIMED_PER_WEBHOOK = 256;
const CLAIMED_IN_ALL = 4096;

export const SCHEDULER_LIMITS: SchedulerLimits = {
  perEndpoint: DELIVERIES_IN_FLIGHT_PER_ENDPOINT,
  perCustomer: DELIVERIES_IN_FLIGHT_PER_CUSTOMER,
  inFlight: DELIVERIES_IN_FLIGHT,
  lingersMs: DELIVERY_LINGERS_MS,
  inFlightInAll: DELIVERIES_IN_FLIGHT_IN_ALL,
  claimed: CLAIMED_PER_WEBHOOK,
  claimedInAll: CLAIMED_IN_ALL,
};

/**
 * How often the position of a webhook is written while it moves, and after which time a claimed batch gets a row, so that a position need
 * not wait for it. After a crash, the batches of about this long are read again.
 */
export const POSITION_EVERY_MS = 5000;
export const SLOW_ATTEMPT_MS = 2000;

/**
 * Order by key: batches of one webhook that were passed over and wait in memory, keys whose first rows are read together, and rows that get
 * their keys in one transaction.
 */
export const PARKED_PER_WEBHOOK = 1000;
export const KEYS_AT_ONCE = 500;
export const LABELLED_AT_ONCE = 100;

/** The least time between two looks at all webhooks that have moved, for positions and rows to write. */
export const POSITIONS_PAUSE_MS = 100;

/**
 * Logs whose ends are asked for in one look, for records of other processes, and the least interval between two such looks at more logs.
 */
export const ENDS_PER_LOOK = 1000;
export const ENDS_EVERY_MS = 100;

/** The pause of a webhook whose work could not be claimed. */
export const UNCLAIMABLE_PAUSE_MS = 30_000;

/** A look for work that takes longer than this is stuck. */
export const LOOK_LIMIT_MS = 30_000;

/** A request for a token of a customer's authorization server (contract §5.6). */
export const OAUTH_TIMEOUT_MS = 10_000;
