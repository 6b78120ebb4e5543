/** The audit log: who changed what, and how. */
import type { AuditAction } from '../../domain/audit.ts';
import type { PortalTheme } from '../../domain/portal-theme.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import { isObject } from '../../kernel/validation.ts';
import { type AuditFilter, type AuditRecord, OPERATOR_ACTOR } from '../../store/port/audit.ts';
import type { Store } from '../../store/port/store.ts';
import type { PageCall } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readInstant } from '../frame/query.ts';
import { operatorName } from '../parts/brand.ts';
import { copyable } from '../parts/details.ts';
import { changesSummary, differences } from '../parts/differences.ts';
import { type Choice, newForm, selectField, textField } from '../parts/fields.ts';
import { emptyState, listView, nothingFound, readListed, table, withQuery } from '../parts/list.ts';
import { exactTime } from '../parts/text.ts';
import { ownerFilter, ownerNames } from '../record/owner.ts';

const PATH = '/audit';
const NAMES = ['actor', 'action', 'target', 'since', 'until'] as const;
const FILTERS = [...NAMES, 'customer'] as const;

export function auditPages({ pages, store, hasPage }: SharedPageDependencies): PageRoute<'both'>[] {
  return [
    pages.view(PATH, 'both', async (call) => {
      const { query, brand } = call;
      const owner = await ownerFilter(store, query);
      const filter = { ...(await readFilter(query, store)), ...owner.filter };
      const { items, nextCursor } = await readListed(
        query,
        (before, limit) => store.audit.list(before, limit, filter),
        ({ id }) => id,
      );
      const linkOf = await readResourceLinks(
        store,
        items.flatMap(({ actor, target }) => [actor, target]),
        hasPage,
      );
      const own = store.customerId;
      const actorOf = actorsSeen(store, linkOf, brand);
      return listView({
        title: 'Audit log',
        lead: own === null ? LEAD : CUSTOMERS_LEAD,
        path: PATH,
        query,
        nextCursor,
        filters: filters(query, owner.fields),
        layout: 'audit-list',
        results: auditTable(items, { linkOf, actorOf, ownerIn: await ownerNames(store, items) }, call),
      });
    }),
  ];
}

/** The actor may be a user name. `since` and `until` are in UTC. */
async function readFilter(query: URLSearchParams, store: SharedPageDependencies['store']): Promise<AuditFilter> {
  const [actor, action, target] = [query.get('actor')?.trim(), query.get('action'), query.get('target')?.trim()];
  const since = readInstant(query, 'since');
  const until = readInstant(query, 'until');
  const user = actor ? await store.users.getByName(store.customerId, actor) : null;
  return {
    ...(actor && { actor: user === null ? actor : `user:${user.id}` }),
    ...(action && { action }),
    ...(target && { target }),
    ...(since !== null && { since }),
    ...(until !== null && { until }),
  };
}

type Links = {
  readonly linkOf: (reference: string) => ResourceLink;
  readonly actorOf: (reference: string) => ResourceLink;
  readonly ownerIn: Awaited<ReturnType<typeof ownerNames>>;
};

function auditTable(
  entries: readonly AuditRecord[],
  links: Links,
  { query, now }: Pick<PageCall, 'query' | 'now'>,
): Html {
  const isFiltered = FILTERS.some((name) => (query.get(name) ?? '') !== '');
  return table({
    caption: 'Audit log',
    columns: [
      { label: 'When', phone: 'state' },
      { label: 'Who', phone: 'plain' },
      { label: 'Action', kind: 'main' },
      { label: 'Object', phone: 'plain' },
      { label: 'Changes', phone: 'plain' },
    ],
    rows: entries.map((entry) => row(entry, links, { query, now })),
    empty: isFiltered ? nothingFound(PATH, 'entries') : NOTHING_YET,
  });
}

