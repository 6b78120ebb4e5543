/** The pages about deliveries, and the links between them. */
import type { Html } from '../../http/html.ts';
import { tabs } from '../parts/header.ts';

export const DELIVERIES_PATH = '/deliveries';

export function deliveryTabs(current: 'list' | 'failures' | 'live'): Html {
  return tabs('Deliveries', [
    { href: DELIVERIES_PATH, label: 'All deliveries', isCurrent: current === 'list' },
    { href: `${DELIVERIES_PATH}/failures`, label: 'Failures by cause', isCurrent: current === 'failures' },
    { href: `${DELIVERIES_PATH}/watch`, label: 'Live', isCurrent: current === 'live' },
  ]);
}
