/**
 * The allowances of customers on PostgreSQL (`event_allowance`), which all instances share by the clock of the database. One row per
 * limited customer, locked until the commit: requests for the same customer take one after another, so the limit is exact, however many
 * instances there are. Publishing for customers without a limit does not come here.
 */
import { CLOCK_AHEAD_MAX_MS, THOUSANDTHS, type WantedEvents } from '../../domain/allowance.ts';
import type { Database, Statement } from '../port/database.ts';
import { ConstraintViolation, StaleWrite } from '../port/errors.ts';
import type { AllowanceStore } from '../port/usage.ts';

// The same throughout a statement, so that no millisecond is added twice.
const NOW = 'CAST(floor(extract(epoch FROM statement_timestamp()) * 1000) AS bigint)';
// `domain/allowance.ts` in SQL.
const CURRENT = `least(CAST(@full AS BIGINT),
  event_allowance.thousandths + greatest(0, ${NOW} - event_allowance.at) * CAST(@perSecond AS BIGINT))`;
// Earlier than the row if this statement waited for its lock, or if the clock was set back.
const AT = `CASE WHEN at - ${NOW} > ${CLOCK_AHEAD_MAX_MS} THEN ${NOW} ELSE greatest(at, ${NOW}) END`;
const BEGIN = `
  INSERT INTO event_allowance (customer_id, thousandths, at) VALUES (@customerId, @full, ${NOW})
  ON CONFLICT (customer_id) DO NOTHING`;
const TAKE = `
  UPDATE event_allowance SET thousandths = ${CURRENT} - @wanted, at = ${AT}
  WHERE customer_id = @customerId AND ${CURRENT} >= @wanted`;
const GIVE_BACK = `
  UPDATE event_allowance SET thousandths = least(CAST(@full AS BIGINT), ${CURRENT} + @wanted), at = ${AT}
  WHERE customer_id = @customerId`;
const LACKING = `
  SELECT @wanted - (${CURRENT}) AS lacking, greatest(0, ${AT} - ${NOW}) AS ahead FROM event_allowance WHERE customer_id = @customerId`;

export function allowanceStore(db: Database): AllowanceStore {
  return {
    take: async (wanted) => {
      // In one order, so that two instances cannot deadlock.
      const ordered = wanted.toSorted((one, other) => (one.customerId < other.customerId ? -1 : 1));
      const takes = ordered.map((one): Statement => ({ sql: TAKE, params: parametersOf(one), expectChanges: 1 }));
      try {
        await db.commit([...ordered.map(beginning), ...takes]);
        return { ok: true };
      } catch (error) {
        // The customer was deleted: its limit is gone, and the events reach nobody.
        if (error instanceof ConstraintViolation && error.kind === 'foreign_key') return { ok: true };
        if (!(error instanceof StaleWrite)) throw error;
      }
      return longest(db, ordered);
    },
    giveBack: async (wanted) => {
      const ordered = wanted.toSorted((one, other) => (one.customerId < other.customerId ? -1 : 1));
      await db.commit(ordered.map((one): Statement => ({ sql: GIVE_BACK, params: parametersOf(one) })));
    },
  };
}

/** Which of the customers has to wait longest. If it no longer has to wait, the caller gets the shortest wait. */
async function longest(db: Database, wanted: readonly WantedEvents[]): ReturnType<AllowanceStore['take']> {
  let found = { ok: false as const, customerId: wanted[0]?.customerId ?? '', waitMs: 1 };
  for (const one of wanted) {
    const row = await db.get(LACKING, parametersOf(one));
    const waitMs = Math.ceil(Number(row?.lacking ?? 0) / one.perSecond) + Number(row?.ahead ?? 0);
    if (waitMs > found.waitMs) found = { ok: false, customerId: one.customerId, waitMs };
  }
  return found;
}

function beginning({ customerId, perSecond }: WantedEvents): Statement {
  return { sql: BEGIN, params: { customerId, full: perSecond * THOUSANDTHS } };
}

function parametersOf({ customerId, perSecond, events }: WantedEvents) {
  return { customerId, perSecond, full: perSecond * THOUSANDTHS, wanted: events * THOUSANDTHS };
}
