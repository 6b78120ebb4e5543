/** The search line above the list of deliveries: the filters as chips, and a field for more. It works without the script. */
import { attributes, type Html, html } from '../../http/html.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import type { Store } from '../../store/port/store.ts';
import { suggestionOptions } from '../parts/fields.ts';
import { linkButton, submitButton } from '../parts/header.ts';
import { withQuery } from '../parts/list.ts';
import { icon, notice } from '../parts/mark.ts';
import { capital } from '../parts/text.ts';
import { CUSTOMERS_SUGGESTED_AT, ownedName } from '../record/owner.ts';
import { WEBHOOKS_SUGGESTED_AT } from '../record/webhook-choice.ts';
import { SEARCH_PARAMETERS } from './delivery-filters.ts';
import {
  DELIVERY_STATES,
  RESPONSES_SUGGESTED,
  type SearchProblem,
  type SearchTerm,
  searchText,
  termText,
} from './search-text.ts';

/** Webhooks, event types and customers among the suggestions, each. */
const SUGGESTED = 50;
const PERIODS_SUGGESTED = ['1h', '24h', '7d'];

type SearchLine = {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly terms: readonly SearchTerm[];
  readonly problems: readonly SearchProblem[];
  /** The names of a webhook and a customer that are given by their ids, by field. */
  readonly names: Readonly<Partial<Record<string, string>>>;
  readonly suggestions: SearchSuggestions;
};

/** `words`: of the field itself. The others are names for the pickers; customers are null in a customer's portal. */
export type SearchSuggestions = {
  readonly words: readonly string[];
  readonly customers: readonly string[] | null;
  readonly webhooks: readonly string[];
};

/** The URL of the list with these filters. The other parameters stay. */
export function searchHref(path: string, query: URLSearchParams, terms: readonly SearchTerm[]): string {
  return withQuery(path, without(query), { q: searchText(terms) });
}

/** The query without search and page. */
function without(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => !SEARCH_PARAMETERS.includes(name)));
}

export function searchLine({ path, query, terms, problems, names, suggestions }: SearchLine): Html {
  const chips = terms.map((term, at) => {
    const text = termText({ ...term, value: names[term.field] ?? term.value });
    const href = searchHref(
      path,
      query,
      terms.filter((_, index) => index !== at),
    );
    return html`
      <li>
        <a class="chip" href="${href}" aria-label="Remove ${text}"><span>${text}</span>${icon('cross')}</a>
      </li>
    `;
  });
  const others = [...without(query)].map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  const typed = problems.map(({ word }) => word).join(' ');
  return html`
    <form method="get" action="${path}" class="search-line" role="search" data-search-line>
      ${others}
      <input type="hidden" name="kept" value="${searchText(terms)}">
      <div class="search-box">
        ${icon('search')}
        ${chips.length === 0 ? null : html`<ul class="chips" aria-label="Filters">${chips}</ul>`}
        <input${attributes({
          type: 'text',
          id: 'search-field',
          name: 'q',
          value: typed,
          list: 'search-words',
          placeholder: terms.length === 0 ? PLACEHOLDER : 'Add a filter',
          autocomplete: 'off',
          spellcheck: 'false',
          'aria-label': 'Search deliveries',
          'aria-describedby': problems.length === 0 ? null : 'search-problem',
          'aria-invalid': problems.length === 0 ? null : 'true',
        })}>
        <datalist id="search-words">
          ${suggestionOptions(suggestions.words.map((value) => ({ value, label: meaningOf(value) })))}
        </datalist>
      </div>
      ${pickers(terms, suggestions)}
      ${submitButton({ label: 'Search', kind: 'plain', icon: 'search' })}
      ${terms.length + problems.length === 0 ? null : linkButton({ href: path, label: 'Clear', kind: 'quiet', icon: 'cross' })}
    </form>
    ${problems.length === 0 ? null : problemNotice(path, query, problems)}
  `;
}