/** The actors as the reader of this portal may know them. */
export function actorsSeen(
  { customerId }: Pick<Store, 'customerId'>,
  linkOf: (reference: string) => ResourceLink,
  brand: PortalTheme | null,
): (reference: string) => ResourceLink {
  return customerId === null
    ? withoutIds(linkOf)
    : actorsFor(linkOf, brand === null ? 'your provider' : operatorName(brand));
}

/** Links and tokens have no name, and their ids say nothing: the customer is beside the object. */
function withoutIds(linkOf: (reference: string) => ResourceLink): (reference: string) => ResourceLink {
  return (actor) => {
    const name = NAMELESS[split(actor)[0] ?? ''];
    return name === undefined ? linkOf(actor) : { kind: null, href: null, name };
  };
}

const BY_LINK = 'somebody with a portal link';
const NAMELESS: Readonly<Record<string, string>> = {
  'portal-link': BY_LINK,
  'portal-token': 'a portal token',
};

/** In the narrow column of the log. */
const BRIEF: ReadonlyMap<string, string> = new Map([[BY_LINK, 'by portal link']]);

/** The actors as a customer sees them. The people of the operator have no name here. */
function actorsFor(linkOf: (reference: string) => ResourceLink, operator: string): (reference: string) => ResourceLink {
  const nobody = { kind: null, href: null };
  return (actor) => {
    const [kind = ''] = split(actor);
    const nameless = NAMELESS[kind];
    if (nameless !== undefined) return { ...nobody, name: nameless };
    if (actor === 'service') return { ...nobody, name: 'the service itself' };
    return actor === OPERATOR_ACTOR ? { ...nobody, name: operator } : linkOf(actor);
  };
}

const LEAD =
  'Every change by a user, an application, a command or the service itself. Each entry has the hash of the ' +
  'previous one; secrets are masked.';
const CUSTOMERS_LEAD =
  'Every change to your data and settings: who made it, when, and what changed. Secrets are masked.';
const NOTHING_YET = emptyState({
  title: 'Nothing has happened yet',
  text: 'Every creation, change and deletion is recorded here.',
});

function row(entry: AuditRecord, links: Links, { query, now }: Pick<PageCall, 'query' | 'now'>): Html[] {
  const { at, actor, action, target, changes } = entry;
  const { linkOf, actorOf, ownerIn } = links;
  const filtered = (name: string, value: string): string => withQuery(PATH, query, { [name]: value, cursor: null });
  const who = actorOf(actor);
  const details = html`${differences(changes)}<p class="cell-hint"><code>${action}</code> ${resourceId(target)}</p>`;
  return [
    exactTime(at, now),
    html`<a href="${filtered('actor', actor)}" class="plain-link"${attributes({ title: who.kind })}>${BRIEF.get(who.name) ?? who.name}</a>`,
    html`${entryText({ action, changes })}`,
    html`${resourceLink(linkOf(target))}${target.startsWith('customer:') ? null : ownerIn(entry.customerId)}`,
    html`<details class="audit-changes"><summary>${changesSummary(changes)}</summary>${details}</details>`,
  ];
}

/** `ownerFields`: none in the portal of a customer, whose log has no changes to what only the operator has. */
function filters(query: URLSearchParams, ownerFields: readonly Html[]): Html[] {
  const state = newForm(Object.fromEntries(NAMES.map((name) => [name, query.get(name)])));
  return [
    textField(state, { name: 'actor', label: 'Who', placeholder: 'User name or actor' }),
    selectField(state, {
      name: 'action',
      label: 'Action',
      choices: actionChoices(state.value('action'), ownerFields.length > 0),
    }),
    textField(state, { name: 'target', label: 'Object', placeholder: 'webhook:…' }),
    ...ownerFields,
    html`
      <details class="filter-period"${attributes({ open: state.value('since') + state.value('until') !== '' })}>
        <summary>From, until</summary>
        <div class="filter-period-fields">
          ${textField(state, { name: 'since', label: 'From (UTC)', type: 'datetime-local' })}
          ${textField(state, { name: 'until', label: 'Until (UTC)', type: 'datetime-local' })}
        </div>
      </details>
    `,
  ];
}

