/** How many deliveries have each state, for the states above the list: as far as the service knows it without a search. */
import type { Failures } from '../../store/port/deliveries.ts';
import type { Store } from '../../store/port/store.ts';
import { FAILURES_EVERY_MS } from '../parts/limits.ts';
import { countText } from '../parts/text.ts';
import { sumOf } from '../record/causes.ts';
import type { Searched } from './delivery-search.ts';
import { isFailed, type StateCounts } from './search-line.ts';

type Counted = Pick<Store, 'customerId' | 'overview' | 'directory'>;

/** Filters with which the deliveries of a state are counted. Others would need a search. */
const COUNTED_BY: readonly string[] = ['state', 'webhook', 'customer'];

/** Empty with a filter by which nothing is counted, and without deliveries to count. */
export async function readStateCounts(
  store: Counted,
  asked: Searched,
  failures: () => Promise<Failures>,
): Promise<StateCounts> {
  const { terms, problems, one, numbers, customerId } = asked;
  const isCounted = terms.every((term) => COUNTED_BY.includes(term.field) || isFailed(term)) && problems.length === 0;
  // Several webhooks of one name have no count of their pending deliveries.
  if (!isCounted || numbers?.length === 0 || (asked.webhook !== null && one === null)) return {};
  const [pending, failing] = await Promise.all([
    one === null
      ? store.overview.backlog(customerId ?? store.customerId, 1).then(({ records }) => records)
      : store.directory.webhook(one.id).then((listing) => listing?.pendingRecords ?? 0),
    failures(),
  ]);
  return {
    pending: countText(pending),
    failed: leastText(sumOf(failing.groups, 'retrying'), failing),
    dead: leastText(failing.dead, failing),
  };
}

/** `10+` if more may exist. That there are none is told only if all were counted. */
function leastText(count: number, { isWhole }: Failures): string | undefined {
  if (isWhole) return countText(count);
  return count === 0 ? undefined : `${countText(count)}+`;
}

/** The same for a live list, which is read more often than failures are counted. */
export function keptStateCounts(
  store: Counted,
  clock: () => number,
): (asked: Searched, failures: () => Promise<Failures>) => Promise<StateCounts> {
  let kept: { readonly at: number; readonly counts: Promise<StateCounts> } | null = null;
  return (asked, failures) => {
    const now = clock();
    if (kept !== null && now >= kept.at && now < kept.at + FAILURES_EVERY_MS) return kept.counts;
    const counts = readStateCounts(store, asked, failures);
    kept = { at: now, counts };
    // A failed read is not kept.
    counts.catch(() => {
      kept = null;
    });
    return counts;
  };
}
