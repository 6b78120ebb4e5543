/** Reads that several pages of one webhook share. */
import type { Endpoint } from '../../domain/endpoint.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { WebhookListing } from '../../store/port/directory.ts';
import { type PageCall, pathId } from '../frame/call.ts';
import type { SharedPageDependencies } from '../frame/page.ts';

type Reading = Pick<SharedPageDependencies, 'store' | 'services'>;

/** The webhook of the page's path. Throws 404 if there is none. */
export async function listingOf({ store }: Reading, call: PageCall): Promise<WebhookListing> {
  const listing = await store.directory.webhook(pathId(call));
  if (listing === null) throw new Refusal('not_found', 'there is no such webhook');
  return listing;
}

/** Its endpoint; null in mode `pull`, of which there are no attempts. */
export async function endpointOf({ services }: Reading, { endpointId }: Webhook): Promise<Endpoint | null> {
  return endpointId === null ? null : services.endpoints.get(endpointId);
}
