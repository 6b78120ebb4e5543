/** Work for lanes, and what they begin of it. */
import type { Job } from '../../src/delivery/job.ts';
import type { Lanes } from '../../src/delivery/lanes.ts';
import { batchOf } from './attempts.ts';
import { NOW } from './store.ts';

/** Jobs of one record each, at offsets from `first` on. */
export function jobs(webhookNumber: number, endpointId: string, count: number, first = 0): Job[] {
  return Array.from({ length: count }, (_, n) => ({
    webhookNumber,
    endpointId,
    batch: batchOf(first + n, first + n, { webhookNumber }),
    ordered: false,
    leaseExpiresAt: NOW,
  }));
}

/** Starts whatever may start. */
export function startAll(lanes: Lanes): Job[] {
  const started: Job[] = [];
  for (let job = lanes.next(); job !== null; job = lanes.next()) started.push(job);
  return started;
}
