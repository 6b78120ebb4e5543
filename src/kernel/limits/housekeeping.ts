/** Limits and intervals of housekeeping, which works in the background in small steps. */

/** Target duration of a step on the database. After a longer step the next one is half as large. This keeps steps below 10 ms. */
export const STEP_TARGET_MS = 5;
export const STEP_ROWS_FIRST = 16;
export const STEP_ROWS_MIN = 1;
export const STEP_ROWS_MAX = 4096;
/** Payload deleted per step. Freed pages are overwritten, so large events cost more than one row. */
export const STEP_PAYLOAD_BYTES: number = 256 * 1024;
/** Events in the first step of an erasure. Each also rewrites its neighbours in the file. */
export const ERASURE_FIRST_EVENTS = 4;
/** How long the reply to an erasure waits for its end before it refers to the status. */
export const ERASURE_REPLY_MS = 2000;
/** How often the server looks for erasures that a command began or left unfinished. */
export const ERASURE_LOOK_MS = 1000;
/** Longest pause before trying again to remove old copies of data while another process reads them. */
export const ERASURE_COPY_PAUSE_MS = 2000;
/** How long the status of a finished erasure is kept. */
export const ERASURE_KEPT_MS: number = 90 * 86_400_000;
/** Longest time between reading the records of an attempt and its start, mostly spent waiting for encryption. */
export const ERASURE_UNDER_WAY_MS = 60_000;
/** The pause after a step: this many times its duration, and at least this many milliseconds. */
export const STEP_PAUSE_FACTOR = 4;
export const STEP_PAUSE_MIN_MS = 5;
/** Intervals of the jobs for expired rows, deleted webhooks and retention, and of the check for due jobs. */
export const EXPIRED_EVERY_MS = 60_000;
export const REMOVAL_EVERY_MS = 5000;
export const RETENTION_EVERY_MS = 600_000;
/** How often the partitions of the next weeks are made, where the database needs them. */
export const PARTITIONS_EVERY_MS = 3_600_000;
export const HOUSEKEEPING_LOOK_MS = 1000;
/** How often the last uses of applications are written, and how many per statement at a stop. */
export const APPLICATION_USES_EVERY_MS = 60_000;
export const APPLICATION_USES_AT_ONCE = 1000;
/** How often to look for failing webhooks that send nothing. */
export const GIVE_UP_EVERY_MS = 60_000;
/** Webhooks with an attempt due within this time are left out. Longer than any attempt. */
export const GIVE_UP_QUIET_MS = 300_000;
/** How often to look for records ahead of the clock. */
export const CLOCK_LOOK_EVERY_MS = 60_000;
/** How often the head of the audit log is logged. */
export const AUDIT_HEAD_EVERY_MS = 3_600_000;
/** Days before the expiry of keys and client certificates at which to warn, and how often to check. */
export const EXPIRY_WARNING_DAYS: readonly number[] = [30, 7, 1];
export const EXPIRY_LOOK_EVERY_MS = 3_600_000;
/** Webhooks that a warning names. */
export const EXPIRY_WEBHOOKS_MAX = 1000;
/** Longest time before the expiry of the service's own certificate at which to warn, and how often to check. */
export const SERVING_CERTIFICATE_WARNING_MS: number = 14 * 86_400_000;
export const SERVING_CERTIFICATE_LOOK_EVERY_MS = 86_400_000;
/** A hundred years. More is a mistake. */
export const RETENTION_DAYS_MAX = 36_500;
