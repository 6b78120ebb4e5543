/**
 * Long work on the database in small steps, so that nobody waits for it: each step is measured, the next one is sized by that, and
 * between two of them others have their turn.
 */
import {
  STEP_PAUSE_FACTOR,
  STEP_PAUSE_MIN_MS,
  STEP_ROWS_FIRST,
  STEP_ROWS_MAX,
  STEP_ROWS_MIN,
  STEP_TARGET_MS,
} from '../kernel/limits/housekeeping.ts';
import type { Database, WriteTime } from './sqlite/driver/database.ts';

/** What a step did: whether it was the last one, the rows it took care of, and the longest time for which it held the database. */
export type StepResult = { readonly done: boolean; readonly rows: number; readonly took: WriteTime };
/** Does a piece of the work: about `size` rows. */
export type Step<Result extends StepResult = StepResult> = (size: number) => Promise<Result>;

export const NO_TIME: WriteTime = { statementsMs: 0, commitMs: 0 };

/** What a step is to begin with. */
export const FIRST_SIZE: number = STEP_ROWS_FIRST;

/**
 * The size of the next step: half after one that took longer than 5 ms, a quarter more after one well below. A commit that is slow by
 * itself, on a slow disk, is not made faster by fewer rows: only what takes part in it for at least 1 ms is made smaller.
 */
export function nextSize(size: number, { statementsMs, commitMs }: WriteTime): number {
  const tookMs = statementsMs + commitMs;
  if (tookMs > STEP_TARGET_MS && statementsMs > STEP_TARGET_MS / 5) {
    return Math.max(STEP_ROWS_MIN, Math.floor(size / 2));
  }
  return tookMs < STEP_TARGET_MS / 2 ? Math.min(STEP_ROWS_MAX, Math.ceil(size * 1.25)) : size;
}

/** How long to leave the database to others after a step: four times as long as it took. */
export function pauseMs({ took }: StepResult): number {
  return Math.max(STEP_PAUSE_MIN_MS, (took.statementsMs + took.commitMs) * STEP_PAUSE_FACTOR);
}

/** Lets work use the database and says how long its longest single read or commit held it. */
export async function measured<Result>(
  db: Database,
  work: (db: Database) => Promise<Result>,
): Promise<Result & { readonly took: WriteTime }> {
  let took = NO_TIME;
  const count = (other: WriteTime): void => {
    if (other.statementsMs + other.commitMs > took.statementsMs + took.commitMs) took = other;
  };
  const timed = <T>(read: () => T): T => {
    const startedAt = performance.now();
    const answer = read();
    count({ statementsMs: performance.now() - startedAt, commitMs: 0 });
    return answer;
  };
  const result = await work({
    ...db,
    get: (sql, params) => timed(() => db.get(sql, params)),
    all: (sql, params) => timed(() => db.all(sql, params)),
    commit: (statements) => db.commit(statements, count),
  });
  return { ...result, took };
}
