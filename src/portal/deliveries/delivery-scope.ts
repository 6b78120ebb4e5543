/** Whose deliveries a page shows: the filters by webhook and by customer, which all pages of deliveries have. */

import type { Webhook } from '../../domain/webhook.ts';
import type { Html } from '../../http/html.ts';
import type { AttemptFeed } from '../../observe/attempt-feed.ts';
import type { Store } from '../../store/port/store.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { newForm, selectField } from '../parts/fields.ts';
import { CHOICES_MAX } from '../parts/limits.ts';
import { type OwnerFilter, ownerFilter } from '../record/owner.ts';

export type DeliveryScope = {
  readonly owner: OwnerFilter;
  /** Null without the filter by webhook. */
  readonly webhook: Webhook | null;
  /** The webhooks of the customer of the filter: their ids by number; null without the filter. */
  readonly ofCustomer: ReadonlyMap<number, string> | null;
  /** The numbers of the webhooks that both filters leave; null without a filter. */
  readonly numbers: readonly number[] | null;
};

/** Reads both filters. Throws 404 for an unknown webhook. */
export async function readScope(
  { services, store }: Pick<SharedPageDependencies, 'services' | 'store'>,
  query: URLSearchParams,
): Promise<DeliveryScope> {
  const id = readText(query, 'webhook');
  const webhook = id === null ? null : await services.webhooks.get(id);
  const owner = await ownerFilter(store, query);
  const { customerId } = owner.filter;
  const ofCustomer = customerId === undefined ? null : await store.customers.webhookNumbers(customerId);
  const chosen = webhook === null ? null : [webhook.progress.webhookNumber];
  const numbers = chosen ?? (ofCustomer === null ? null : [...ofCustomer.keys()]);
  return {
    owner,
    webhook,
    ofCustomer,
    numbers: numbers?.filter((number) => ofCustomer === null || ofCustomer.has(number)) ?? null,
  };
}

export type ScopeFields = {
  /** A customer's portal has no filter by customer. */
  readonly fields: readonly [webhook: Html, ...customer: Html[]];
  /** The webhooks among which one can be chosen, at most `CHOICES_MAX`. */
  readonly webhooks: readonly Webhook[];
};

/** The fields of both filters. */
export async function scopeFields(store: Store, { owner, webhook }: DeliveryScope): Promise<ScopeFields> {
  const found = await store.webhooks.list('', CHOICES_MAX, owner.filter);
  const isAmong = webhook === null || found.some(({ id }) => id === webhook.id);
  const webhooks = isAmong ? found : [...found, webhook];
  const choices = webhookChoices(webhooks, 'Any webhook');
  const field = selectField(newForm({ webhook: webhook?.id }), { name: 'webhook', label: 'Webhook', choices });
  return { webhooks, fields: [field, ...owner.fields] };
}

/** The feed of the attempts to deliver to the customer of the filter. */
export function ownFeed({ feed, ...parts }: SharedPageDependencies, query: URLSearchParams): AttemptFeed {
  if (readText(query, 'customer') === null || parts.store.customerId !== null) return feed;
  return feed.within(async () => new Set((await readScope(parts, query)).ofCustomer?.values()));
}

/** By name, after the choice of none. */
export function webhookChoices(
  webhooks: readonly Pick<Webhook, 'id' | 'name'>[],
  none: string,
): { value: string; label: string }[] {
  const named = webhooks.map(({ id, name }) => ({ value: id, label: name }));
  return [{ value: '', label: none }, ...named.sort((a, b) => a.label.localeCompare(b.label, 'en'))];
}
