/** When a failed delivery is retried (contract §5.9). Pure: the clock and the jitter are arguments. */

/** A longer `Retry-After` counts as a day. */
export const RETRY_AFTER_MAX_MS = 86_400_000;
/** Exponential delays begin with the first and double up to the second. */
const BACKOFF_FIRST_MS = 5000;
const BACKOFF_MAX_MS: number = 12 * 3_600_000;
/** Linear delays grow by this. */
export const LINEAR_STEP_MS = 30_000;

/** The bounds of a schedule: its waits, and how many. */
export const SCHEDULE_DELAY_MAX_SECONDS = 604_800;
export const SCHEDULE_DELAYS_MAX = 50;

export const RETRY_POLICIES = ['exponential', 'linear', 'schedule'] as const;

/** How a webhook retries. */
export type RetrySettings = {
  readonly retryPolicy: (typeof RETRY_POLICIES)[number];
  /** A schedule has one more attempt than it has delays. */
  readonly maxAttempts: number;
  /** The waits of a schedule in order; null for the other policies. */
  readonly retryDelaysSeconds: readonly number[] | null;
};

type RetryQuestion = {
  readonly policy: RetrySettings['retryPolicy'];
  /** Given if the policy is `schedule`. */
  readonly delaysSeconds?: readonly number[] | null;
  /** The attempt that has just failed, counted from 1. */
  readonly attemptNumber: number;
  /** A number in [0, 1), for the jitter. */
  readonly random: () => number;
  /** The parsed `Retry-After` of the response; absent or null without one. */
  readonly retryAfterMs?: number | null;
};

/**
 * How long to wait after attempt `attemptNumber` failed, in milliseconds.
 *
 * `exponential`: a base of 5 s × 2ⁿ⁻¹, at most 12 h, of which the upper half is jitter: the wait lies in [base/2, base]. The bases are 5,
 * 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 20480 and 40960 s, and 43200 s from the 15th on. With 20 attempts there are 19
 * waits, in all at most 297,915 s (3 d 10 h 45 min), at least half of that and about 2 d 14 h on average. With the most attempts that can
 * be configured (100) the last one comes at most 43 days and 11 hours after the first. That is for a batch that fails while others of its
 * webhook succeed: after 24 hours of nothing but failures the webhook itself is given up (`FAILING_LIMIT_MS`), and its batches wait until
 * it is started again.
 *
 * `linear`: 30 s × n, without jitter: 30, 60, 90 s, …; 20 attempts span 95 minutes, 100 attempts 41 h 15 min.
 *
 * `schedule`: the waits as they are listed, without jitter. A batch that failed more often than the list is long waits for the last one:
 * the list may have become shorter.
 *
 * A `Retry-After` is a lower bound for any policy, but never more than a day.
 */
export function nextDelayMs({ retryAfterMs, ...question }: RetryQuestion): number {
  return Math.max(Math.min(retryAfterMs ?? 0, RETRY_AFTER_MAX_MS), ownDelayMs(question));
}

function ownDelayMs({ policy, delaysSeconds, attemptNumber, random }: Omit<RetryQuestion, 'retryAfterMs'>): number {
  if (policy === 'linear') return LINEAR_STEP_MS * attemptNumber;
  const listed = policy === 'schedule' ? (delaysSeconds?.[attemptNumber - 1] ?? delaysSeconds?.at(-1)) : undefined;
  return listed === undefined ? jittered(attemptNumber, random) : listed * 1000;
}

/** How long the attempts take if all fail, without the time of the attempts themselves: on average, because of the jitter. */
export function retrySpanMs({
  retryPolicy: policy,
  maxAttempts,
  retryDelaysSeconds: delaysSeconds,
}: RetrySettings): number {
  const waits = Array.from({ length: maxAttempts - 1 }, (_, at) =>
    ownDelayMs({ policy, delaysSeconds, attemptNumber: at + 1, random: () => 0.5 }),
  );
  return waits.reduce((sum, wait) => sum + wait, 0);
}

function jittered(attemptNumber: number, random: () => number): number {
  const base = Math.min(BACKOFF_FIRST_MS * 2 ** (attemptNumber - 1), BACKOFF_MAX_MS);
  return Math.round(base / 2 + (random() * base) / 2);
}

/**
 * Reads a `Retry-After` header (RFC 9110 §10.2.3: seconds, or an HTTP date in one of the three forms of §5.6.7) as
 * milliseconds from `now`: 0 for a date that has passed, at most a day, null for anything that is not one of these.
 */
export function parseRetryAfter(header: string | undefined, now: number): number | null {
  const text = (header ?? '').trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, RETRY_AFTER_MAX_MS);
  const at = parseHttpDate(text, now);
  return at === null ? null : Math.min(Math.max(at - now, 0), RETRY_AFTER_MAX_MS);
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = '(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)';
const HTTP_DATES = [
  new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\\d\\d) ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\\d\\d)-${MONTH}-(?<year>\\d\\d) ${TIME} GMT$`),
  new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
];

/** The instant in epoch milliseconds, or null. The day of the week is not compared with the date. */
function parseHttpDate(text: string, now: number): number | null {
  for (const form of HTTP_DATES) {
    const groups = form.exec(text)?.groups;
    if (groups === undefined) continue;
    const [day, hour, minute, second] = [groups.day, groups.hour, groups.minute, groups.second].map(Number);
    const month = MONTHS.indexOf(groups.month ?? '');
    const year = fullYear(groups.year ?? '', now);
    if (day === undefined || hour === undefined || minute === undefined || second === undefined) return null;
    // 60 is a leap second (RFC 9110 §5.6.7); Date.UTC counts it as the second after.
    if (hour > 23 || minute > 59 || second > 60) return null;
    const date = new Date(Date.UTC(2000, month, day));
    date.setUTCFullYear(year, month, day);
    return date.getUTCDate() === day && day > 0 ? date.getTime() + ((hour * 60 + minute) * 60 + second) * 1000 : null;
  }
  return null;
}

/** RFC 9110 §5.6.7: two digits that seem more than 50 years ahead mean the past century. */
function fullYear(digits: string, now: number): number {
  if (digits.length === 4) return Number(digits);
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(digits);
  return year > thisYear + 50 ? year - 100 : year;
}
