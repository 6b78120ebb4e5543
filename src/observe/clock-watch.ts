/**
 * Notices that the system's clock was set, by a clock that cannot be: a pause keeps its length, and a webhook that has failed for ten
 * seconds has not failed for three days. A machine that was suspended looks the same as one whose clock was set forward: its sleep is no
 * time in which attempts failed, and what became due meanwhile goes out.
 */
import type { Clock } from '../kernel/ids.ts';
import { CLOCK_STEP_MS } from '../kernel/limits/limits.ts';
import type { ClockLeadStore } from '../store/clock-lead.ts';
import type { Log } from './log.ts';

/** To be awaited before anything is judged by the clock. Resolves at once unless the clock was set since the last call. */
export type CheckClock = () => Promise<void>;

type Dependencies = {
  readonly clockLead: Pick<ClockLeadStore, 'moveWebhooks' | 'moveRetries'>;
  readonly clock: Clock;
  /** Milliseconds that only grow. */
  readonly stopwatch: () => number;
  readonly log: Log;
};

/** What cannot be written is tried again at the next call. */
export function createClockWatch({ clockLead, clock, stopwatch, log }: Dependencies): CheckClock {
  let aheadMs = clock() - stopwatch();
  let moving: Promise<void> = Promise.resolve();
  const move = async (byMs: number): Promise<void> => {
    log.warn({ byMs }, 'the clock was set: pauses keep their length');
    try {
      await clockLead.moveWebhooks(byMs, clock());
    } catch (error) {
      aheadMs -= byMs;
      log.error({ err: error }, 'the clock was set, and what waits by it could not be moved yet');
      return;
    }
    if (byMs > 0) return;
    clockLead.moveRetries(-byMs, clock()).catch((error: unknown) => {
      log.error({ err: error }, 'the clock was set back: some retries come later than they should');
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
