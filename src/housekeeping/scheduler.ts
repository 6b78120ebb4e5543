/**
 * Runs jobs in the background in small steps. Running jobs take turns, one step each, so that a long job does not delay the others. Between
 * two steps the database is free for requests.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { FIRST_SIZE, nextSize, pauseMs, type Step, type StepResult } from '../store/port/steps.ts';
import { HOUSEKEEPING_LOOK_MS } from './limits.ts';

export type HousekeepingJob = {
  readonly name: string;
  /** The time from the beginning of a run to the next one. The first run is due immediately. */
  readonly everyMs: number;
  /** Begins a run. The returned function does one step; it is called until a step reports that it is the last. */
  begin(now: number): Step;
  /** Every instance runs it, because it works on what the process has in memory. One instance runs the other jobs for all. */
  readonly everywhere?: boolean;
};

export type HousekeepingScheduler = {
  start(): void;
  /** Starts no further step and waits for the current one. */
  stop(): Promise<void>;
  /** Runs every job to its end now, whether due or not. */
  runOnce(): Promise<void>;
};

export type ObserveStep = (job: string, result: StepResult) => void;

export type SchedulerOptions = {
  readonly jobs: readonly HousekeepingJob[];
  readonly clock: Clock;
  readonly log: Log;
  readonly observe?: ObserveStep;
  /** Whether this process runs the jobs that one instance runs for all; by default it does. */
  readonly hasDuty?: () => boolean;
  /** Waits between two steps. The signal ends the wait. */
  readonly pause?: Pause;
};

type Pause = (ms: number, signal: AbortSignal) => Promise<void>;

type Run = { readonly job: HousekeepingJob; readonly step: Step; rows: number };

export function createHousekeepingScheduler({
  jobs,
  clock,
  log,
  observe,
  pause = pauseFor,
  hasDuty = () => true,
}: SchedulerOptions): HousekeepingScheduler {
  const sizes = new Map<HousekeepingJob, number>();
  const begunAt = new Map<HousekeepingJob, number>();
  let stopping = new AbortController();
  let loop: Promise<void> | null = null;

  const isOurs = ({ everywhere = false }: HousekeepingJob): boolean => everywhere || hasDuty();

  const isDue = (job: HousekeepingJob): boolean => {
    if (!isOurs(job)) return false;
    const last = begunAt.get(job);
    const now = clock();
    // A clock that was set back must not keep a job from running.
    return last === undefined || now >= last + job.everyMs || now < last;
  };

  const begin = (job: HousekeepingJob): Run => {
    const now = clock();
    begunAt.set(job, now);
    return { job, step: job.begin(now), rows: 0 };
  };

  /** Does one step of each run. A job that fails starts again when it is due. */
  const turn = async (runs: Set<Run>, signal: AbortSignal): Promise<void> => {
    for (const run of runs) {
      if (signal.aborted) return;
      const { job } = run;
      // Another instance has the duty now, and begins runs of its own.
      if (!isOurs(job)) {
        runs.delete(run);
        continue;
      }
      try {
        const size = sizes.get(job) ?? FIRST_SIZE;
        const result = await run.step(size);
        sizes.set(job, nextSize(size, result.took));
        run.rows += result.rows;
        observe?.(job.name, result);
        if (result.done) {
          runs.delete(run);
          if (run.rows > 0) log.info({ job: job.name, rows: run.rows }, 'housekeeping');
        }
        await pause(pauseMs(result), signal);
      } catch (error) {
        runs.delete(run);
        log.error({ job: job.name, err: error }, 'housekeeping failed');
      }
    }
  };

  const work = async (signal: AbortSignal): Promise<void> => {
    const runs = new Set<Run>();
    while (!signal.aborted) {
      const inProgress = new Set([...runs].map(({ job }) => job));
      for (const job of jobs) if (!inProgress.has(job) && isDue(job)) runs.add(begin(job));
      if (runs.size === 0) await pause(HOUSEKEEPING_LOOK_MS, signal);
      else await turn(runs, signal);
    }
  };

  return {
    start: () => {
      if (loop !== null) return;
      stopping = new AbortController();
      loop = work(stopping.signal);
    },
    stop: async () => {
      stopping.abort();
      await loop;
      loop = null;
    },
    runOnce: async () => {
      const runs = new Set(jobs.map(begin));
      while (runs.size > 0 && !stopping.signal.aborted) await turn(runs, stopping.signal);
    },
  };
}

async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  // A stop aborts the wait, which is not an error.
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
