/**
 * Corrects times that were written before the clock was set (`batch`, `webhook_progress`, `webhook_position`). If the difference is known,
 * times move by it. Any other time that is further ahead than the rules allow becomes now. Works in steps.
 */

import { RETRY_AFTER_MAX_MS, SCHEDULE_DELAY_MAX_SECONDS } from '../../domain/retry.ts';
import type { Database, Statement } from '../port/database.ts';
import type { ClockLeadStore } from '../port/housekeeping.ts';
import { CLOCK_BEHIND_MAX_MS, CLOCK_STEP_MS } from '../port/limits.ts';
import { measured, runSteps } from '../port/steps.ts';
import { changedSql } from './changes.ts';
import { makeDue } from './delivery/resume.ts';
import { resultsByStatement } from './table.ts';

// Index: batch_due, one look-up for a webhook without such batches. Leased batches are left to the end of their lease.
const HELD_UP = `
  SELECT b.webhook_number, b.first_offset FROM webhook AS w
  CROSS JOIN batch AS b INDEXED BY batch_due
  WHERE b.webhook_number = w.number AND b.state = 'pending' AND b.next_attempt_at > @latest AND b.lease_owner IS NULL
    AND (w.retry_policy <> 'schedule' OR b.next_attempt_at > @latestScheduled) LIMIT @limit`;
const CHANGED_HELD_UP = changedSql(`SELECT webhook_number FROM (${HELD_UP}) AS held_up`);
const MAKE_DUE = `
  UPDATE batch SET next_attempt_at = @now WHERE (webhook_number, first_offset) IN (${HELD_UP})`;
/** A time that may be null. */
function notAfterNow(column: string): string {
  return `CASE WHEN ${column} > @now THEN @now ELSE ${column} END`;
}
// No index, because there are few webhooks. Recorded times are never in the future: heartbeats, sessions and failing are computed from
// them.
const AHEAD =
  'greatest(state_at, coalesce(session_at, 0), coalesce(failing_since_at, 0)) > @recorded OR probe_at > @latest';
const WEBHOOKS_AHEAD = `SELECT webhook_number FROM webhook_status WHERE sent_at > @recorded OR ${AHEAD}`;
const CHANGED_AHEAD = changedSql(WEBHOOKS_AHEAD);
const ANY_AHEAD = `
  SELECT webhook_number FROM (${HELD_UP}) AS held_up UNION ALL SELECT webhook_number FROM (${WEBHOOKS_AHEAD}) AS ahead LIMIT 1`;
const PROGRESS = `
  UPDATE webhook_progress
  SET state_at = least(state_at, @now), session_at = ${notAfterNow('session_at')}, failing_since_at = ${notAfterNow('failing_since_at')},
      probe_at = CASE WHEN probe_at > @latest THEN @now ELSE probe_at END
  WHERE ${AHEAD}`;
const POSITION = 'UPDATE webhook_position SET sent_at = @now WHERE sent_at > @recorded';

// A clock that was set forward makes work due early, which is harmless. But webhooks have not been failing for the skipped time.
const SET_FORWARD = `
  UPDATE webhook_progress SET failing_since_at = failing_since_at + @byMs WHERE failing_since_at IS NOT NULL`;
const SET_BACK = `
  UPDATE webhook_progress
  SET state_at = least(state_at, @now), session_at = session_at - @byMs, failing_since_at = failing_since_at - @byMs,
      probe_at = probe_at - @byMs`;
const SENT_BACK = 'UPDATE webhook_position SET sent_at = sent_at - @byMs WHERE sent_at IS NOT NULL';
const CHANGED_FAILING = changedSql('SELECT webhook_number FROM webhook_progress WHERE failing_since_at IS NOT NULL');
const CHANGED_ALL = changedSql('SELECT webhook_number FROM webhook_progress');
const WAITING = 'SELECT webhook_number FROM webhook_position WHERE pending_records > 0';
const LATEST_ATTEMPT = 'SELECT max(sent_at) AS at FROM webhook_position';
// Time without a running process does not count: only the time from the first failed attempt to the last one.
const FAILING_UNTIL_STOPPED = `
  UPDATE webhook_progress
  SET failing_since_at = @now - greatest(0, coalesce(
    (SELECT q.sent_at FROM webhook_position AS q WHERE q.webhook_number = webhook_progress.webhook_number),
    failing_since_at) - failing_since_at)
  WHERE failing_since_at IS NOT NULL`;

export function clockLeadStore(database: Database): ClockLeadStore {
  const step: ClockLeadStore['step'] = (now, size) =>
    measured(database, async (db) => {
      // Without a schedule, the longest wait of a batch or a webhook is a receiver's Retry-After; backoff is shorter. Clocks may differ a
      // little.
      const latest = now + RETRY_AFTER_MAX_MS + CLOCK_BEHIND_MAX_MS;
      const latestScheduled = now + SCHEDULE_DELAY_MAX_SECONDS * 1000 + CLOCK_BEHIND_MAX_MS;
      const heldUp = { now, latest, latestScheduled, limit: size };
      const ahead = { now, latest, recorded: now + CLOCK_BEHIND_MAX_MS };
      if ((await db.get(ANY_AHEAD, { ...heldUp, ...ahead })) === undefined) return { done: true, rows: 0 };
      const makeBatchesDue: Statement = { sql: MAKE_DUE, params: heldUp };
      const moved: Statement[] = [PROGRESS, POSITION].map((sql) => ({ sql, params: ahead }));
      const list = [
        { sql: CHANGED_HELD_UP, params: heldUp },
        makeBatchesDue,
        { sql: CHANGED_AHEAD, params: ahead },
        ...moved,
      ];
      const resultOf = resultsByStatement(list, await db.commit(list));
      const due = resultOf(makeBatchesDue).changes;
      // A webhook has both or one of them.
      return { done: due < size, rows: due + Math.max(...moved.map((one) => resultOf(one).changes)) };
    });
  const moveWebhooks: ClockLeadStore['moveWebhooks'] = async (byMs, now) => {
    const statements = byMs > 0 ? [SET_FORWARD, CHANGED_FAILING] : [SET_BACK, SENT_BACK, CHANGED_ALL];
    await database.commit(statements.map((sql) => ({ sql, params: { byMs: Math.abs(byMs), now } })));
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
