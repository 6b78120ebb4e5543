/** Writes when applications were last used. The requests themselves write nothing: they note it in memory. */
import { APPLICATION_USES_AT_ONCE, APPLICATION_USES_EVERY_MS } from '../kernel/limits/housekeeping.ts';
import type { ApplicationUseStore } from '../store/application-uses.ts';
import type { Job } from './scheduler.ts';

/** A run writes what was noted when it began, each application once: one that is always in use does not keep it from ending. */
export function applicationUsesJob(uses: ApplicationUseStore): Job {
  return {
    name: 'application-uses',
    everyMs: APPLICATION_USES_EVERY_MS,
    begin: () => {
      let left = uses.unwritten();
      return async (size) => {
        const { took } = await uses.write(Math.min(size, left));
        left -= size;
        // No rows: neither the log nor the metrics are told each time.
        return { done: left <= 0, rows: 0, took };
      };
    },
  };
}

/** Writes all that was noted: at a stop, before the store is closed. */
export async function writeApplicationUses(uses: ApplicationUseStore): Promise<void> {
  while (uses.unwritten() > 0) await uses.write(APPLICATION_USES_AT_ONCE);
}
