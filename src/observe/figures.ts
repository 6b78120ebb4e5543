/**
 * Figures over time, for charts. They are counted in memory and written twice a minute, so a crash loses at most half a minute of figures.
 * The counted events themselves are durable.
 */

import type { ObserveSettled } from '../delivery/settle.ts';
import type { HousekeepingJob } from '../housekeeping/scheduler.ts';
import type { Clock } from '../kernel/ids.ts';
import { mayBeCommitted } from '../store/port/errors.ts';
import {
  addFigures,
  beginningOf,
  type FigureAt,
  type FigureSpan,
  type FigureStore,
  type Figures,
  noFigures,
} from '../store/port/figures.ts';
import { GATE_REFUSALS } from './metrics.ts';
import type { ObserveRequest } from './requests.ts';

/** How often figures are written, and for how many webhooks at a time besides those of the whole service. */
const FIGURES_EVERY_MS = 30_000;
export const FIGURE_WEBHOOKS_MAX = 1000;

/** The periods of charts: the last hour by minutes, the last day by ten minutes, the last week by hours. */
export type Period = 'hour' | 'day' | 'week';
export const PERIODS: Readonly<Record<Period, { readonly spanSeconds: FigureSpan; readonly points: number }>> = {
  hour: { spanSeconds: 60, points: 60 },
  day: { spanSeconds: 600, points: 144 },
  week: { spanSeconds: 3600, points: 168 },
};

type Counts = Omit<Figures, 'latencies'> & {
  /** The median and the 95th percentile of attempts with a response in milliseconds, to within a seventh; null without responses. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  /** The share of attempts with records that succeeded, from 0 to 1; null without attempts. */
  readonly successRate: number | null;
};

/** One point for each span of the period, oldest first. The last span is not over yet. */
export type Series = {
  readonly period: Period;
  readonly spanSeconds: number;
  readonly points: readonly (Counts & { readonly at: number })[];
  readonly total: Counts;
};

/** The attempts of a webhook in the last 24 hours by the hour, oldest first. The last hour is not over yet. */
export type Day = Attempts & { readonly hours: readonly Attempts[] };
export type Attempts = { readonly attempts: number; readonly failedAttempts: number };

export type FigureKeeper = {
  readonly observeRequest: ObserveRequest;
  readonly observeSettled: ObserveSettled;
  /** The figures of one webhook, or with number 0 of the whole service. */
  series(period: Period, webhookNumber: number): Promise<Series>;
  /** The last 24 hours of several webhooks, by their numbers. Every number has an entry. */
  days(webhookNumbers: readonly number[]): Promise<ReadonlyMap<number, Day>>;
  /** The figures of only the webhooks with these numbers: number 0 is their sum. */
  within(numbers: () => Promise<readonly number[]>): FigureKeeper;
  /** Writes the counted figures, and deletes expired ones. */
  readonly job: HousekeepingJob;
  /** Writes all counted figures. Called before the store is closed. */
  flush(): Promise<void>;
};

type Dependencies = { readonly store: FigureStore; readonly clock: Clock };

const SERVICE_NUMBER = 0;
const GATHERED_MS = 60_000;

