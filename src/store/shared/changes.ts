/**
 * Tells the process that sends for a webhook of a change: it must look at the webhook, because its settings, its state or the due times of
 * its retries are other than that process remembers.
 */

/** The SQL condition of a webhook that sends; the states of `isRunnable`. */
export const IS_RUNNABLE = "NOT pulled AND state IN ('started', 'running', 'failing')";

/** The statement for the transaction of the change. `numbers`: SQL that selects the numbers of webhooks, or names one. */
export function changedSql(numbers: string): string {
  return `
  INSERT INTO webhook_change (webhook_number)
  SELECT webhook_number FROM webhook_progress WHERE webhook_number IN (${numbers}) AND ${IS_RUNNABLE}`;
}
