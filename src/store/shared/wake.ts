/**
 * When the dispatcher looks at a webhook next (`webhook_progress.wake_at`): the one place of this rule, from which both databases build
 * their statements. It never looks at one that is stopped or pulled.
 */
import { NEVER } from '../port/dispatch.ts';

/** The SQL condition of a webhook that sends; the states of `isRunnable`. */
export const IS_RUNNABLE = "NOT pulled AND state IN ('started', 'running', 'failing')";

/** How a statement names its row of `webhook_progress`: by an alias, or only by the columns. */
type RowName = 'p' | null;

const columnsOf = (row: RowName): string => (row === null ? '' : `${row}.`);

/** The SQL value of `wake_at` that moves it to `at` unless it is earlier. */
export function wokenBy(at: string, row: RowName = null): string {
  const column = `${columnsOf(row)}wake_at`;
  return `least(coalesce(${column}, ${at}), ${at})`;
}

/**
 * The value after records were appended at `at`. An ordered webhook sends new records only after its pending batch is settled, and the
 * settlement looks for more. Waking it here would cost a look and a commit for each event.
 */
export function wakeAfterAppend(at: string, row: RowName = null): string {
  const of = columnsOf(row);
  return `CASE WHEN ${IS_RUNNABLE} THEN
        CASE WHEN ${of}pending_records > 0 AND (SELECT ordered FROM webhook WHERE number = ${row ?? 'webhook_progress'}.webhook_number)
          THEN ${of}wake_at ELSE ${wokenBy(at, row)} END
      END`;
}

/** The SQL values of a claim, as parameters or columns. */
type ClaimSql = {
  readonly webhookNumber: string;
  readonly settingsVersion: string;
  readonly now: string;
  readonly notBefore: string;
  readonly cursorAfter: string;
  readonly idleAt: string;
};

/**
 * The value after a claim: now if the settings have changed since it was planned or records are left, otherwise when the next batch is due,
 * and at `idleAt` at the latest; not before `notBefore`. Null for never. It is computed inside the transaction, so that an event published
 * during the claim is not missed.
 */
export function wakeAfterClaim(
  { webhookNumber, settingsVersion, now, notBefore, cursorAfter, idleAt }: ClaimSql,
  row: RowName = null,
): string {
  const of = columnsOf(row);
  return `CASE WHEN ${of}settings_version <> ${settingsVersion} THEN ${now} ELSE
        nullif(greatest(${notBefore}, CASE WHEN ${cursorAfter} < ${of}next_offset THEN ${now} ELSE least(${idleAt}, coalesce(
          (SELECT min(next_attempt_at) FROM batch WHERE batch.webhook_number = ${webhookNumber} AND batch.state = 'pending'),
          ${idleAt})) END), ${NEVER}) END`;
}

/**
 * Has a runnable webhook (`@webhookNumber`) looked at `@now`, also if its endpoint fails. A claim that was planned before must not set the
 * next look to a later time.
 */
export const WAKE_NOW = `
  UPDATE webhook_progress SET wake_at = @now, probe_at = NULL, settings_version = settings_version + 1
  WHERE webhook_number = @webhookNumber AND ${IS_RUNNABLE}`;

/** Schedules a runnable webhook (`@webhookNumber`) for `@at` at the latest. */
export const WAKE = `
  UPDATE webhook_progress SET wake_at = ${wokenBy('@at')} WHERE webhook_number = @webhookNumber AND ${IS_RUNNABLE}`;
