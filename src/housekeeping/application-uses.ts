/** Writes when applications were last used. Requests only note it in memory. */

import type { ApplicationUseStore } from '../store/port/access.ts';
import { APPLICATION_USES_AT_ONCE } from '../store/port/limits.ts';
import type { HousekeepingJob } from './scheduler.ts';

/** How often the last uses of applications are written. */
const APPLICATION_USES_EVERY_MS = 60_000;

/** A run writes the uses noted before it began, so that it ends even while applications stay in use. */
export function applicationUsesJob(uses: ApplicationUseStore): HousekeepingJob {
  return {
    name: 'application-uses',
    everyMs: APPLICATION_USES_EVERY_MS,
    everywhere: true,
    begin: () => {
      let left = uses.unwritten();
      return async (size) => {
        const { took } = await uses.write(Math.min(size, left));
        left -= size;
        // Reports no rows, because this runs too often for the log and the metrics.
        return { done: left <= 0, rows: 0, took };
      };
    },
  };
}

/** Writes all noted uses. Called at a stop, before the store is closed. */
export async function writeApplicationUses(uses: ApplicationUseStore): Promise<void> {
  while (uses.unwritten() > 0) await uses.write(APPLICATION_USES_AT_ONCE);
}
