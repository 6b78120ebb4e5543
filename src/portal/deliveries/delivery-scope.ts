/** Whose deliveries a page shows: the filters by webhook and by customer, which all pages of deliveries have. */

import type { Webhook } from '../../domain/webhook.ts';
import type { Html } from '../../http/html.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import type { AttemptFeed } from '../../observe/attempt-feed.ts';
import type { Store } from '../../store/port/store.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { newForm } from '../parts/fields.ts';
import { type OwnerFilter, ownerFilter } from '../record/owner.ts';
import { shownWebhook, webhookField, webhookNamed } from '../record/webhook-choice.ts';

type DeliveryScope = {
  readonly owner: OwnerFilter;
  /** Null without the filter by webhook. */
  readonly webhook: Webhook | null;
  /** The typed name of a webhook if there is no such one, or several. Nothing fits it. */
  readonly unknown: string | null;
  /** The webhooks of the customer of the filter: their ids by number; null without the filter. */
  readonly ofCustomer: ReadonlyMap<number, string> | null;
  /** The numbers of the webhooks that both filters leave; null without a filter. */
  readonly numbers: readonly number[] | null;
};

/** The query with the id of the webhook whose name was typed. A name of none, or of several, stays. */
export async function withWebhookId(store: Store, query: URLSearchParams): Promise<URLSearchParams> {
  const typed = readText(query, 'webhook');
  const webhook = typed === null || isUuidV7(typed) ? null : await webhookNamed(store, typed);
  if (webhook === null) return query;
  const resolved = new URLSearchParams(query);
  resolved.set('webhook', webhook.id);
  return resolved;
}

/** Reads both filters, of a query of `withWebhookId`. Throws 404 for an unknown id. */
export async function readScope(
  { services, store }: Pick<SharedPageDependencies, 'services' | 'store'>,
  query: URLSearchParams,
): Promise<DeliveryScope> {
  const asked = readText(query, 'webhook');
  const webhook = asked === null || !isUuidV7(asked) ? null : await services.webhooks.get(asked);
  const unknown = webhook === null ? asked : null;
  const owner = await ownerFilter(store, query);
  const { customerId } = owner.filter;
  const ofCustomer = customerId === undefined ? null : await store.customers.webhookNumbers(customerId);
  const chosen = webhook !== null ? [webhook.progress.webhookNumber] : unknown === null ? null : [];
  const numbers = chosen ?? (ofCustomer === null ? null : [...ofCustomer.keys()]);
  return {
    owner,
    webhook,
    unknown,
    ofCustomer,
    numbers: numbers?.filter((number) => ofCustomer === null || ofCustomer.has(number)) ?? null,
  };
}

/** The fields of both filters, in the order of the list of deliveries. A customer's portal has no filter by customer. */
export async function scopeFields(store: Store, { owner, webhook, unknown }: DeliveryScope): Promise<Html[]> {
  const shown = webhook === null ? unknown : await shownWebhook(store, webhook);
  const form = newForm({ webhook: shown });
  return [...owner.fields, webhookField(form, { customer: owner.typed, placeholder: 'Any webhook' })];
}

/** The feed of the attempts to deliver to the customer of the filter. */
export function ownFeed({ feed, ...parts }: SharedPageDependencies, query: URLSearchParams): AttemptFeed {
  if (readText(query, 'customer') === null || parts.store.customerId !== null) return feed;
  return feed.within(async () => new Set((await readScope(parts, query)).ofCustomer?.values()));
}
