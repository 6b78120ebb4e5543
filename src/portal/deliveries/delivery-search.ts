/** Looks up what the search line names, and reads a page of the list. */
import type { Webhook, WebhookState } from '../../domain/webhook.ts';
import type { Html } from '../../http/html.ts';
import { readPageQuery } from '../../http/paging.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import { nearest } from '../../kernel/nearest.ts';
import type { DeliveryFilter, DeliveryPage, FailureGroup, Failures, LastAttempt } from '../../store/port/deliveries.ts';
import { FAILURES_GLANCE } from '../../store/port/limits.ts';
import type { Store } from '../../store/port/store.ts';
import type { DeliverySearch } from '../../webhooks/deliveries.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import { ownerFilter, ownerNames, readOwners } from '../record/owner.ts';
import type { Asked } from './delivery-filters.ts';
import { type SearchProblem, searchText, termText, withTerms } from './search-text.ts';

/** Webhooks of one name, and those among which a similar name is looked for. An installation has some thousands. */
const WEBHOOKS_MAX = 10_000;
const NAMES_READ = 50;

/** A search with the webhooks that it names. */
export type Searched = Asked & {
  /** The only webhook of the search; null if it names none or several. */
  readonly one: Webhook | null;
  /** The numbers of the webhooks of the search; null: all. */
  readonly numbers: readonly number[] | null;
  /** The customer of the search, empty for the operator; null: it names none. */
  readonly customerId: string | null;
  readonly names: Readonly<Partial<Record<string, string>>>;
};

/** Throws 404 for an unknown id of a webhook. Unknown names become problems. */
export async function lookedUp({ services, store }: SharedPageDependencies, asked: Asked): Promise<Searched> {
  const { customer, webhook: named } = asked;
  const names: Record<string, string> = {};
  const problems: SearchProblem[] = [...asked.problems];
  const refuse = (field: 'webhook' | 'customer', value: string, near: string | null): void => {
    const suggestion = near === null ? null : searchText(withTerms(asked.terms, [{ field, value: near }]));
    problems.push({ text: `There is no ${field} “${value}”.`, word: termText({ field, value }), suggestion });
  };

  const owner = customer === null ? {} : (await ownerFilter(store, new URLSearchParams({ customer }))).filter;
  const { customerId } = owner;
  if (customer !== null && customerId === 'unknown') {
    const similar = await store.customers.search({ text: customer }, null, 1);
    refuse('customer', customer, similar[0]?.name ?? null);
  } else if (customer !== null && customer === customerId) {
    names.customer = (await store.customers.names([customer])).get(customer) ?? customer;
  }
  const ofCustomer =
    customerId === undefined || customerId === 'unknown' ? null : await store.customers.webhookNumbers(customerId);

  const webhooks = named === null ? null : await webhooksNamed({ services, store }, named, owner.customerId);
  if (named !== null && webhooks !== null && 'near' in webhooks) refuse('webhook', named, webhooks.near);
  const found = webhooks === null || 'near' in webhooks ? null : webhooks.found;
  if (named !== null && isUuidV7(named) && found?.[0] !== undefined) names.webhook = found[0].name;
  const chosen = found?.map(({ progress }) => progress.webhookNumber) ?? null;
  const numbers = chosen ?? (ofCustomer === null ? null : [...ofCustomer.keys()]);
  return {
    ...asked,
    problems,
    // A word that names nothing is shown in the field, not as a filter.
    terms: asked.terms.filter((term) => !problems.some(({ word }) => word === termText(term))),
    one: found?.length === 1 ? (found[0] ?? null) : null,
    customerId: customerId ?? null,
    numbers: numbers?.filter((number) => ofCustomer === null || ofCustomer.has(number)) ?? null,
    names,
  };
}

type Named = { readonly found: readonly Webhook[] } | { readonly near: string | null };

/** Several customers may have webhooks of the same name. */
async function webhooksNamed(
  { services, store }: Pick<SharedPageDependencies, 'services' | 'store'>,
  named: string,
  customerId: string | undefined,
): Promise<Named> {
  if (isUuidV7(named)) return { found: [await services.webhooks.get(named)] };
  const within = customerId === undefined ? {} : { customerId };
  const found = await store.directory.webhooks({ name: named, ...within }, null, WEBHOOKS_MAX);
  if (found.length > 0) return { found: found.map(({ webhook }) => webhook) };
  const [similar] = await store.directory.webhooks({ text: named, ...within }, null, 1);
  const all = await store.directory.webhooks(within, null, NAMES_READ);
  const near = nearest(
    named,
    all.map(({ webhook }) => webhook.name),
  );
  return { near: similar?.webhook.name ?? near };
}

