/** The period of charts: the last hour, day or week, from the URL. */

import type { Html } from '../../http/html.ts';
import { PERIODS, type Period } from '../../observe/figures.ts';
import { readChoice } from '../query.ts';
import { tabs } from './header.ts';
import { withQuery } from './table.ts';

const NAMES = Object.keys(PERIODS) as readonly Period[];

/** Default: the last hour. */
export function readPeriod(query: URLSearchParams): Period {
  return readChoice(query, 'period', NAMES) ?? 'hour';
}

/** Links to the same page with another period. */
export function periodTabs(path: string, query: URLSearchParams, period: Period): Html {
  const items = NAMES.map((name) => ({
    href: withQuery(path, query, { period: name === 'hour' ? null : name }),
    label: `Last ${name}`,
    isCurrent: name === period,
  }));
  return tabs('Period', items);
}
