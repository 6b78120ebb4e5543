/**
 * Whose a resource is, in the operator's portal: the customer of a form, of a list's filter, and beside a row. A customer's portal has none
 * of it.
 */
import { isForOperatorAlone, isScopeOfOperator } from '../../access/built-in.ts';
import type { ApiProduct } from '../../domain/catalogue.ts';
import { type Html, html } from '../../http/html.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import { refuseField } from '../../kernel/refusal.ts';
import type { OwnedTable, OwnerName } from '../../store/port/customers.ts';
import type { Store } from '../../store/port/store.ts';
import type { View } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import {
  type FormState,
  newForm,
  type Suggestion,
  suggestionOptions,
  type TextField,
  textField,
} from '../parts/fields.ts';
import { pageHeader } from '../parts/header.ts';
import { icon } from '../parts/mark.ts';
import { listText } from '../parts/text.ts';

/** Customers that a filter suggests. */
const CUSTOMERS_SUGGESTED = 20;
/** Customers that a problem of a form names. */
const MEANT = 4;

/** The operator among the owners, as the store filters by it. */
export const OPERATOR = '';
/** The operator's own resources, in the filter of a list. */
const OWN = 'own';
/** The name of everything that belongs to no customer, for the operator. */
export const YOUR_OWN = 'Your company';
/** In the query of lists and forms. */
export const CUSTOMER = 'customer';

export type Owners = Pick<Store, 'customerId' | 'customers'>;
type Owned = { readonly customerId: string | null };

/** The customer of a record, with its name. Null for the operator's own, and in a customer's portal. */
export async function readOwner(owners: Owners | undefined, record: unknown): Promise<OwnerName | null> {
  const { customerId: id } = record as { readonly customerId?: string | null };
  if (owners === undefined || owners.customerId !== null || id == null) return null;
  return { id, name: (await owners.customers.names([id])).get(id) ?? id };
}

/** `Orders · Bolt Hardware`, in titles, messages and choices. */
export function ownedName(name: string, owner: OwnerName | null): string {
  return owner === null ? name : `${name} · ${owner.name}`;
}

/** Whether a record is one of the operator's own, beside those of customers: then its page says so. Not in a customer's portal. */
export async function readIsOwn(owners: Owners, { customerId }: Owned): Promise<boolean> {
  return owners.customerId === null && customerId === null && (await readHasCustomers(owners));
}

type Crumb = { readonly href: string; readonly label: string };

/** The breadcrumbs above a page of a record: its list, its customer, and the record itself. */
export function ownedCrumbs(list: Crumb, owner: OwnerName | null, record?: Crumb): Crumb[] {
  return [
    list,
    ...(owner === null ? [] : [{ href: `/customers/${owner.id}`, label: owner.name }]),
    ...(record === undefined ? [] : [record]),
  ];
}

export type OwnerFilter = {
  /** As people typed it; null without a filter. */
  readonly typed: string | null;
  /** For the store; empty without a filter. */
  readonly filter: { readonly customerId?: string };
  readonly fields: readonly Html[];
  /** The query of a form for a new record. */
  readonly newQuery: string;
  readonly isFiltered: boolean;
};

/** A field that names a customer: people type a part of its name or of its external id, and choose. */
export function customerField(state: FormState, options: Partial<TextField>): Html {
  return textField(state, {
    name: CUSTOMER,
    label: 'Customer',
    autocomplete: 'off',
    suggestions: [],
    suggestFrom: CUSTOMERS_SUGGESTED_AT,
    ...options,
  });
}

const NO_FILTER: OwnerFilter = { typed: null, filter: {}, fields: [], newQuery: '', isFiltered: false };

/** The filter of a list by customer: an id, a name or an external id, as people type it. Others find nothing. */
export async function ownerFilter(store: Owners, query: URLSearchParams): Promise<OwnerFilter> {
  if (store.customerId !== null) return NO_FILTER;
  const typed = readText(query, CUSTOMER);
  const found = typed === null ? null : await ownerNamed(store, typed);
  const shown = newForm({ [CUSTOMER]: found === null || found.id === OPERATOR ? typed : found.name });
  const field = customerField(shown, { placeholder: 'Any customer' });
  if (typed === null) return { ...NO_FILTER, fields: [field] };
  return {
    typed,
    filter: { customerId: found?.id ?? 'unknown' },
    fields: [field],
    newQuery: found === null || found.id === OPERATOR ? '' : `?${CUSTOMER}=${found.id}`,
    isFiltered: true,
  };
}

/** The customer that people mean by an id, an external id or a name; the operator by `own`. Null for none; the newest of several. */
export async function ownerNamed(owners: Owners, typed: string): Promise<OwnerName | null> {
  const [owner = null] = await ownersNamed(owners, typed);
  return owner;
}

