/**
 * Tells the process that sends for a webhook of a change: it must look at the webhook, because its settings, its state or the due times of
 * its retries are other than that process remembers.
 */

import type { Statement } from '../port/database.ts';

/** The SQL condition of a webhook that sends; the states of `isRunnable`. */
export const IS_RUNNABLE = "NOT pulled AND state IN ('started', 'running', 'failing')";

/** The statement for the transaction of the change. `numbers`: SQL that selects the numbers of webhooks, or names one. */
export function changedSql(numbers: string): string {
  return `
  INSERT INTO webhook_change (webhook_number)
  SELECT webhook_number FROM webhook_progress WHERE webhook_number IN (${numbers}) AND ${IS_RUNNABLE}`;
}

const PROBE_NOW = `
  UPDATE webhook_progress SET probe_at = NULL WHERE webhook_number = @webhookNumber AND probe_at IS NOT NULL AND ${IS_RUNNABLE}`;
const CHANGED = changedSql('@webhookNumber');

/** For the transaction that makes batches of a webhook due: it sends them now, also if its endpoint fails. */
export function dueNowStatements(webhookNumber: number): Statement[] {
  return [PROBE_NOW, CHANGED].map((sql) => ({ sql, params: { webhookNumber } }));
}
