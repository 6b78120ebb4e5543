/** Stores the values by which people find events, shortly after publishing, and deletes those of events that can no longer be found. */

import { NO_TIME } from '../store/port/steps.ts';
import type { TermStore } from '../store/port/terms.ts';
import type { HousekeepingJob } from './scheduler.ts';

const KEPT_EVERY_MS = 2000;
const FORGOTTEN_EVERY_MS = 3_600_000;

export function searchTermJobs(terms: Pick<TermStore, 'step' | 'forget'>): HousekeepingJob[] {
  return [
    {
      name: 'search-terms',
      everyMs: KEPT_EVERY_MS,
      // Reports no rows, because this runs too often for the log and the metrics.
      begin: (now) => async (size) => ({ ...(await terms.step(now, size)), rows: 0 }),
    },
    {
      name: 'old-search-terms',
      everyMs: FORGOTTEN_EVERY_MS,
      begin: () => {
        let after: number | null = -1;
        return async (size) => {
          if (after === null) return { done: true, rows: 0, took: NO_TIME };
          const { next, ...result } = await terms.forget(after, size);
          after = next;
          return result;
        };
      },
    },
  ];
}