const ACTIONS: Readonly<Record<AuditAction, string>> = {
  'customer.create': 'Created the customer',
  'customer.update': 'Changed the customer',
  'customer.delete': 'Deleted the customer',
  'customer.create-link': 'Created a portal link',
  'customer.open-link': 'Opened a portal link',
  'customer.create-token': 'Created a portal token',
  'portal.update': 'Changed the look of the customers’ portal',
  'user.create': 'Created the user',
  'user.update': 'Changed the user',
  'user.delete': 'Deleted the user',
  'user.invite': 'Invited the user',
  'user.set-password': 'Set the password',
  'user.add-passkey': 'Added a passkey',
  'user.remove-passkey': 'Removed a passkey',
  'user.refuse-passkey': 'Refused a passkey, possibly a copy',
  'user.sign-in': 'Signed in',
  'user.sign-out': 'Signed out',
  'user.sign-out-everywhere': 'Signed out everywhere',
  'application.create': 'Created the application',
  'application.update': 'Changed the application',
  'application.delete': 'Deleted the application',
  'application.regenerate-secret': 'Regenerated the secret',
  'application.revoke-tokens': 'Revoked all tokens',
  'product.create': 'Created the API product',
  'product.update': 'Changed the API product',
  'product.delete': 'Deleted the API product',
  'endpoint.create': 'Created the endpoint',
  'endpoint.update': 'Changed the endpoint',
  'endpoint.delete': 'Deleted the endpoint',
  'endpoint.verify': 'Verified the endpoint',
  'endpoint.rotate-secret': 'Rotated the secret',
  'endpoint.rotate-api-key': 'Rotated the API key',
  'endpoint.rotate-authentication': 'Rotated the authentication',
  'key.create': 'Created the key',
  'key.update': 'Changed the key',
  'key.delete': 'Deleted the key',
  'event-type.create': 'Created the event type',
  'event-type.update': 'Changed the event type',
  'event-type.delete': 'Deleted the event type',
  'webhook.create': 'Created the webhook',
  'webhook.update': 'Changed the webhook',
  'webhook.delete': 'Deleted the webhook',
  'webhook.start': 'Started the webhook',
  'webhook.stop': 'Stopped the webhook',
  'webhook.replay': 'Sent deliveries of the webhook again',
  'webhook.give-up': 'Gave up pending deliveries of a key',
  'delivery.replay': 'Sent the delivery again',
  'event.erase': 'Requested the erasure of a person’s data',
  'event.erase-done': 'Erased a person’s data',
  'backup.download': 'Downloaded a backup',
  'database.move': 'Moved to another database',
  'database.restore': 'Restored a backup',
  'master-key.rotate': 'Rotated the master key',
};

const TEXTS: ReadonlyMap<string, string> = new Map(Object.entries(ACTIONS));

/** An unknown action is shown by its name. */
function actionText(action: string): string {
  return TEXTS.get(action) ?? action.replace('.', ': ').replaceAll('-', ' ');
}

/** What was done. A verification that failed is told apart: both have the same action. */
export function entryText({ action, changes }: Pick<AuditRecord, 'action' | 'changes'>): string {
  const verification = changes.lastVerification?.to;
  const isFailed = action === 'endpoint.verify' && isObject(verification) && verification.verified === false;
  return isFailed ? 'Tried to verify the endpoint: failed' : actionText(action);
}

/** Kinds of what only the operator has. */
const OF_OPERATOR: ReadonlySet<string> = new Set([
  'portal',
  'product',
  'event-type',
  'backup',
  'database',
  'master-key',
]);

