/** The job that frees what was put off while the clock was ahead, once it is set back: at every start the dispatcher does so first. */

import type { Clock } from '../kernel/ids.ts';
import { CLOCK_LOOK_EVERY_MS } from '../kernel/limits/housekeeping.ts';
import type { ClockLeadStore } from '../store/clock-lead.ts';
import type { Job } from './scheduler.ts';

type Dependencies = {
  readonly clockLead: ClockLeadStore;
  readonly clock: Clock;
  /** Tells the dispatcher that there may be work. */
  readonly wake: () => void;
};

export function clockSetBackJob({ clockLead, clock, wake }: Dependencies): Job {
  return {
    name: 'clock-set-back',
    everyMs: CLOCK_LOOK_EVERY_MS,
    // Asked for at every step: what was written since the first one is not ahead of it.
    begin: () => async (size) => {
      const result = await clockLead.step(clock(), size);
      if (result.rows > 0) wake();
      return result;
    },
  };
}