/** The same, with the others of the same name, newest first. */
async function ownersNamed({ customers }: Owners, typed: string): Promise<readonly OwnerName[]> {
  if ([OWN, YOUR_OWN.toLowerCase()].includes(typed.trim().toLowerCase())) return [{ id: OPERATOR, name: OWN }];
  const known = isUuidV7(typed) ? await customers.get(typed) : await customers.getByExternalId(typed);
  if (known !== null || isUuidV7(typed)) return known === null ? [] : [known];
  const found = await customers.search({ name: typed }, null, CUSTOMERS_SUGGESTED);
  const exact = found.filter(({ name }) => name === typed);
  return exact.length > 0 ? exact : found;
}

/** A customer as a field names it: by its name, or by its id if others have the same name. */
export async function customerText(owners: Owners, { id, name }: OwnerName): Promise<string> {
  return (await ownersNamed(owners, name)).length > 1 ? id : name;
}

/**
 * The customer that a form names: as `ownerNamed`, or the only one whose name or external id contains the text. Throws a refusal of the
 * field that names the ones that fit, also if several have the name: nothing is created for one of them by chance.
 */
export async function customerNamed(owners: Owners, typed: string): Promise<OwnerName> {
  const [named, ...namesakes] = await ownersNamed(owners, typed);
  if (namesakes.length > 0)
    throw refuseField(CUSTOMER, `“${typed}” fits several. Enter the id or the external id of one`);
  if (named !== undefined && named.id !== OPERATOR) return named;
  const fitting = await owners.customers.search({ text: typed }, null, MEANT + 1);
  const [only, ...others] = fitting;
  if (only !== undefined && others.length === 0) return only;
  throw refuseField(CUSTOMER, unknownCustomer(typed, fitting));
}

function unknownCustomer(typed: string, fitting: readonly OwnerName[]): string {
  if (fitting.length === 0) return `“${typed}” does not exist. Enter a name, an id or an external id`;
  if (fitting.length > MEANT) return `“${typed}” fits several. Enter more of the name`;
  const names = fitting.map(({ name }) => name);
  return `“${typed}” does not exist. Did you mean ${listText(names, 'or')}?`;
}

/**
 * The names of the customers of rows, and of the operator's own beside them. A customer's portal has none: every row is its own.
 * `namesOwn`: false where most rows are the operator's.
 */
export async function ownerNames(
  store: Owners,
  rows: readonly Owned[],
  { namesOwn = true }: { readonly namesOwn?: boolean } = {},
): Promise<(customerId: string | null) => Html | null> {
  const ids = store.customerId === null ? rows.flatMap(({ customerId }) => customerId ?? []) : [];
  const names = await (store.customerId === null ? store.customers.names(ids) : new Map<string, string>());
  return (customerId) => {
    // Beside rows of customers, a row without one seems to lack it.
    if (customerId === null) return namesOwn && ids.length > 0 ? ownHint() : null;
    const name = names.get(customerId);
    return name === undefined ? null : ownerHint({ id: customerId, name });
  };
}

/** Whether the operator has a customer. */
export async function readHasCustomers({ customers }: Pick<Owners, 'customers'>): Promise<boolean> {
  return (await customers.search({}, null, 1)).length > 0;
}

/** The operator beside rows of customers. */
export function ownHint(): Html {
  return html`<span class="cell-hint cell-owner quiet">${YOUR_OWN}</span>`;
}

/** The customer of a row, in the operator's portal. */
function ownerHint({ id, name }: OwnerName): Html {
  return html`
    <span class="cell-hint cell-owner">
      ${icon('customer')}
      <a class="plain-link" href="/customers/${id}" title="${name}">${name}</a>
    </span>
  `;
}

/** The owners of records, by their ids, for rows and choices that know only the id. */
export type RecordOwners = {
  /** Below the name of the record; null for the operator's own. */
  readonly hintOf: (id: string) => Html | null;
  /** `Orders · Bolt Hardware`, for titles and choices. */
  readonly named: (record: { readonly id: string; readonly name: string }) => string;
  /** The same two for lists: beside records of customers, one of the operator has its owner too. */
  readonly hintAmong: (id: string) => Html | null;
  readonly namedAmong: (record: { readonly id: string; readonly name: string }) => string;
};

