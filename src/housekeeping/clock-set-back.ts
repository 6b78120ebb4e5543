/** After the clock was set back, releases work that was scheduled while it was ahead. The dispatcher does the same at each start. */

import type { Clock } from '../kernel/ids.ts';
import type { ClockLeadStore } from '../store/port/housekeeping.ts';
import type { HousekeepingJob } from './scheduler.ts';

/** How often to look for records ahead of the clock. */
const CLOCK_LOOK_EVERY_MS = 60_000;

type Dependencies = {
  readonly clockLead: ClockLeadStore;
  readonly clock: Clock;
  /** Notifies the dispatcher that there may be work. */
  readonly wake: () => void;
};

export function clockSetBackJob({ clockLead, clock, wake }: Dependencies): HousekeepingJob {
  return {
    name: 'clock-set-back',
    everyMs: CLOCK_LOOK_EVERY_MS,
    // Reads the clock at each step: work that was written since the first step is not ahead of it.
    begin: () => async (size) => {
      const result = await clockLead.step(clock(), size);
      if (result.rows > 0) wake();
      return result;
    },
  };
}
