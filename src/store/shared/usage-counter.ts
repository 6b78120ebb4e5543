/** Usage in memory, until it is written. */

import { addUsage, DAY_MS, dayOf, noUsage, type Usage, type UsageOfDay, type UsageStore } from '../port/usage.ts';

export type UsageCounter = Pick<UsageStore, 'count'> & {
  size(): number;
  /** The next rows to write, which from now on do not change. */
  first(limit: number): readonly UsageOfDay[];
  /** Drops the first rows. */
  forget(count: number): void;
};

/** Usage in memory: one row for each customer with usage since the last write, and for each day. */
export function createUsageCounter(): UsageCounter {
  let today = new Map<string | null, UsageOfDay>();
  let day = '';
  let dayEndsAt = 0;
  const queue: UsageOfDay[] = [];
  const takeOver = (): void => {
    queue.push(...today.values());
    today = new Map();
  };
  return {
    count: (customerId: string | null, more: Partial<Usage>, now: number): void => {
      if (now >= dayEndsAt || now < dayEndsAt - DAY_MS) {
        takeOver();
        day = dayOf(now);
        dayEndsAt = (Math.floor(now / DAY_MS) + 1) * DAY_MS;
      }
      let row = today.get(customerId);
      if (row === undefined) {
        row = { customerId, day, usage: noUsage() };
        today.set(customerId, row);
      }
      addUsage(row.usage, more);
    },
    size: (): number => queue.length + today.size,
    first: (limit: number): readonly UsageOfDay[] => {
      if (queue.length < limit) takeOver();
      return queue.slice(0, limit);
    },
    forget: (count: number): void => void queue.splice(0, count),
  };
}