/** Reads the owners of records of one kind. In a customer's portal every record is its own, so it reads and shows none. */
export async function readOwners(store: Owners, table: OwnedTable, ids: readonly string[]): Promise<RecordOwners> {
  if (store.customerId !== null) return NO_OWNERS;
  const owners = await store.customers.ownersOf(table, ids);
  const areMixed = owners.size > 0;
  const hintOf = (id: string): Html | null => {
    const owner = owners.get(id);
    return owner === undefined ? null : ownerHint(owner);
  };
  const named: RecordOwners['named'] = ({ id, name }) => ownedName(name, owners.get(id) ?? null);
  return {
    hintOf,
    named,
    hintAmong: (id) => hintOf(id) ?? (areMixed ? ownHint() : null),
    namedAmong: (record) => (areMixed && !owners.has(record.id) ? `${record.name} · ${YOUR_OWN}` : named(record)),
  };
}

export const NO_OWNERS: RecordOwners = {
  hintOf: () => null,
  named: ({ name }) => name,
  hintAmong: () => null,
  namedAmong: ({ name }) => name,
};

export const CUSTOMERS_SUGGESTED_AT = '/customers/suggestions';
/** Leaves out the operator. */
const CUSTOMERS_ONLY = 'only';
export const CUSTOMER_SUGGESTIONS: string = `${CUSTOMERS_SUGGESTED_AT}?${CUSTOMERS_ONLY}=customers`;

/** Customers whose name contains the typed text, for the filters of lists. A name that several have is told apart by its external id. */
export function customerSuggestionPage({ pages, store }: PageDependencies): PageRoute<'operator'> {
  return pages.view(CUSTOMERS_SUGGESTED_AT, 'operator', async ({ query }) => {
    const text = readText(query, CUSTOMER);
    const found = await store.customers.search(text === null ? {} : { text }, null, CUSTOMERS_SUGGESTED);
    const title = 'Customers found';
    const names = found.map(({ id, name }) => html`<li><a href="/customers/${id}">${name}</a></li>`);
    const times = Map.groupBy(found, ({ name }) => name);
    const suggestions: Suggestion[] = found.map(({ id, name, externalId }) =>
      (times.get(name)?.length ?? 0) > 1
        ? { value: externalId ?? id, label: name }
        : { value: name, label: externalId ?? '' },
    );
    return {
      title,
      content: html`${pageHeader({ title })}<ul>${names}</ul>`,
      partial: suggestionOptions([
        ...(query.has(CUSTOMERS_ONLY) ? [] : [{ value: OWN, label: YOUR_OWN }]),
        ...suggestions,
      ]),
    };
  });
}

/** The page of a record, with the customer that it belongs to in the title of the window. Its header names it too (`ownerFacts`). */
export function withOwner(owner: OwnerName | null, view: View): View {
  return { ...view, title: ownedName(view.title, owner) };
}

/**
 * The products with the scopes that customers may have, without products that have none. `offered`: the scopes that an administrator of a
 * customer may give; null for the operator, who may give more.
 */
export function productsForCustomers(products: readonly ApiProduct[], offered: readonly string[] | null): ApiProduct[] {
  return (offered === null ? products : products.map(inCustomersWords))
    .map((product) => ({
      ...product,
      scopes: product.scopes.filter(({ name }) =>
        offered === null ? !isScopeOfOperator(name) : offered.includes(name),
      ),
    }))
    .filter(({ scopes }) => scopes.length > 0);
}

/** A built-in product as the people of a customer know it: what its portal does. */
export function inCustomersWords(product: ApiProduct): ApiProduct {
  if (!product.builtIn) return product;
  const scopes = product.scopes.map(({ name, description }) => ({
    name,
    description: WORDS_OF_CUSTOMERS[name] ?? description,
  }));
  const place = ({ name }: { readonly name: string }): number => WITHOUT_MANAGE.indexOf(name);
  return { ...product, name: 'Webhooks and access', scopes: scopes.toSorted((a, b) => place(a) - place(b)) };
}

const WORDS_OF_CUSTOMERS: Readonly<Record<string, string>> = {
  'webhooks:manage': 'Create, change and delete webhooks.',
  'events:publish':
    'Publish events of your own. Your webhooks get them, and so does the company that runs this portal.',
};

/** After the pairs of viewing and managing, so that each pair stays side by side. */
const WITHOUT_MANAGE: readonly string[] = [
  'deliveries:view',
  'deliveries:replay',
  'events:publish',
  'records:read',
  'audit:view',
  'usage:view',
];

/** The same with the rules of permissions that users of customers may have. */
export function permissionsForCustomers(
  products: readonly ApiProduct[],
  offered: readonly string[] | null,
): ApiProduct[] {
  const mayHave = (name: string): boolean => (offered === null ? !isForOperatorAlone(name) : offered.includes(name));
  return productsForCustomers(products, offered).map((product) => ({
    ...product,
    rules: product.rules.filter(({ scope, permission = scope }) => mayHave(permission)),
  }));
}
