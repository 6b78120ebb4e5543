/** The usage of customers and applications: counted in memory until it is written. */

export const USAGE_COUNTS = ['events', 'deliveries', 'attempts', 'failures', 'bytes', 'tokens'] as const;

/**
 * Counts of a period. `events`: published for the customer; `deliveries`: records delivered; `attempts`: requests that carried records;
 * `failures`: failed attempts; `bytes`: of the bodies of answered attempts; `tokens`: issued.
 */
export type Usage = Record<(typeof USAGE_COUNTS)[number], number>;

/** `day` is a date in UTC, as 2026-11-21. */
export type UsageOfDay = { readonly customerId: string | null; readonly day: string; readonly usage: Usage };

export function noUsage(): Usage {
  return { events: 0, deliveries: 0, attempts: 0, failures: 0, bytes: 0, tokens: 0 };
}

export function addUsage(to: Usage, more: Partial<Usage>): void {
  for (const name of USAGE_COUNTS) to[name] += more[name] ?? 0;
}

export const DAY_MS = 86_400_000;

/** The date in UTC, as 2026-11-21. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

type UsageCounter = {
  /** Adds to the usage of a customer, or with null of the operator, on the day of `now`. */
  count(customerId: string | null, more: Partial<Usage>, now: number): void;
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

type LastUses = {
  note(applicationId: string, at: number): void;
  /** The latest use that is not written yet, or null. */
  latest(applicationId: string): number | null;
  size(): number;
  /** The next uses to write, each with its application. */
  first(limit: number): (readonly [applicationId: string, at: number])[];
  /** Drops uses that were written. An application that was used again during the write goes to the end of the queue. */
  forget(written: readonly (readonly [applicationId: string, at: number])[]): void;
};

/** When applications were last used, in memory: one entry for each application that was used since the last write. */
export function createLastUses(): LastUses {
  const noted = new Map<string, number>();
  return {
    note: (applicationId, at) => void noted.set(applicationId, at),
    latest: (applicationId) => noted.get(applicationId) ?? null,
    size: () => noted.size,
    first: (limit) => [...noted.entries()].slice(0, limit),
    forget: (written) => {
      for (const [applicationId, at] of written) {
        const latest = noted.get(applicationId) ?? at;
        noted.delete(applicationId);
        if (latest !== at) noted.set(applicationId, latest);
      }
    },
  };
}
