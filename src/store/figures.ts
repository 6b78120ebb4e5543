/** What happened in a stretch of time (`figure`), for charts: added up in stretches of three lengths, the longer ones kept for longer. */
import type { StepResult } from './steps.ts';

/** Counts of one stretch. Records by what an attempt made of them, attempts that carried records, and what came in. */
export type Figures = {
  delivered: number;
  retried: number;
  dead: number;
  attempts: number;
  failedAttempts: number;
  tokensIssued: number;
  tokensRefused: number;
  callsRefused: number;
  /** How many attempts took how long: by bucket. */
  readonly latencies: Map<number, number>;
};

/** `webhookNumber` 0 is the whole service; `at` is where the stretch begins. */
export type FigureAt = { readonly webhookNumber: number; readonly at: number; readonly figures: Figures };

export type FigureSpan = (typeof FIGURE_SPANS)[number]['seconds'];

export type FigureStore = {
  /** The stretches of one length that begin from `from` on and before `to` and in which anything happened, oldest first. */
  read(spanSeconds: FigureSpan, webhookNumber: number, from: number, to: number): Promise<FigureAt[]>;
  /** Adds what was gathered to the stretches it falls into. For the one process that gathers: reads, adds and writes. */
  add(gathered: readonly FigureAt[]): Promise<StepResult>;
  /** Takes up to `limit` of those away that are kept no longer. */
  purge(now: number, limit: number): Promise<StepResult>;
};

/** The lengths, and for how long stretches of each are kept. */
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

const NONE = {
  delivered: 0,
  retried: 0,
  dead: 0,
  attempts: 0,
  failedAttempts: 0,
  tokensIssued: 0,
  tokensRefused: 0,
  callsRefused: 0,
};

export function noFigures(): Figures {
  return { ...NONE, latencies: new Map() };
}

export function addFigures(to: Figures, more: Figures): void {
  for (const name of COUNTS) to[name] += more[name];
  for (const [bucket, attempts] of more.latencies) to.latencies.set(bucket, (to.latencies.get(bucket) ?? 0) + attempts);
}

/** Where the stretch of a length begins that an instant falls into. */
export function beginningOf(at: number, spanSeconds: number): number {
  return at - (at % (spanSeconds * 1000));
}
