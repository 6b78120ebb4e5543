/** When the dispatcher looks at a webhook next (`webhook_progress.wake_at`). It never looks at one that is stopped or pulled. */

/** The SQL condition of a webhook that sends; the states of `isRunnable`. */
export const IS_RUNNABLE = "NOT pulled AND state IN ('started', 'running', 'failing')";

/** The SQL value of `wake_at` that moves it to `at` unless it is earlier. `column`: how the statement names `wake_at`. */
export function wokenBy(at: string, column = 'wake_at'): string {
  return `least(coalesce(${column}, ${at}), ${at})`;
}

/** Schedules a runnable webhook (`@webhookNumber`) for `@at` at the latest. */
export const WAKE = `
  UPDATE webhook_progress SET wake_at = ${wokenBy('@at')} WHERE webhook_number = @webhookNumber AND ${IS_RUNNABLE}`;
