/** Every bound of housekeeping in one place: what works in the background in small steps, and how often. Spans are milliseconds, unless the name says otherwise. */

/** How long a step may hold the database; the next one is half as large when it took longer. The bound that is kept to is 10 ms. */
export const STEP_TARGET_MS = 5;
export const STEP_ROWS_FIRST = 16;
export const STEP_ROWS_MIN = 1;
export const STEP_ROWS_MAX = 4096;
/** Payload that one step takes away: freed pages are overwritten, so large events count for more than one row. */
export const STEP_PAYLOAD_BYTES: number = 256 * 1024;
/** Events that the first step of an erasure takes: each has its neighbours in the file rewritten too. */
export const ERASURE_FIRST_EVENTS = 4;
/** How long whoever asks for an erasure waits for it to finish before the reply says where to look. */
export const ERASURE_REPLY_MS = 2000;
/** How often the server looks for erasures that a command began, or left unfinished. */
export const ERASURE_LOOK_MS = 1000;
/** The longest pause before the copies beside the tables are tried again to be let go of, while another process reads them. */
export const ERASURE_COPY_PAUSE_MS = 2000;
/** How long a finished erasure can be asked about. */
export const ERASURE_KEPT_MS: number = 90 * 86_400_000;
/** What may lie between the records of an attempt being read and the attempt beginning: its turn to be encrypted, at most. */
export const ERASURE_UNDER_WAY_MS = 60_000;
/** Others have this many times as long as a step took, and at least this many milliseconds, before the next one. */
export const STEP_PAUSE_FACTOR = 4;
export const STEP_PAUSE_MIN_MS = 5;
/** How often the jobs run, those that take away what has expired, the logs of deleted webhooks, and what is kept no longer; and how often it is looked at which are due. */
export const EXPIRED_EVERY_MS = 60_000;
export const REMOVAL_EVERY_MS = 5000;
export const RETENTION_EVERY_MS = 600_000;
export const HOUSEKEEPING_LOOK_MS = 1000;
/** How often the last uses of applications are written, and how many in one statement at a stop. */
export const APPLICATION_USES_EVERY_MS = 60_000;
export const APPLICATION_USES_AT_ONCE = 1000;
/** How often webhooks are looked for that fail and send nothing. */
export const GIVE_UP_EVERY_MS = 60_000;
/** One that has an attempt to make within this time is left to it. Longer than any attempt under way may take. */
export const GIVE_UP_QUIET_MS = 300_000;
/** How often it is looked for what lies ahead of the clock. */
export const CLOCK_LOOK_EVERY_MS = 60_000;
/** How often the head of the audit log is logged. */
export const AUDIT_HEAD_EVERY_MS = 3_600_000;
/** When keys and client certificates are warned of before they expire, in days, and how often they are looked at. */
export const EXPIRY_WARNING_DAYS: readonly number[] = [30, 7, 1];
export const EXPIRY_LOOK_EVERY_MS = 3_600_000;
/** How long before its end the service's own certificate is warned of, at most, and how often it is looked at. */
export const SERVING_CERTIFICATE_WARNING_MS: number = 14 * 86_400_000;
export const SERVING_CERTIFICATE_LOOK_EVERY_MS = 86_400_000;
/** A hundred years: more days to keep something are a slip. */
export const RETENTION_DAYS_MAX = 36_500;