/** The choices of the filter. `asked` is the action in the address, which may be a prefix such as `webhook.`. */
function actionChoices(asked: string, isOperators: boolean): readonly Choice[] {
  const offered = [...TEXTS].filter(([value]) => isOperators || !OF_OPERATOR.has(value.split('.', 1)[0] ?? ''));
  const known = offered.map(([value, label]) => ({ value, label }));
  const other = asked === '' || TEXTS.has(asked) ? [] : [{ value: asked, label: asked }];
  return [{ value: '', label: 'Anything' }, ...other, ...known];
}

export type ResourceLink = {
  /** `user`, `application`, `webhook`…; null without an id, as for `service`. */
  readonly kind: string | null;
  /** Its name; the end of its id if it was deleted. */
  readonly name: string;
  readonly href: string | null;
};

type Source = { readonly path: string; name(store: Store, id: string): Promise<string | null> };

const SOURCES: Readonly<Record<string, Source>> = {
  customer: { path: '/customers', name: async (store, id) => (await store.customers.get(id))?.name ?? null },
  user: { path: '/users', name: async (store, id) => (await store.users.get(id))?.userName ?? null },
  application: { path: '/applications', name: async (store, id) => (await store.applications.get(id))?.name ?? null },
  product: { path: '/products', name: async (store, id) => (await store.products.get(id))?.name ?? null },
  endpoint: { path: '/endpoints', name: async (store, id) => (await store.endpoints.get(id))?.name ?? null },
  key: { path: '/keys', name: async (store, id) => (await store.keys.get(id))?.name ?? null },
  webhook: { path: '/webhooks', name: async (store, id) => (await store.webhooks.get(id))?.name ?? null },
  'event-type': { path: '/event-types', name: async (store, id) => (await store.eventTypes.get(id))?.name ?? null },
  delivery: { path: '/deliveries', name: async (_, id) => id },
};

const FIXED: Readonly<Record<string, string>> = {
  service: 'Sallyport itself',
  'command-line': 'the command line',
  'embedding-program': 'the embedding program',
};

/** Reads each resource once. */
export async function readResourceLinks(
  store: Store,
  references: Iterable<string>,
  hasPage: (path: string) => boolean,
): Promise<(reference: string) => ResourceLink> {
  const distinct = [...new Set(references)];
  const found = await Promise.all(
    distinct.map(async (reference) => [reference, await readResourceLink(store, reference, hasPage)] as const),
  );
  const links = new Map(found);
  return (reference) => links.get(reference) ?? unknown(reference);
}

/** Its kind, and its name as a link. */
export function resourceLink({ kind, name, href }: ResourceLink): Html {
  const label = href === null ? html`<span>${name}</span>` : html`<a href="${href}">${name}</a>`;
  return kind === null
    ? label
    : html`<span class="resource"><span class="quiet">${kind.replaceAll('-', ' ')}</span> ${label}</span>`;
}

/** Its id, with a button that copies it. */
export function resourceId(reference: string): Html {
  const id = reference.slice(reference.indexOf(':') + 1);
  return isUuidV7(id) ? copyable(id, 'id', `…${id.slice(-12)}`) : copyable(id);
}

async function readResourceLink(
  store: Store,
  reference: string,
  hasPage: (path: string) => boolean,
): Promise<ResourceLink> {
  const [kind = '', id = ''] = split(reference);
  const source = SOURCES[kind];
  if (source === undefined || !isUuidV7(id)) return unknown(reference);
  const name = await source.name(store, id);
  const item = `${source.path}/{id}`;
  return name === null
    ? { kind, name: `…${id.slice(-12)} (deleted)`, href: null }
    : { kind, name, href: hasPage(item) ? `${source.path}/${id}` : null };
}

function unknown(reference: string): ResourceLink {
  const fixed = FIXED[reference];
  if (fixed !== undefined) return { kind: null, name: fixed, href: null };
  const [kind = '', id = ''] = split(reference);
  return id === '' ? { kind: null, name: kind, href: null } : { kind, name: id, href: null };
}

function split(reference: string): readonly string[] {
  const at = reference.indexOf(':');
  return at === -1 ? [reference] : [reference.slice(0, at), reference.slice(at + 1)];
}
