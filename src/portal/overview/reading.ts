/** Reads the figures of the overview at most once in an interval, however many clients watch it live. */

import { EXPIRY_WARNING_MS } from '../../kernel/limits/limits.ts';
import { AILING_SHOWN, EXPIRIES_SHOWN, OVERVIEW_KEPT_MS, QUEUES_SHOWN } from '../../kernel/limits/portal.ts';
import type { Period, Series } from '../../observe/figures.ts';
import type { Expiry } from '../../store/housekeeping.ts';
import type { Ailing, Backlog, DeadLetters } from '../../store/overview.ts';
import type { PageDependencies } from '../dependencies.ts';

export type Overview = {
  readonly at: number;
  readonly series: Series;
  readonly backlog: Backlog;
  readonly dead: DeadLetters;
  readonly ailing: readonly Ailing[];
  /** Expired, or expires within 30 days. */
  readonly expiring: readonly Expiry[];
};

export type ReadOverview = (period: Period) => Promise<Overview>;

export function overviewReader({
  store,
  figures,
  clock,
}: Pick<PageDependencies, 'store' | 'figures' | 'clock'>): ReadOverview {
  const kept = new Map<Period, { readonly at: number; readonly reading: Promise<Overview> }>();
  const read = async (period: Period, at: number): Promise<Overview> => {
    const [series, backlog, dead, ailing, expiries] = await Promise.all([
      figures.series(period, 0),
      store.overview.backlog(QUEUES_SHOWN),
      store.overview.dead(),
      store.overview.ailing(AILING_SHOWN),
      store.expiry.all(EXPIRIES_SHOWN),
    ]);
    const expiring = expiries.filter(({ expiresAt }) => expiresAt <= at + EXPIRY_WARNING_MS);
    return { at, series, backlog, dead, ailing, expiring };
  };
  return (period) => {
    const now = clock();
    const known = kept.get(period);
    if (known !== undefined && now >= known.at && now < known.at + OVERVIEW_KEPT_MS) return known.reading;
    const reading = read(period, now);
    kept.set(period, { at: now, reading });
    // A failed read is not kept.
    reading.catch(() => kept.delete(period));
    return reading;
  };
}
