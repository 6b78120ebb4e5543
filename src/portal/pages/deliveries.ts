/** The pages of deliveries: the list, one delivery's story, sending again, and what goes out as it does. */
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { deliveryDetailPages } from './deliveries-detail.ts';
import { deliveryListPages } from './deliveries-list.ts';
import { deliveryLivePages } from './deliveries-live.ts';
import { deliveryReplayPages } from './deliveries-replay.ts';

export function deliveryPages(dependencies: PageDependencies): PageRoute[] {
  return [
    ...deliveryListPages(dependencies),
    ...deliveryReplayPages(dependencies),
    ...deliveryLivePages(dependencies),
    ...deliveryDetailPages(dependencies),
  ];
}
