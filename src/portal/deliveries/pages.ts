/** The pages of deliveries: the list, one delivery's story, sending again, and what goes out as it does. */
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { deliveryDetailPages } from './detail.ts';
import { deliveryListPages } from './list.ts';
import { deliveryLivePages } from './live.ts';
import { deliveryReplayPages } from './replay.ts';

export function deliveryPages(dependencies: PageDependencies): PageRoute[] {
  return [
    ...deliveryListPages(dependencies),
    ...deliveryReplayPages(dependencies),
    ...deliveryLivePages(dependencies),
    ...deliveryDetailPages(dependencies),
  ];
}