/** A page of deliveries, each with its last attempt. */
export type FoundDeliveries = DeliveryPage & {
  readonly attempts: readonly (LastAttempt | null)[];
  readonly ownerIn: (customerId: string | null) => Html | null;
  /** Nothing was found, but this event has the value or the id of the search. Null for customers: its page tells about others. */
  readonly unsent: { readonly id: string; readonly type: string } | null;
  /** The cause of all dead deliveries of the search, if it is one; only for the state `dead`. `name`: of the webhook. */
  readonly dead: { readonly group: FailureGroup; readonly name: string } | null;
  /** How many webhooks have each state, for the beginning of a list without filters; else empty. */
  readonly states: Readonly<Partial<Record<WebhookState, number>>>;
  /** Read only if a customer's page is empty. */
  readonly hasWebhooks: boolean;
};

const NONE: FoundDeliveries = {
  items: [],
  next: null,
  attempts: [],
  ownerIn: () => null,
  unsent: null,
  dead: null,
  states: {},
  hasWebhooks: true,
};

/** Counts the failures of the webhooks of a search once, for all who ask in one reading of the page: whole if their cause is told. */
export function failuresOnce(store: Pick<Store, 'deliveries'>, asked: Searched): () => Promise<Failures> {
  const most = isOfDead(asked) ? undefined : FAILURES_GLANCE;
  let counting: Promise<Failures> | null = null;
  return () => {
    counting ??= store.deliveries.failures(asked.numbers, undefined, most);
    return counting;
  };
}

export async function readDeliveries(
  { services, store }: SharedPageDependencies,
  { filter, one, numbers, offsets, problems, terms }: Searched,
  query: URLSearchParams,
  failures: () => Promise<Failures>,
): Promise<FoundDeliveries> {
  const { cursor, limit } = readPageQuery(query);
  if (problems.length > 0 || numbers?.length === 0) return NONE;
  const scope: Pick<DeliveryFilter, 'webhookNumbers' | 'offsets'> & { readonly webhookId?: string } =
    one === null
      ? { ...(numbers !== null && { webhookNumbers: numbers }) }
      : { webhookId: one.id, ...(offsets !== null && { offsets }) };
  const page = await services.deliveries.list({ ...filter, ...scope }, cursor, limit);
  const isEmpty = page.items.length === 0 && page.next === null;
  const isStart = terms.length === 0 && !query.has('cursor');
  const [attempts, ownerIn, unsent, dead, first, states] = await Promise.all([
    store.attempts.lastOf(page.items),
    ownerNames(store, page.items),
    !isEmpty || store.customerId !== null ? null : eventOf(store, filter),
    isOfDead({ filter, offsets }) && !isEmpty ? onlyCause(store, await failures()) : null,
    isEmpty && store.customerId !== null ? store.directory.webhooks({}, null, 1) : null,
    isStart && !isEmpty ? store.directory.states(store.customerId) : {},
  ]);
  return { ...page, attempts, ownerIn, unsent, dead, states, hasWebhooks: first === null || first.length > 0 };
}

/** Whether a search is for all dead deliveries, of whichever webhooks. Their causes are counted. */
export function isOfDead({ filter, offsets }: Pick<Searched, 'filter' | 'offsets'>): boolean {
  return filter.state === 'dead' && Object.keys(filter).length === 1 && offsets === null;
}

/** The group of all dead deliveries of a search; null unless they have one cause, which is known of each. */
async function onlyCause(
  store: SharedPageDependencies['store'],
  { groups, dead, isWhole }: Failures,
): Promise<FoundDeliveries['dead']> {
  const group = groups.find((one) => one.dead > 0);
  if (group === undefined || group.dead !== dead || !isWhole) return null;
  const { webhookId: id, webhookName: name } = group;
  return { group, name: (await readOwners(store, 'webhook', [id])).named({ id, name }) };
}

async function eventOf(store: SharedPageDependencies['store'], { text, eventId }: DeliverySearch) {
  if (eventId !== undefined) return store.events.find(eventId);
  return text === undefined ? null : ((await store.terms.find(text, null, 1))[0] ?? null);
}
