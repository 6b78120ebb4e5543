/** Reads that several pages of one webhook share. */
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

/** The URL of its endpoint; empty in mode `pull`, of which there are no attempts. */
export async function endpointUrlOf({ services }: Reading, { endpointId }: Webhook): Promise<string> {
  return endpointId === null ? '' : (await services.endpoints.get(endpointId)).url;
}