export function createFigures({ store, clock }: Dependencies): FigureKeeper {
  const { figuresOf, takeOver, writeSome, readAll, waiting } = createGathered({ store, clock });

  const seriesOf = async (period: Period, webhookNumbers: readonly number[]): Promise<Series> => {
    const { spanSeconds, points } = PERIODS[period];
    const spanMs = spanSeconds * 1000;
    const last = beginningOf(clock(), spanSeconds);
    const from = last - (points - 1) * spanMs;
    const spans = new Map(
      Array.from({ length: points }, (_, n) => [from + n * spanMs, noFigures()] as [number, Figures]),
    );
    const range = { spanSeconds, from, to: last + 1 };
    const { written, unwritten } = await readAll(() =>
      Promise.all(webhookNumbers.map((webhookNumber) => store.read({ ...range, webhookNumber }))),
    );
    const ofWebhooks = unwritten.filter(({ webhookNumber }) => webhookNumbers.includes(webhookNumber));
    for (const { at, figures } of [...ofWebhooks, ...written.flat()]) {
      const span = spans.get(beginningOf(at, spanSeconds));
      if (span !== undefined) addFigures(span, figures);
    }
    const total = noFigures();
    for (const figures of spans.values()) addFigures(total, figures);
    const shown = [...spans].map(([at, figures]) => ({ at, ...countsOf(figures) }));
    return { period, spanSeconds, points: shown, total: countsOf(total) };
  };

  const keeper: FigureKeeper = {
    observeRequest: ({ metered, refusal }) => {
      if (metered === 'token') count(figuresOf(SERVICE_NUMBER), refusal === null ? 'tokensIssued' : 'tokensRefused');
      else if (metered === 'call' && refusal !== null && GATE_REFUSALS.has(refusal))
        count(figuresOf(SERVICE_NUMBER), 'callsRefused');
    },
    observeSettled: (_webhookId, settled) => {
      const webhookNumber = settled.batch?.webhookNumber ?? settled.attempt?.webhookNumber;
      if (webhookNumber === undefined) return;
      for (const figures of [figuresOf(SERVICE_NUMBER), figuresOf(webhookNumber)]) observe(figures, settled);
    },
    series: (period, webhookNumber) => seriesOf(period, [webhookNumber]),
    days: async (webhookNumbers) => {
      const from = beginningOf(clock(), HOUR_SECONDS) - (HOURS - 1) * HOUR_SECONDS * 1000;
      const distinct = new Set(webhookNumbers);
      const { written, unwritten } = await readAll(() =>
        store.attempts({ spanSeconds: HOUR_SECONDS, webhookNumbers: [...distinct], from }),
      );
      const unwrittenAttempts = unwritten
        .filter(({ webhookNumber }) => distinct.has(webhookNumber))
        .map(({ webhookNumber, at, figures }) => ({ webhookNumber, at, ...figures }));
      const days = new Map([...distinct].map((number) => [number, emptyDay()]));
      for (const { webhookNumber, at, attempts, failedAttempts } of [...unwrittenAttempts, ...written]) {
        const day = days.get(webhookNumber);
        for (const sum of [day, day?.hours[Math.floor((at - from) / (HOUR_SECONDS * 1000))]]) {
          if (sum === undefined) continue;
          sum.attempts += attempts;
          sum.failedAttempts += failedAttempts;
        }
      }
      return days;
    },
    within: (numbers) => ({
      ...keeper,
      series: async (period, webhookNumber) => {
        const known = await numbers();
        return seriesOf(
          period,
          webhookNumber === SERVICE_NUMBER ? known : known.filter((one) => one === webhookNumber),
        );
      },
      days: async (webhookNumbers) => {
        const known = new Set(await numbers());
        return keeper.days(webhookNumbers.filter((number) => known.has(number)));
      },
    }),
    job: {
      name: 'figures',
      everyMs: FIGURES_EVERY_MS,
      everywhere: true,
      begin: (now) => {
        takeOver();
        return async (size) => {
          // Reports no rows, because this runs too often for the log and the metrics.
          if (waiting() > 0) return { done: false, rows: 0, took: (await writeSome(size)).took };
          const { done, took } = await store.purge(now, size);
          return { done, rows: 0, took };
        };
      },
    },
    flush: async () => {
      takeOver();
      while (waiting() > 0) await writeSome(FIGURE_WEBHOOKS_MAX);
    },
  };
  return keeper;
}

type Gathered = {
  /** The current figures of a webhook, to count into. Null if there are too many. */
  figuresOf(webhookNumber: number): Figures | null;
  /** From now on, the counted figures wait to be written. */
  takeOver(): void;
  /** How many figures wait to be written. */
  waiting(): number;
  writeSome(size: number): ReturnType<FigureStore['add']>;
  /** Reads again if a write began during the read: its figures would count twice, as written and as unwritten. */
  readAll<T>(read: () => Promise<T>): Promise<{ written: T; unwritten: FigureAt[] }>;
};

