/** When the dispatcher looks at a webhook next (`webhook_progress.wake_at`). It never looks at a stopped one. */
import type { Statement } from '../driver/database.ts';

/** The SQL condition of a webhook that sends; the states of `isRunnable`. */
export const IS_RUNNABLE = "state IN ('started', 'running', 'failing')";

/** The SQL value of `wake_at` that moves it to `at` unless it is earlier. */
export function wokenBy(at: string): string {
  return `min(coalesce(wake_at, ${at}), ${at})`;
}

const WAKE = `
  UPDATE webhook_progress SET wake_at = ${wokenBy('@at')} WHERE webhook_number = @webhookNumber AND ${IS_RUNNABLE}`;

/** Schedules a runnable webhook for `at` at the latest. */
export function wakeStatement(webhookNumber: number, at: number): Statement {
  return { sql: WAKE, params: { webhookNumber, at } };
}
