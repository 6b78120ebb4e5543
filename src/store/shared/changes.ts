/**
 * Tells the process that sends for a webhook of a change: it must look at the webhook, because its settings, its state or the due times of
 * its retries are other than that process remembers.
 */

import type { Statement } from '../port/database.ts';

/** The states of `isRunnable`. */
export const RUNNABLE_STATES = "'started', 'running', 'failing'";
/** The SQL condition of a webhook that sends. */
export const IS_RUNNABLE: string = `NOT pulled AND state IN (${RUNNABLE_STATES})`;

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
