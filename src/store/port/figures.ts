/** Counts per interval (`figure`), for charts. Intervals have three lengths; longer ones are retained longer. */
import type { StepResult } from './steps.ts';

/** Counts of one interval: records by outcome, attempts that carried records, and incoming calls. */
export type Figures = Record<(typeof COUNTS)[number], number> & {
  /** Number of attempts by latency bucket. */
  readonly latencies: Map<number, number>;
};

/** `webhookNumber` 0 is the whole service; `at` is the start of the interval. */
export type FigureAt = { readonly webhookNumber: number; readonly at: number; readonly figures: Figures };

export type AttemptsAt = { readonly webhookNumber: number; readonly at: number } & Pick<
  Figures,
  'attempts' | 'failedAttempts'
>;

export type FigureSpan = (typeof FIGURE_SPANS)[number]['seconds'];

export type FigureStore = {
  /** Non-empty intervals of one length that start from `from` and before `to`, oldest first. */
  read(range: {
    readonly spanSeconds: FigureSpan;
    readonly webhookNumber: number;
    readonly from: number;
    readonly to: number;
  }): Promise<FigureAt[]>;
  /** The attempts of several webhooks in intervals of one length that start at `from` or later. */
  attempts(range: {
    readonly spanSeconds: FigureSpan;
    readonly webhookNumbers: readonly number[];
    readonly from: number;
  }): Promise<AttemptsAt[]>;
  /** Adds `gathered` to the intervals of all lengths. Several processes may add to the same intervals at the same time. */
  add(gathered: readonly FigureAt[]): Promise<StepResult>;
  /** Deletes up to `limit` intervals past their retention. */
  purge(now: number, limit: number): Promise<StepResult>;
};

/** The lengths of intervals and how long each is retained. */
export const FIGURE_SPANS = [
  { seconds: 60, keptMs: 2 * 3_600_000 },
  { seconds: 600, keptMs: 25 * 3_600_000 },
  { seconds: 3600, keptMs: 8 * 86_400_000 },
] as const;

export const COUNTS = [
  'delivered',
  'retried',
  'dead',
  'attempts',
  'failedAttempts',
  'tokensIssued',
  'tokensRefused',
  'callsRefused',
] as const;

export function noFigures(): Figures {
  const counts = Object.fromEntries(COUNTS.map((name) => [name, 0])) as Record<(typeof COUNTS)[number], number>;
  return { ...counts, latencies: new Map() };
}

export function addFigures(to: Figures, more: Figures): void {
  for (const name of COUNTS) to[name] += more[name];
  for (const [bucket, attempts] of more.latencies) to.latencies.set(bucket, (to.latencies.get(bucket) ?? 0) + attempts);
}

/** The start of the interval that contains `at`. */
export function beginningOf(at: number, spanSeconds: number): number {
  return at - (at % (spanSeconds * 1000));
}
