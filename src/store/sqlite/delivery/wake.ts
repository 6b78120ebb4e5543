/** When the dispatcher looks at webhooks next (`webhook_progress.wake_at`): a stopped one is not looked at, whatever waits. */
import type { Statement } from '../driver/database.ts';

/** The SQL condition under which a webhook is looked at; the states are those of `isRunnable`. */
export const IS_RUNNABLE = "state IN ('started', 'running', 'failing')";

/** The SQL value by which a webhook is looked at by then at the latest, and earlier if it was going to be. */
export function wokenBy(at: string): string {
  return `min(coalesce(wake_at, ${at}), ${at})`;
}

const WAKE = `
  UPDATE webhook_progress SET wake_at = ${wokenBy('@at')} WHERE webhook_number = @webhookNumber AND ${IS_RUNNABLE}`;

/** Has a runnable webhook looked at by `at` at the latest. */
export function wakeStatement(webhookNumber: number, at: number): Statement {
  return { sql: WAKE, params: { webhookNumber, at } };
}
