/** The pages of deliveries: list, detail, replay and live attempts. */
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
