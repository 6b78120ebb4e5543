/** Occupies the share of a customer in a queue of the process, until it is released. */

import {
  RECORDS_READING_PER_CUSTOMER,
  RECORDS_READS_WAITING_PER_CUSTOMER,
  recordsReading,
} from '../../src/delivery/reads/records.ts';
import { SLICED_JOBS_MAX, slices, type Work } from '../../src/kernel/slices.ts';
import { enterLive, LIVE_PAGES_PER_CUSTOMER } from '../../src/portal/frame/event-stream.ts';
import { deferred } from './deferred.ts';

type Release = () => Promise<void>;

/** The pieces of work that wait. */
export function occupySlices(customerId: string): Release {
  let isHeld = true;
  function* held(): Work<void> {
    while (isHeld) yield;
  }
  const jobs = Array.from({ length: SLICED_JOBS_MAX }, () => slices(customerId, held()));
  return async () => {
    isHeld = false;
    await Promise.all(jobs);
  };
}

/** The reads of records that are in progress, and those that wait for their turn. */
export function occupyReads(customerId: string): Release {
  const end = deferred();
  const reads = RECORDS_READING_PER_CUSTOMER + RECORDS_READS_WAITING_PER_CUSTOMER;
  const all = Array.from({ length: reads }, () => recordsReading.run(customerId, () => end.promise));
  return async () => {
    end.resolve();
    await Promise.all(all);
  };
}

/** The live pages, each of a session of its own. */
export async function occupyLivePages(customerId: string): Promise<Release> {
  const gone = new AbortController();
  for (let n = 0; n < LIVE_PAGES_PER_CUSTOMER; n += 1) await enterLive(customerId, `session ${n}`, gone.signal);
  return async () => gone.abort();
}
