/**
 * Long work on the database in small steps, so that requests do not wait for it. The duration of a step decides the size of the next one,
 * and there is a pause between two steps.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Answer, Database, WriteTime } from './database.ts';

/** Target duration of a step on the database. After a longer step the next one is half as large. This keeps steps below 10 ms. */
const STEP_TARGET_MS = 5;
export const STEP_ROWS_FIRST = 16;
export const STEP_ROWS_MIN = 1;
export const STEP_ROWS_MAX = 4096;

/** The pause after a step: this many times its duration, and at least this many milliseconds. */
const STEP_PAUSE_FACTOR = 4;
export const STEP_PAUSE_MIN_MS = 5;

/** `done`: it was the last step. `rows`: the rows that it processed. `took`: the longest time for which it held the database. */
export type StepResult = { readonly done: boolean; readonly rows: number; readonly took: WriteTime };
/** Processes about `size` rows. */
export type Step<Result extends StepResult = StepResult> = (size: number) => Promise<Result>;

export const NO_TIME: WriteTime = { statementsMs: 0, commitMs: 0 };

/** The size of the first step. */
export const FIRST_SIZE: number = STEP_ROWS_FIRST;

/**
 * The size of the next step: half after a step that took longer than STEP_TARGET_MS, a quarter more after a much shorter one. If only the
 * commit is slow, on a slow disk, fewer rows would not help: the statements must have taken at least a fifth of the target.
 */
export function nextSize(size: number, { statementsMs, commitMs }: WriteTime): number {
  const tookMs = statementsMs + commitMs;
  if (tookMs > STEP_TARGET_MS && statementsMs > STEP_TARGET_MS / 5) {
    return Math.max(STEP_ROWS_MIN, Math.floor(size / 2));
  }
  return tookMs < STEP_TARGET_MS / 2 ? Math.min(STEP_ROWS_MAX, Math.ceil(size * 1.25)) : size;
}

/** The pause after a step, in which other work has the database: a multiple of the step's duration. */
export function pauseMs({ took }: StepResult): number {
  return Math.max(STEP_PAUSE_MIN_MS, (took.statementsMs + took.commitMs) * STEP_PAUSE_FACTOR);
}

/** Runs steps until one reports that it was the last. Other work gets a turn of the event loop after each. */
export async function runSteps(step: (size: number) => Promise<Pick<StepResult, 'done' | 'took'>>): Promise<void> {
  let size = FIRST_SIZE;
  for (let done = false; !done; await nextTurn()) {
    const result = await step(size);
    size = nextSize(size, result.took);
    done = result.done;
  }
}

/** Runs work and adds how long its longest single read or commit held the database. */
export async function measured<Result>(
  db: Database,
  work: (db: Database) => Promise<Result>,
): Promise<Result & { readonly took: WriteTime }> {
  let took = NO_TIME;
  const count = (other: WriteTime): void => {
    if (other.statementsMs + other.commitMs > took.statementsMs + took.commitMs) took = other;
  };
  const timed = <T>(read: () => Answer<T>): Answer<T> => {
    const startedAt = performance.now();
    const stop = (): void => count({ statementsMs: performance.now() - startedAt, commitMs: 0 });
    const answer = read();
    if (!(answer instanceof Promise)) stop();
    return answer instanceof Promise ? answer.finally(stop) : answer;
  };
  const result = await work({
    ...db,
    get: (sql, params) => timed(() => db.get(sql, params)),
    all: (sql, params) => timed(() => db.all(sql, params)),
    commit: (statements) => db.commit(statements, count),
  });
  return { ...result, took };
}
