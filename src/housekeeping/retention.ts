/** Deletes old data: records, attempts and events after their retention, the logs of deleted webhooks, and expired rows. */

import type { Log } from '../kernel/log.ts';
import type { KeptSince, PartitionsByAge, RetentionStore, RowsByAge } from '../store/port/housekeeping.ts';
import { NO_TIME, type StepResult } from '../store/port/steps.ts';
import type { Store } from '../store/port/store.ts';
import { PARTITIONS_EVERY_MS } from './limits.ts';
import type { HousekeepingJob } from './scheduler.ts';

/** How long the status of a finished erasure is kept. */
const ERASURE_KEPT_MS: number = 90 * 86_400_000;

/** Intervals of the jobs for expired rows, deleted webhooks and retention, and of the check for due jobs. */
const EXPIRED_EVERY_MS = 60_000;
const REMOVAL_EVERY_MS = 5000;
const RETENTION_EVERY_MS = 600_000;

/**
 * How many days finished records and attempts are kept; 0 means forever. Records count from the end of their batch. Attempts count from
 * their start, and are deleted with their records at the latest. Pending records are never deleted, except in mode `pull`: unacknowledged
 * ones are kept like dead ones, from their publication on.
 */
export type Retention = {
  readonly deliveredDays: number;
  /** For dead, discarded and unread records. */
  readonly deadDays: number;
  readonly attemptsDays: number;
};

const DAY_MS = 86_400_000;
const NOTHING: StepResult = { done: true, rows: 0, took: NO_TIME };

export function retentionJobs(
  { retention: store, removals }: Pick<Store, 'retention' | 'removals'>,
  days: Retention,
  log: Pick<Log, 'warn'>,
): HousekeepingJob[] {
  return [
    { name: 'removed-webhooks', everyMs: REMOVAL_EVERY_MS, begin: () => removals.step },
    {
      name: 'records',
      everyMs: RETENTION_EVERY_MS,
      begin: (now) => {
        const deliveredBy = before(now, days.deliveredDays);
        const deadBy = before(now, days.deadDays);
        let webhookNumber: number | null = null;
        let from: number | null = null;
        return async (size) => {
          if (deliveredBy === null && deadBy === null) return NOTHING;
          if (from === null) {
            webhookNumber = await store.nextWebhook(webhookNumber ?? -1);
            from = 0;
          }
          if (webhookNumber === null) return NOTHING;
          const { next, rows, took, unread } = await store.records({ webhookNumber, from, deliveredBy, deadBy }, size);
          from = next;
          if (unread !== undefined)
            log.warn(unread, 'records were deleted that their reader had not acknowledged for too long');
          return { done: false, rows, took };
        };
      },
    },
    ...(store.byAge.kind === 'rows' ? rowJobs(store.byAge, days) : [partitionJob(store.byAge, days)]),
  ];
}

function before(now: number, keptDays: number): number | null {
  return keptDays === 0 ? null : now - keptDays * DAY_MS;
}

function partitionJob(
  { step }: PartitionsByAge,
  { deliveredDays, deadDays, attemptsDays }: Retention,
): HousekeepingJob {
  return {
    name: 'partitions',
    everyMs: PARTITIONS_EVERY_MS,
    begin: (now) => {
      const recordsDays = deliveredDays === 0 || deadDays === 0 ? 0 : Math.max(deliveredDays, deadDays);
      const kept: KeptSince = {
        deliveredSince: before(now, deliveredDays),
        recordsSince: before(now, recordsDays),
        attemptsSince: before(now, attemptsDays),
      };
      return () => step(kept, now);
    },
  };
}

function rowJobs(store: RowsByAge, days: Retention): HousekeepingJob[] {
  return [
    {
      name: 'attempts',
      everyMs: RETENTION_EVERY_MS,
      begin: (now) => {
        const oldest = before(now, days.attemptsDays);
        return async (size) => (oldest === null ? NOTHING : store.attempts(oldest, size));
      },
    },
    {
      // No webhook subscribed to these events, so they count as delivered when they happened.
      name: 'unwanted-events',
      everyMs: RETENTION_EVERY_MS,
      begin: (now) => {
        const oldest = before(now, days.deliveredDays);
        let after = -1;
        return async (size) => {
          if (oldest === null) return NOTHING;
          const result = await store.unwantedEvents({ after, before: oldest }, size);
          after = result.next ?? after;
          return result;
        };
      },
    },
    {
      // Goes through the whole table, because tokens with a long validity can come before expired ones.
      name: 'tokens',
      everyMs: EXPIRED_EVERY_MS,
      begin: (now) => {
        let after = -1;
        return async (size) => {
          const result = await store.tokens({ after, now }, size);
          after = result.next ?? after;
          return result;
        };
      },
    },
  ];
}

type Expiring = Pick<RetentionStore, 'idempotencyKeys' | 'keptReplies' | 'erasures' | 'shortLived'>;

/** Deletes expired idempotency keys, kept replies, finished erasures and values that live for minutes. */
export function expiredJobs(store: Expiring): HousekeepingJob[] {
  const { shortLived } = store;
  const removing: HousekeepingJob[] =
    shortLived === null
      ? []
      : [{ name: 'short-lived', everyMs: EXPIRED_EVERY_MS, begin: (now) => (size) => shortLived(now, size) }];
  return [
    ...removing,
    {
      name: 'idempotency-keys',
      everyMs: EXPIRED_EVERY_MS,
      begin: (now) => (size) => store.idempotencyKeys(now, size),
    },
    {
      name: 'erasures',
      everyMs: EXPIRED_EVERY_MS,
      begin: (now) => (size) => store.erasures(now - ERASURE_KEPT_MS, size),
    },
    {
      name: 'kept-replies',
      everyMs: EXPIRED_EVERY_MS,
      begin: (now) => (size) => store.keptReplies(now, size),
    },
  ];
}
