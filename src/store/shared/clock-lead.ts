/**
 * Corrects times that were written before the clock was set (`batch`, `webhook_progress`). If the difference is known, times move by it.
 * Any other time that is further ahead than the rules allow becomes now. Works in steps.
 */

import { RETRY_AFTER_MAX_MS } from '../../domain/retry.ts';
import type { Database, Statement } from '../port/database.ts';
import type { ClockLeadStore } from '../port/housekeeping.ts';
import { CLOCK_BEHIND_MAX_MS, CLOCK_STEP_MS } from '../port/limits.ts';
import { measured, runSteps } from '../port/steps.ts';
import { makeDue } from './delivery/resume.ts';
import { resultsByStatement } from './table.ts';
import { IS_RUNNABLE, wokenBy } from './wake.ts';

// Index: batch_due, one look-up for a webhook without such batches. Leased batches are left to the end of their lease.
const HELD_UP = `
  SELECT b.webhook_number, b.first_offset FROM webhook AS w
  CROSS JOIN batch AS b INDEXED BY batch_due
  WHERE b.webhook_number = w.number AND b.state = 'pending' AND b.next_attempt_at > @latest AND b.lease_owner IS NULL LIMIT @limit`;
const WAKE = `
  UPDATE webhook_progress SET wake_at = ${wokenBy('@now')}
  WHERE ${IS_RUNNABLE} AND webhook_number IN (SELECT webhook_number FROM (${HELD_UP}) AS held_up)`;
const MAKE_DUE = `
  UPDATE batch SET next_attempt_at = @now WHERE (webhook_number, first_offset) IN (${HELD_UP})`;
/** A time that may be null. */
function notAfterNow(column: string): string {
  return `CASE WHEN ${column} > @now THEN @now ELSE ${column} END`;
}
// No index, because there are few webhooks. Recorded times are never in the future: heartbeats, sessions and failing are computed from
// them.
const PROGRESS = `
  UPDATE webhook_progress
  SET state_at = least(state_at, @now), session_at = ${notAfterNow('session_at')}, sent_at = ${notAfterNow('sent_at')},
      failing_since_at = ${notAfterNow('failing_since_at')},
      probe_at = CASE WHEN probe_at > @latest THEN @now ELSE probe_at END,
      wake_at = CASE WHEN ${IS_RUNNABLE} THEN @now END
  WHERE greatest(state_at, coalesce(session_at, 0), coalesce(sent_at, 0), coalesce(failing_since_at, 0)) > @recorded
    OR probe_at > @latest OR wake_at > @latestLook`;

// A clock that was set forward makes work due early, which is harmless. But webhooks have not been failing for the skipped time.
const SET_FORWARD = `
  UPDATE webhook_progress SET failing_since_at = failing_since_at + @byMs WHERE failing_since_at IS NOT NULL`;
const SET_BACK = `
  UPDATE webhook_progress
  SET state_at = least(state_at, @now), session_at = session_at - @byMs, sent_at = sent_at - @byMs,
      failing_since_at = failing_since_at - @byMs, probe_at = probe_at - @byMs, wake_at = wake_at - @byMs`;
const WAITING = `SELECT webhook_number FROM webhook_progress WHERE pending_records > 0`;
const LATEST_ATTEMPT = 'SELECT max(sent_at) AS at FROM webhook_progress';
// Time without a running process does not count: only the time from the first failed attempt to the last one.
const FAILING_UNTIL_STOPPED = `
  UPDATE webhook_progress
  SET failing_since_at = @now - greatest(0, coalesce(sent_at, failing_since_at) - failing_since_at)
  WHERE failing_since_at IS NOT NULL`;

export function clockLeadStore(database: Database): ClockLeadStore {
  const step: ClockLeadStore['step'] = (now, size) =>
    measured(database, async (db) => {
      // The longest wait of a batch or a webhook is a receiver's Retry-After; backoff is shorter. Clocks may differ a little.
      const latest = now + RETRY_AFTER_MAX_MS + CLOCK_BEHIND_MAX_MS;
      // A heartbeat or a new session is at most a day away, the next record at a low rate 28 hours.
      const latestLook = now + 2 * RETRY_AFTER_MAX_MS;
      const heldUp = { now, latest, limit: size };
      const makeBatchesDue: Statement = { sql: MAKE_DUE, params: heldUp };
      const moveProgress: Statement = {
        sql: PROGRESS,
        params: { now, latest, latestLook, recorded: now + CLOCK_BEHIND_MAX_MS },
      };
      const list = [{ sql: WAKE, params: heldUp }, makeBatchesDue, moveProgress];
      const resultOf = resultsByStatement(list, await db.commit(list));
      const due = resultOf(makeBatchesDue).changes;
      return { done: due < size, rows: due + resultOf(moveProgress).changes };
    });
  const moveWebhooks: ClockLeadStore['moveWebhooks'] = async (byMs, now) => {
    const sql = byMs > 0 ? SET_FORWARD : SET_BACK;
    await database.commit([{ sql, params: byMs > 0 ? { byMs } : { byMs: -byMs, now } }]);
  };
  const moveRetries: ClockLeadStore['moveRetries'] = async (byMs, now) => {
    for (const { webhook_number: number } of await database.all(WAITING, {})) {
      await makeDue(database, Number(number), now, byMs);
    }
  };
  return {
    moveWebhooks,
    moveRetries,
    resume: async (now) => {
      const row = await database.get(LATEST_ATTEMPT, {});
      const aheadMs = Number(row?.at ?? 0) - now;
      if (aheadMs >= CLOCK_STEP_MS) {
        await moveWebhooks(-aheadMs, now);
        await moveRetries(aheadMs, now);
      }
      await database.commit([{ sql: FAILING_UNTIL_STOPPED, params: { now } }]);
    },
    step,
    take: (now) => runSteps((size) => step(now, size)),
  };
}
