/** `/search`: everything by name or id, for the dialog that Ctrl K opens. Without the script it is a page. */
import { type Html, html } from '../../http/html.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import type { OwnedTable } from '../../store/port/customers.ts';
import type { Found, FoundKind } from '../../store/port/search.ts';
import { navigationOf } from '../frame/navigation.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { newForm, textField } from '../parts/fields.ts';
import { listView } from '../parts/list.ts';
import { type IconName, icon } from '../parts/mark.ts';
import { type RecordOwners, readOwners } from '../record/owner.ts';
import { otherWords, pathOf } from './search-words.ts';

/** Results of a search by kind, and the longest text that is searched. */
export const SEARCH_PER_KIND = 5;
const SEARCH_TEXT_MAX_LENGTH = 200;
const PATH = '/search';
const DIALOG = 'dialog';

/** Every role sees everything, so all get the same results, except for fields of forms. Links to pages that do not exist are omitted. */
export function searchPages({ pages, store, hasPage }: SharedPageDependencies): PageRoute<'both'>[] {
  return [
    pages.view(PATH, 'both', async ({ query, may }) => {
      const text = readText(query, 'q')?.slice(0, SEARCH_TEXT_MAX_LENGTH) ?? null;
      const hits = text === null ? [] : [...placesOf(text, hasPage, may('administrator')), ...(await found(text))];
      const results = resultList(text, hits);
      const view = listView({
        title: 'Search',
        lead: 'Finds endpoints, webhooks, event types, applications, users, products, keys and deliveries by name or id.',
        path: PATH,
        query,
        filters: [textField(newForm({ q: text }), { name: 'q', label: 'Name or id', type: 'search' })],
        results,
      });
      // The dialog shows only the results.
      return query.has(DIALOG) ? { ...view, partial: results } : view;
    }),
  ];

  async function found(text: string): Promise<Hit[]> {
    const all = await store.search.find(text, store.customerId, SEARCH_PER_KIND);
    const shown = all.filter(({ kind }) => hasPage(`${KINDS[kind].path}/{id}`));
    const owners = await Promise.all(
      OWNED.map(async ({ kind, table }) => {
        const ids = shown.filter((one) => one.kind === kind).map(({ id }) => id);
        return [kind, await readOwners(store, table, ids)] as const;
      }),
    );
    const ownersOf = new Map<FoundKind, RecordOwners>(owners);
    return shown.map((found) => hitOf({ ...found, name: ownersOf.get(found.kind)?.named(found) ?? found.name }));
  }
}

type Hit = {
  readonly href: string;
  readonly icon: IconName;
  readonly label: string;
  readonly kind: string;
  readonly detail: string | null;
};

const KINDS: Readonly<Record<FoundKind, { readonly path: string; readonly label: string; readonly icon: IconName }>> = {
  customer: { path: '/customers', label: 'Customer', icon: 'customer' },
  webhook: { path: '/webhooks', label: 'Webhook', icon: 'webhook' },
  endpoint: { path: '/endpoints', label: 'Endpoint', icon: 'endpoint' },
  'event-type': { path: '/event-types', label: 'Event type', icon: 'event' },
  application: { path: '/applications', label: 'Application', icon: 'application' },
  user: { path: '/users', label: 'User', icon: 'user' },
  product: { path: '/products', label: 'API product', icon: 'product' },
  key: { path: '/keys', label: 'Key', icon: 'key' },
};

/** The kinds that belong to customers, by their tables. */
const OWNED: readonly { readonly kind: FoundKind; readonly table: OwnedTable }[] = [
  { kind: 'webhook', table: 'webhook' },
  { kind: 'endpoint', table: 'endpoint' },
  { kind: 'application', table: 'application' },
  { kind: 'user', table: 'user_account' },
  { kind: 'key', table: 'pgp_key' },
];

function hitOf({ kind, id, name, detail }: Found): Hit {
  const { path, label, icon: shape } = KINDS[kind];
  const shown = kind === 'webhook' ? (JSON.parse(detail ?? '[]') as string[]).join(', ') : detail;
  return { href: `${path}/${id}`, icon: shape, label: name, kind: label, detail: shown };
}

/** Pages by their names and other words, and the deliveries with an id: of a delivery, an event, an attempt or a batch. */
function placesOf(text: string, hasPage: (path: string) => boolean, mayCreate: boolean): Hit[] {
  const wanted = text.toLowerCase();
  const items: Hit[] = navigationOf(hasPage)
    .flatMap((group) => group.items)
    .flatMap(({ path, label, icon: shape }) => {
      const page = { href: path, icon: shape, label, kind: 'Page', detail: null };
      const isNamed = label.toLowerCase().includes(wanted);
      const others = otherWords(text)
        .filter((one) => one.page === path && !(isNamed && one.field === undefined))
        .map((one) => ({
          ...page,
          href: pathOf(one, mayCreate),
          ...(one.field !== undefined && { label: one.field.label, kind: `Field of ${label}` }),
          detail: one.word,
        }));
      return isNamed ? [page, ...others] : others;
    });
  if (!isUuidV7(wanted) || !hasPage('/deliveries')) return items;
  const href = `/deliveries?${new URLSearchParams({ q: wanted })}`;
  return [...items, { href, icon: 'delivery', label: 'Deliveries with this id', kind: 'Delivery', detail: wanted }];
}

function resultList(text: string | null, hits: readonly Hit[]): Html {
  if (text === null) return html`<p class="search-note">Enter a name or an id.</p>`;
  if (hits.length === 0) return html`<p class="search-note" role="status">Nothing found for “${text}”.</p>`;
  const items = hits.map(
    (hit) =>
      html`
        <li>
          <a href="${hit.href}">
            ${icon(hit.icon)}
            <span class="search-name">${hit.label}</span>
            <span class="search-kind">${hit.kind}</span>
            ${hit.detail === null || hit.detail === '' ? null : html`<span class="search-detail">${hit.detail}</span>`}
          </a>
        </li>
      `,
  );
  return html`<ul class="search-hits" data-searched="${text}">${items}</ul>`;
}