/** Fields for people who do not know the words of the line. What they choose becomes a filter in the line, and its field goes. */
function pickers(terms: readonly SearchTerm[], { customers, webhooks }: SearchSuggestions): Html {
  const isAsked = (field: string): boolean => terms.some((term) => term.field === field);
  const names = { customer: isAsked('customer') || isAsked('webhook') ? null : customers, webhook: webhooks };
  const fields = Object.entries(names).map(([name, offered]) => {
    if (offered === null || isAsked(name)) return null;
    return html`
      <div class="search-picker">
        <input${attributes({
          type: 'text',
          id: `pick-${name}`,
          name,
          list: `pick-${name}-list`,
          placeholder: `Any ${name}`,
          autocomplete: 'off',
          spellcheck: 'false',
          'aria-label': capital(name),
          'data-hx-get': PICKED_FROM[name],
          'data-hx-trigger': 'input changed delay:200ms',
          'data-hx-target': `#pick-${name}-list`,
          'data-hx-swap': 'innerHTML',
          'data-hx-sync': 'this:replace',
        })}>
        <datalist id="pick-${name}-list">${suggestionOptions(offered)}</datalist>
      </div>
    `;
  });
  return html`${fields}`;
}

const PICKED_FROM: Readonly<Record<string, string>> = {
  customer: CUSTOMERS_SUGGESTED_AT,
  webhook: WEBHOOKS_SUGGESTED_AT,
};

/** How many deliveries each choice of `quickFilters` has, as text; without a count that is not known. */
export type StateCounts = Readonly<Record<string, string | undefined>>;

type QuickFilters = Pick<SearchLine, 'path' | 'query' | 'terms'> & { readonly counts: StateCounts };

/** The states that most people look for. The other filters stay. */
export function quickFilters({ path, query, terms, counts }: QuickFilters): Html {
  const others = terms.filter((term) => term.field !== 'state' && !isFailed(term));
  const state = terms.find(({ field }) => field === 'state')?.value ?? 'all';
  const chosen = state === 'pending' && terms.some(isFailed) ? PART : state;
  const links = Object.entries(QUICK).map(([name, added]) => {
    const current = attributes({ 'aria-current': name === chosen ? 'true' : null });
    const count = counts[name] === undefined ? null : html` <span class="count">${counts[name]}</span>`;
    const href = searchHref(path, query, [...others, ...added]);
    if (name !== PART) return html`<li><a href="${href}"${current}>${capital(name)}${count}</a></li>`;
    return html`<li class="is-part"><a href="${href}"${current}>of these failed${count}</a></li>`;
  });
  return html`<ul class="quick-filters" aria-label="States">${links}</ul>`;
}

const FAILED: SearchTerm = { field: 'response', value: 'failed' };
const PENDING: SearchTerm = { field: 'state', value: 'pending' };
/** Those of the pending ones whose last attempt failed. Their webhook may have failed since, so nothing retries them. */
const PART = 'failed';
const QUICK: Readonly<Record<string, readonly SearchTerm[]>> = {
  all: [],
  pending: [PENDING],
  [PART]: [PENDING, FAILED],
  dead: [{ field: 'state', value: 'dead' }],
  delivered: [{ field: 'state', value: 'delivered' }],
};

/** The filter that *of these failed* adds to the pending ones. */
export function isFailed({ field, value }: SearchTerm): boolean {
  return field === FAILED.field && value === FAILED.value;
}

const PLACEHOLDER = 'Search: order id, subject, 5xx, state:dead, since:1h';

function problemNotice(path: string, query: URLSearchParams, problems: readonly SearchProblem[]): Html {
  const link = (q: string, shown = q): Html =>
    html`<a href="${withQuery(path, without(query), { q })}"><code>${shown}</code></a>`;
  const lines = problems.map(({ text, suggestion, states = [] }) => {
    const meant = suggestion === null ? null : html` Did you mean ${link(suggestion)}?`;
    const all = states.map(
      (state, at) => html`${at === 0 ? ' The states are ' : ', '}${link(state.text, state.value)}`,
    );
    return html`<p>${text}${meant}${all}${all.length === 0 ? null : '.'}</p>`;
  });
  return html`<div id="search-problem">${notice({ tone: 'caution', text: html`${lines}` })}</div>`;
}

/** Beside a suggestion. */
function meaningOf(text: string): string {
  const [field = '', value = ''] = text.split(':');
  if (text === field) return 'last response';
  return field === 'state' ? (STATES_MEAN[value] ?? '') : (FIELDS_MEAN[field] ?? '');
}

const STATES_MEAN: Readonly<Record<string, string>> = {
  pending: 'not delivered yet',
  delivered: 'accepted by the receiver',
  dead: 'given up',
  discarded: 'its data was erased',
};
const FIELDS_MEAN: Readonly<Record<string, string>> = {
  since: 'published since then',
  webhook: 'of this webhook',
  type: 'event type',
  customer: 'of this customer',
};

/** The suggestions while someone types. The operator's own types come first, and a customer's webhook with the customer. */
export async function searchSuggestions(store: Store): Promise<SearchSuggestions> {
  const isOfOperator = store.customerId === null;
  const [webhooks, types, customers] = await Promise.all([
    store.directory.webhooks({}, null, SUGGESTED),
    store.eventTypes.all(),
    isOfOperator ? store.customers.search({}, null, SUGGESTED) : [],
  ]);
  const ids = webhooks.map(({ webhook }) => webhook.id);
  const owners = isOfOperator ? await store.customers.ownersOf('webhook', ids) : new Map<string, OwnerName>();
  const named = (field: 'type' | 'customer', values: readonly string[]): string[] =>
    [...new Set(values)].slice(0, SUGGESTED).map((value) => termText({ field, value }));
  const ofWebhooks = webhooks.map(({ webhook: { id, name } }) => {
    const owner = owners.get(id);
    const terms: readonly SearchTerm[] = [{ field: 'webhook', value: name }];
    return searchText(owner === undefined ? terms : [...terms, { field: 'customer', value: owner.name }]);
  });
  const words = [
    ...DELIVERY_STATES.map((value) => termText({ field: 'state', value })),
    ...RESPONSES_SUGGESTED,
    ...PERIODS_SUGGESTED.map((value) => termText({ field: 'since', value })),
    ...new Set(ofWebhooks),
    ...named(
      'type',
      types.toSorted((a, b) => Number(a.builtIn) - Number(b.builtIn)).map(({ name }) => name),
    ),
    ...named(
      'customer',
      customers.map(({ name }) => name),
    ),
  ];
  return {
    words,
    customers: isOfOperator ? customers.map(({ name }) => name) : null,
    webhooks: webhooks.map(({ webhook: { id, name } }) => ownedName(name, owners.get(id) ?? null)),
  };
}
