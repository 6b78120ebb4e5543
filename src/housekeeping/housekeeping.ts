/** The background jobs of the service: deletes expired data, and warns before keys and certificates expire. */

import type { CheckClock } from '../kernel/clock.ts';
import type { Ids } from '../kernel/ids.ts';
import type { AccessVerbs } from '../store/port/access.ts';
import type { CustomerVerbs } from '../store/port/customers.ts';
import type { HousekeepingVerbs } from '../store/port/housekeeping.ts';
import type { Store } from '../store/port/store.ts';
import type { WebhookVerbs } from '../store/port/webhooks.ts';
import { applicationUsesJob } from './application-uses.ts';
import { auditHeadJob } from './audit-head.ts';
import { clockSetBackJob } from './clock-set-back.ts';
import { expiryWarningsJob } from './expiry-warnings.ts';
import { giveUpJob } from './give-up.ts';
import { expiredJobs, type Retention, retentionJobs } from './retention.ts';
import {
  createHousekeepingScheduler,
  type HousekeepingJob,
  type HousekeepingScheduler,
  type SchedulerOptions,
} from './scheduler.ts';
import { searchTermJobs } from './search-terms.ts';
import { usageJob } from './usage.ts';

export type Housekeeping = HousekeepingScheduler;

export type HousekeepingOptions = Omit<SchedulerOptions, 'jobs'> & {
  readonly store: AccessVerbs & CustomerVerbs & HousekeepingVerbs & WebhookVerbs & Pick<Store, 'audit' | 'terms'>;
  readonly ids: Ids;
  readonly checkClock: CheckClock;
  readonly retention: Retention;
  /** Jobs of other modules. */
  readonly further?: readonly HousekeepingJob[];
  /** Notifies the dispatcher that there may be work. */
  readonly wake: () => void;
};

export function createHousekeeping({
  store,
  ids,
  checkClock,
  retention,
  wake,
  further = [],
  ...options
}: HousekeepingOptions): Housekeeping {
  const { log, clock } = options;
  return createHousekeepingScheduler({
    ...options,
    jobs: [
      clockSetBackJob({ clockLead: store.clockLead, clock, wake }),
      ...expiredJobs(store.retention),
      ...retentionJobs(store, retention, log),
      giveUpJob({ webhooks: store.webhooks, clock, checkClock, ids, log, wake }),
      auditHeadJob({ audit: store.audit, log }),
      applicationUsesJob(store.applicationUses),
      usageJob(store.usage),
      ...searchTermJobs(store.terms),
      expiryWarningsJob({ expiry: store.expiry, ids, log, wake }),
      ...further,
    ],
  });
}
