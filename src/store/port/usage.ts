/** The usage of customers (`customer_usage`), and how many events they may publish each second (contract §8.9, §8.7). */

import type { Allowed, WantedEvents } from '../../domain/allowance.ts';
import type { Usage, UsageOfDay } from '../../domain/usage.ts';
import type { StepResult } from './steps.ts';

/** The name and the operator's own id are null for the operator, and for a customer that was deleted. */
export type ListedUsage = UsageOfDay & { readonly name: string | null; readonly externalId: string | null };

/** Both days are part of the period. `customerId`: of this customer, with null of the operator; undefined: of all. */
type UsagePeriod = {
  readonly since: string;
  readonly until: string;
  readonly customerId?: string | null | undefined;
};

export type UsageStore = {
  /** Adds to the usage of a customer, or with null of the operator, on the day of `now`. In memory, until `write`. */
  count(customerId: string | null, more: Partial<Usage>, now: number): void;
  /** How many rows are to be written. */
  unwritten(): number;
  /**
   * Adds up to `limit` rows of counts. Several processes may add to the same rows at the same time. If it fails, the rows are written
   * later, unless the database may have kept them: nothing is counted twice.
   */
  write(limit: number): Promise<StepResult>;
  /** The days with usage of one customer or of the operator, oldest first. */
  days(customerId: string | null, since: string, until: string): Promise<UsageOfDay[]>;
  /** Days with usage, by customer and day. `after`: the last one of the page before. */
  list(
    period: UsagePeriod,
    after: Pick<UsageOfDay, 'customerId' | 'day'> | null,
    limit: number,
  ): Promise<ListedUsage[]>;
  /** The sum of each customer over the period, by customer. */
  sums(period: UsagePeriod, after: string | null | undefined, limit: number): Promise<Omit<ListedUsage, 'day'>[]>;
  /** The days with usage, summed over all customers and the operator, oldest first. */
  daysOfAll(since: string, until: string): Promise<Omit<UsageOfDay, 'customerId'>[]>;
  /** Deletes up to `limit` days before this one. */
  purge(before: string, limit: number): Promise<StepResult>;
};

/**
 * The allowances of customers with a limit of events a second: in memory on SQLite, shared by all instances on PostgreSQL.
 * `take` takes for all customers or for none. `giveBack` returns the allowance of events that were not kept.
 */
export type AllowanceStore = {
  take(wanted: readonly WantedEvents[], now: number): Promise<Allowed>;
  giveBack(wanted: readonly WantedEvents[], now: number): Promise<void>;
};
