/** A field that names a webhook: people type a part of its name, or of its customer's, and choose. Any number of webhooks will do. */
import type { Webhook } from '../../domain/webhook.ts';
import { type Html, html } from '../../http/html.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import type { WebhookName } from '../../store/port/directory.ts';
import type { Store } from '../../store/port/store.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { type FormState, type Suggestion, suggestionOptions, type TextField, textField } from '../parts/fields.ts';
import { pageHeader } from '../parts/header.ts';
import { OPERATOR, ownerFilter, readOwners } from './owner.ts';

export const WEBHOOKS_SUGGESTED_AT = '/webhooks/suggestions';
const SUGGESTED = 20;
/** Customers whose webhooks are suggested because the customer's name has the typed text. */
const CUSTOMERS_SUGGESTED = 5;
/** Customers of one name among whose webhooks a name is looked up. With more, only an id names a webhook. */
const NAMESAKES_MAX = 20;
/** Between the name of a webhook and its customer. */
const BETWEEN = ' · ';

type Options = Pick<TextField, 'isRequired' | 'placeholder'> & {
  /** Suggests only webhooks of this customer, as the filter of lists has it. */
  readonly customer?: string | null;
};

/** The field's value is a name as `shownWebhook` makes it, and `webhookNamed` reads it. */
export function webhookField(
  state: FormState,
  { isRequired, placeholder = 'Name', customer = null }: Options = {},
): Html {
  return textField(state, {
    isRequired,
    name: 'webhook',
    label: 'Webhook',
    placeholder,
    autocomplete: 'off',
    suggestions: [],
    suggestFrom:
      customer === null ? WEBHOOKS_SUGGESTED_AT : `${WEBHOOKS_SUGGESTED_AT}?${new URLSearchParams({ customer })}`,
  });
}

/** The name of a webhook, in the operator's portal with that of its customer: `Orders · Bolt Hardware`. */
export async function shownWebhook(store: Store, webhook: WebhookName): Promise<string> {
  return (await readOwners(store, 'webhook', [webhook.id])).named(webhook);
}

/** The webhook with an id, or with a name as people type it, with or without its customer. Null for none and for several. */
export async function webhookNamed(store: Store, typed: string): Promise<Webhook | null> {
  if (isUuidV7(typed)) return store.webhooks.get(typed);
  const whole = await only(store, typed, null);
  const at = typed.lastIndexOf(BETWEEN);
  if (whole !== null || at < 0 || store.customerId !== null) return whole;
  const owner = typed.slice(at + BETWEEN.length).trim();
  const customers = await store.customers.search({ name: owner }, null, NAMESAKES_MAX + 1);
  if (customers.length > NAMESAKES_MAX) return null;
  const found = await Promise.all(customers.map(({ id }) => only(store, typed.slice(0, at), id)));
  const [webhook = null, ...others] = found.filter((one) => one !== null);
  return others.length === 0 ? webhook : null;
}

/** The only webhook with this name: of a customer, or with null of the operator or else of all. */
async function only(store: Store, name: string, customerId: string | null): Promise<Webhook | null> {
  // Two, to know that there are several.
  const named = (owner: { readonly customerId?: string }) =>
    store.directory.webhooks({ ...owner, name: name.trim() }, null, 2);
  const found = await named({ customerId: customerId ?? OPERATOR });
  const all = found.length > 0 || customerId !== null ? found : await named({});
  return all.length === 1 ? (all[0]?.webhook ?? null) : null;
}

export function webhookSuggestionPage({ pages, store }: SharedPageDependencies): PageRoute<'both'> {
  return pages.view(WEBHOOKS_SUGGESTED_AT, 'both', async ({ query }) => {
    const { filter } = await ownerFilter(store, query);
    const found = await suggested(store, readText(query, 'webhook'), filter);
    const { named } = await readOwners(
      store,
      'webhook',
      found.map(({ id }) => id),
    );
    const times = Map.groupBy(found, (webhook) => named(webhook));
    const suggestions: Suggestion[] = found.map((webhook) => {
      const name = named(webhook);
      return times.get(name)?.length === 1 ? name : { value: webhook.id, label: name };
    });
    const title = 'Webhooks found';
    const links = found.map((webhook) => html`<li><a href="/webhooks/${webhook.id}">${named(webhook)}</a></li>`);
    return {
      title,
      content: html`${pageHeader({ title })}<ul>${links}</ul>`,
      partial: suggestionOptions(suggestions),
    };
  });
}

type Among = { readonly customerId?: string };

/** The newest webhooks whose name, or whose customer's name, contains the text. `among`: those of one customer. */
async function suggested(store: Store, text: string | null, among: Among): Promise<Webhook[]> {
  const read = async (filter: Among & { readonly text?: string }): Promise<Webhook[]> =>
    (await store.directory.webhooks({ ...filter, ...among }, null, SUGGESTED)).map(({ webhook }) => webhook);
  if (text === null) return read({});
  const at = text.lastIndexOf(BETWEEN);
  const [name, owner] = at < 0 ? [null, text] : [text.slice(0, at), text.slice(at + BETWEEN.length)];
  const isNarrow = store.customerId !== null || among.customerId !== undefined;
  const customers = isNarrow ? [] : await store.customers.search({ text: owner }, null, CUSTOMERS_SUGGESTED);
  const found = await Promise.all([
    read({ text: isNarrow && name !== null ? name : text }),
    ...customers.map(({ id }) => read({ customerId: id, ...(name !== null && { text: name }) })),
  ]);
  return [...new Map(found.flat().map((webhook) => [webhook.id, webhook])).values()].slice(0, SUGGESTED);
}
