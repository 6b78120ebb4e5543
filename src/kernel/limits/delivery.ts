/** The bounds of deliveries (contract §5): what departs, what is claimed and settled, and the tokens of customers' authorization servers. */

/** What a record adds to a batch beside its data: ids, names and punctuation, never more than this. */
export const RECORD_OVERHEAD_BYTES = 1024;
/** What a message takes beside its records, whatever they are, told in bytes of them: its headers, signature and request. */
export const MESSAGE_OVERHEAD_BYTES: number = 8 * 1024;
/**
 * Requests under way at once, and to one endpoint. Those that linger unanswered for so long do not count among the first, up to so many
 * in all, each of which may hold 1 MiB: slow endpoints cannot use up the whole.
 */
export const DELIVERIES_IN_FLIGHT = 64;
export const DELIVERIES_IN_FLIGHT_PER_ENDPOINT = 8;
export const DELIVERY_LINGERS_MS = 1000;
export const DELIVERIES_IN_FLIGHT_IN_ALL = 256;
/** Test deliveries under way at once, each for as long as its receiver may take, and when who would have one more may try again. */
export const TEST_DELIVERIES_IN_FLIGHT = 16;
export const TEST_DELIVERIES_RETRY_SECONDS = 5;
/** How often the outbox is looked at without being told; also bounds how late a retry begins. */
export const POLL_MS = 250;
/** Webhooks looked at in one round. */
export const WEBHOOKS_PER_ROUND = 64;
/** Payload that is read, written as JSON, hashed and signed in one turn of the event loop: 1 MiB of it takes 5 to 10 ms. */
export const DELIVERY_BYTES_PER_TURN: number = 512 * 1024;
/** The same while requests are answered, and so long after the last one: four messages of one record, or a single larger one. */
export const DELIVERY_BYTES_PER_CALLED_TURN: number = 32 * 1024;
export const CALLED_LATELY_MS = 10;
/**
 * So many requests answered between two departures are a queue of them, and the next departure is put off for so long. Beside deliveries
 * of one record 44 % more requests were answered, in turns of both, and 7 % fewer records delivered; twice as long gained no more.
 */
export const CALLS_QUEUED = 8;
export const CALLED_PAUSE_MS = 4;
/** Webhooks that are claimed for in one turn of the event loop. */
export const CLAIMS_AT_ONCE = 4;
/** Waiting records whose sizes are read for one claim. */
export const WAITING_READ_MAX = 2000;
/** Batches claimed ahead for one webhook, and about how many for all together; each may always have one. */
export const CLAIMED_PER_WEBHOOK = 256;
export const CLAIMED_IN_ALL = 4096;
/** Outcomes of one webhook that are written in one transaction. */
export const SETTLED_AT_ONCE_MAX = 128;
/** Outcomes that nothing waits for are written this often: a commit costs as much as twenty of them. */
export const SETTLE_EVERY_MS = 5;
/** How long a webhook is let be that has all under way that it may: for the case that nothing settled wakes it earlier. */
export const FULL_PAUSE_MS = 5000;
/** How long a webhook is let be whose work could not be read. */
export const UNCLAIMABLE_PAUSE_MS = 30_000;
/** Webhooks whose settings are kept unsealed in memory. */
export const TARGETS_CACHED = 1000;
/** What a lease lasts beyond the time that the attempts before it and its own may take. */
export const LEASE_MARGIN_MS = 30_000;
/** Failures in a row after which an endpoint is tried at a pace; how long after the first of them, doubling up to the last figure. */
export const PROBES_UNPACED = 10;
export const PROBE_FIRST_MS = 1000;
export const PROBE_MAX_MS = 30_000;
/** How long a webhook is let be after an attempt that a fault of ours kept from being made: it counts for nothing, and so has no other pace. */
export const FAULT_PAUSE_MS = 10_000;
/** Rounds of writing outcomes that are refused at once before the store is taken for unwell, and how long it is then let be. */
export const SETTLE_REFUSED_ROUNDS = 20;
export const SETTLE_UNWELL_PAUSE_MS = 500;
/** Events of one webhook's running and failing in a minute, and webhooks whose events are counted. */
export const STATE_NEWS_PER_MINUTE = 60;
export const STATE_NEWS_WEBHOOKS = 10_000;
/** Bodies from about this size on, with all that may go around their records, are made in a thread, which ends once there have been none for so long. */
export const LARGE_BODY_BYTES: number = 64 * 1024;
export const LARGE_BODIES_IDLE_MS = 60_000;
/** Without an answer for so long the thread has died. The largest body, compressed and encrypted, takes it some 100 ms on a slow machine. */
export const LARGE_BODY_ANSWER_MS = 30_000;
/** A look for work that takes longer than this has died. */
export const LOOK_LIMIT_MS = 30_000;

// Tokens from customers' authorization servers (contract §5).
export const OAUTH_TIMEOUT_MS = 10_000;
/** A token is renewed this long before its end, or a tenth of its lifetime before if that is less. */
export const OAUTH_EARLY_MS = 60_000;
export const OAUTH_CACHED = 10_000;
/** How much of a refusal of the token endpoint is quoted in the error. */
export const OAUTH_ANSWER_SHOWN_LENGTH = 500;
