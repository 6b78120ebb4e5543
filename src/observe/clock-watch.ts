/**
 * Notices that the system's clock was set, by comparing it with a monotonic clock. Pauses then keep their length, and a webhook that has
 * failed for ten seconds does not count as failing for three days. A suspended machine looks like one whose clock was set forward: attempts
 * did not fail while it slept, and deliveries that became due in its sleep are sent.
 */

import type { CheckClock } from '../kernel/clock.ts';
import type { Clock } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import type { ClockLeadStore } from '../store/port/housekeeping.ts';
import { CLOCK_STEP_MS } from '../store/port/limits.ts';

type Dependencies = {
  readonly clockLead: Pick<ClockLeadStore, 'moveWebhooks' | 'moveRetries'>;
  readonly clock: Clock;
  /** A monotonic clock in milliseconds. */
  readonly stopwatch: () => number;
  readonly log: Log;
};

/** If the database cannot be written, the next call tries again. */
export function createClockWatch({ clockLead, clock, stopwatch, log }: Dependencies): CheckClock {
  let aheadMs = clock() - stopwatch();
  let moving: Promise<void> = Promise.resolve();
  const move = async (byMs: number): Promise<void> => {
    log.warn({ byMs }, 'the clock was set; pauses keep their length');
    try {
      await clockLead.moveWebhooks(byMs, clock());
    } catch (error) {
      aheadMs -= byMs;
      log.error({ err: error }, 'the clock was set, and waiting webhooks could not be rescheduled yet');
      return;
    }
    if (byMs > 0) return;
    clockLead.moveRetries(-byMs, clock()).catch((error: unknown) => {
      log.error({ err: error }, 'the clock was set back; some retries will be late');
    });
  };
  return () => {
    const ahead = clock() - stopwatch();
    const byMs = ahead - aheadMs;
    aheadMs = ahead;
    if (Math.abs(byMs) >= CLOCK_STEP_MS) moving = moving.then(() => move(Math.round(byMs)));
    return moving;
  };
}