/** The figures that this process has counted and not written yet. */
function createGathered({ store, clock }: Dependencies): Gathered {
  let gathered = new Map<string, FigureAt>();
  /** Figures that are being written. Each is removed once it is written, or once nobody knows whether it was. */
  const writing: FigureAt[] = [];
  /** Resolves when the last write has ended, also if it failed. */
  let lastWrite: Promise<unknown> = Promise.resolve();

  const figuresOf = (webhookNumber: number): Figures | null => {
    const now = clock();
    const at = now - (now % GATHERED_MS);
    const name = `${webhookNumber} ${at}`;
    let entry = gathered.get(name);
    if (entry === undefined) {
      // Bounds the memory for figures of webhooks. The service's own figures always count.
      if (webhookNumber !== SERVICE_NUMBER && gathered.size > FIGURE_WEBHOOKS_MAX) return null;
      entry = { webhookNumber, at, figures: noFigures() };
      gathered.set(name, entry);
    }
    return entry.figures;
  };

  const takeOver = (): void => {
    writing.push(...gathered.values());
    gathered = new Map();
  };

  const addOnce = async (some: readonly FigureAt[]): ReturnType<FigureStore['add']> => {
    try {
      const result = await store.add(some);
      writing.splice(0, some.length);
      return result;
    } catch (error) {
      // Written again, they would count twice if they were kept.
      if (mayBeCommitted(error)) writing.splice(0, some.length);
      throw error;
    }
  };

  const writeSome = (size: number): ReturnType<FigureStore['add']> => {
    const some = writing.slice(0, size);
    const write = addOnce(some);
    lastWrite = write.catch(() => undefined);
    return write;
  };

  const readAll = async <T>(read: () => Promise<T>): Promise<{ written: T; unwritten: FigureAt[] }> => {
    for (;;) {
      const before = lastWrite;
      await before;
      const written = await read();
      if (lastWrite === before) return { written, unwritten: [...writing, ...gathered.values()] };
    }
  };

  return { figuresOf, takeOver, waiting: () => writing.length, writeSome, readAll };
}

const HOUR_SECONDS = 3600;
const HOURS = 24;

function emptyDay() {
  const none = () => ({ attempts: 0, failedAttempts: 0 });
  return { ...none(), hours: Array.from({ length: HOURS }, none) };
}

/** The sum of several webhooks. */
export function sumOfDays(days: readonly Day[]): Day {
  const sum = emptyDay();
  for (const { hours, attempts, failedAttempts } of days) {
    sum.attempts += attempts;
    sum.failedAttempts += failedAttempts;
    for (const [at, hour] of sum.hours.entries()) {
      hour.attempts += hours[at]?.attempts ?? 0;
      hour.failedAttempts += hours[at]?.failedAttempts ?? 0;
    }
  }
  return sum;
}

/** The share of attempts that succeeded, from 0 to 1; null without attempts. */
export function successRate({ attempts, failedAttempts }: Attempts): number | null {
  return attempts === 0 ? null : 1 - failedAttempts / attempts;
}

function count(figures: Figures | null, name: keyof Omit<Figures, 'latencies'>): void {
  if (figures !== null) figures[name] += 1;
}

function observe(figures: Figures | null, { batch, fate, attempt }: Parameters<ObserveSettled>[1]): void {
  if (figures === null) return;
  const records = batch === null ? 0 : batch.lastOffset - batch.firstOffset + 1;
  if (fate?.kind === 'delivered' || fate?.kind === 'dead') figures[fate.kind] += records;
  if (fate?.kind === 'retry' || fate?.kind === 'halve') figures.retried += records;
  if (attempt?.kind !== 'delivery') return;
  figures.attempts += 1;
  if (attempt.errorClass !== null) figures.failedAttempts += 1;
  const { totalMs } = attempt.timings;
  // A receiver that is down refuses in a millisecond. That is no response.
  if (totalMs === null || attempt.responseStatus === null) return;
  const bucket = bucketOf(totalMs);
  figures.latencies.set(bucket, (figures.latencies.get(bucket) ?? 0) + 1);
}

function countsOf({ latencies, ...counts }: Figures): Counts {
  return {
    ...counts,
    p50Ms: percentile(latencies, 0.5),
    p95Ms: percentile(latencies, 0.95),
    successRate: successRate(counts),
  };
}

/** Each bucket is 15 % wider than the one before. Two minutes, the longest attempt, are in the 84th. */
const BUCKET_RATIO = 1.15;

/** The bucket of a whole number of milliseconds. */
export function bucketOf(ms: number): number {
  return Math.floor(Math.log(ms + 1) / Math.log(BUCKET_RATIO));
}

/** The largest whole number of milliseconds in a bucket. */
export function bucketEnd(bucket: number): number {
  return Math.ceil(BUCKET_RATIO ** (bucket + 1)) - 2;
}

/** The end of the bucket that contains this percentile (a share from 0 to 1); null without attempts. */
export function percentile(latencies: ReadonlyMap<number, number>, share: number): number | null {
  const all = [...latencies.values()].reduce((sum, attempts) => sum + attempts, 0);
  let left = Math.ceil(all * share);
  for (const [bucket, attempts] of [...latencies].sort(([a], [b]) => a - b)) {
    left -= attempts;
    if (left <= 0) return bucketEnd(bucket);
  }
  return null;
}
