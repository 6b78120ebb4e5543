/** Writes what customers used, and deletes it after 400 days. Requests and deliveries only count it in memory. */

import { USAGE_KEPT_DAYS } from '../domain/limits.ts';
import { DAY_MS, dayOf } from '../domain/usage.ts';
import type { UsageStore } from '../store/port/usage.ts';
import type { HousekeepingJob } from './scheduler.ts';

/** How often the counted usage is written: what a crash can lose. */
const USAGE_EVERY_MS = 30_000;

/** A run writes the counts from before it began, so that it ends even while customers use the service. */
export function usageJob(usage: UsageStore): HousekeepingJob {
  return {
    name: 'usage',
    everyMs: USAGE_EVERY_MS,
    everywhere: true,
    begin: (now) => {
      let left = usage.unwritten();
      return async (size) => {
        if (left > 0) {
          const { took } = await usage.write(Math.min(size, left));
          left -= size;
          // Reports no rows, because this runs too often for the log and the metrics.
          return { done: false, rows: 0, took };
        }
        return usage.purge(dayOf(now - USAGE_KEPT_DAYS * DAY_MS), size);
      };
    },
  };
}
