/** The audit log: who changed what, and how. */
import type { Changes } from '../../domain/audit.ts';
import { STATE_REASONS, type StopReason } from '../../domain/webhook-states.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { type AuditFilter, type AuditKind, type AuditRecord, OPERATOR_ACTOR } from '../../store/port/audit.ts';
import type { PageCall } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readChoice, readInstant } from '../frame/query.ts';
import { operatorName } from '../parts/brand.ts';
import { changesSummary, differences } from '../parts/differences.ts';
import { type Choice, newForm, selectField, textField } from '../parts/fields.ts';
import { tabs } from '../parts/header.ts';
import { emptyState, listView, nothingFound, readListed, table, withQuery } from '../parts/list.ts';
import { countOf, exactTime } from '../parts/text.ts';
import { ownerFilter, ownerNames } from '../record/owner.ts';
import { type Burst, burstSummary, bursts, ownerOf } from './bursts.ts';
import {
  actionTexts,
  actorName,
  actorsSeen,
  entrySentence,
  namedByEntry,
  type ResourceLink,
  readResourceLinks,
  resourceId,
  verificationText,
} from './entries.ts';
import { fieldLabelsOf } from './field-labels.ts';
import { visitText } from './visits.ts';

const PATH = '/audit';
const NAMES = ['actor', 'action', 'target', 'since', 'until'] as const;
const FILTERS = [...NAMES, 'customer', 'show'] as const;

export function auditPages({ pages, store, hasPage }: SharedPageDependencies): PageRoute<'both'>[] {
  return [
    pages.view(PATH, 'both', async (call) => {
      const { query, brand } = call;
      const owner = await ownerFilter(store, query);
      const isCustomers = store.customerId !== null;
      const operator = isCustomers && brand !== null ? operatorName(brand) : null;
      const filter = { ...(await readFilter(query, store, operator)), ...owner.filter };
      const { items, nextCursor } = await readListed(
        query,
        (before, limit) => store.audit.list(before, limit, filter),
        ({ id }) => id,
      );
      const linkOf = await readResourceLinks(
        store,
        items.flatMap(({ actor, target, changes }) => [actor, target, ...referencesIn(changes)]),
        hasPage,
      );
      const actorOf = actorsSeen(store, linkOf, brand);
      return listView({
        title: 'Audit log',
        lead: isCustomers ? CUSTOMERS_LEAD : LEAD,
        path: PATH,
        query,
        nextCursor,
        filters: filters(query, owner.fields, { isCustomers, operator }),
        layout: 'audit-list',
        results: html`
          ${kindTabs(query)}
          ${auditTable(items, { linkOf, actorOf, ownerIn: await ownerNames(store, items, { namesOwn: false }), isCustomers }, call)}
        `,
      });
    }),
  ];
}

const KINDS = ['changes', 'sign-ins', 'all'] as const;

/** The changes, unless an action is asked for: among the entries of people who come and go they are hard to find. */
function kindOf(query: URLSearchParams): (typeof KINDS)[number] {
  return (query.get('action') ?? '') === '' ? (readChoice(query, 'show', KINDS) ?? 'changes') : 'all';
}

function kindTabs(query: URLSearchParams): Html {
  const current = kindOf(query);
  const labels = { changes: 'Changes', 'sign-ins': 'Sign-ins', all: 'All' };
  return tabs(
    'Entries',
    KINDS.map((kind) => ({
      href: withQuery(PATH, query, { show: kind === 'changes' ? null : kind, action: null, cursor: null }),
      label: labels[kind],
      isCurrent: kind === current,
    })),
  );
}

/** The actor may be a user name, or the name of the operator as a customer reads it. `since` and `until` are in UTC. */
async function readFilter(
  query: URLSearchParams,
  store: SharedPageDependencies['store'],
  operator: string | null,
): Promise<AuditFilter> {
  const [actor, action, target] = [query.get('actor')?.trim(), query.get('action'), query.get('target')?.trim()];
  const since = readInstant(query, 'since');
  const until = readInstant(query, 'until');
  const shown = kindOf(query);
  const kind: AuditKind | null = shown === 'all' ? null : shown;
  const user = actor ? await store.users.getByName(store.customerId, actor) : null;
  return {
    ...(actor && { actor: user === null ? actorNamed(actor, operator) : `user:${user.id}` }),
    ...(action && { action }),
    ...(target && { target }),
    ...(since !== null && { since }),
    ...(until !== null && { until }),
    ...(kind !== null && { kind }),
  };
}

function actorNamed(text: string, operator: string | null): string {
  return operator !== null && text.toLowerCase() === operator.toLowerCase() ? OPERATOR_ACTOR : text;
}

type Seen = {
  readonly linkOf: (reference: string) => ResourceLink;
  readonly actorOf: (reference: string) => ResourceLink;
  readonly ownerIn: Awaited<ReturnType<typeof ownerNames>>;
  readonly isCustomers: boolean;
};

function auditTable(
  entries: readonly AuditRecord[],
  seen: Seen,
  { query, now }: Pick<PageCall, 'query' | 'now'>,
): Html {
  const isFiltered = FILTERS.some((name) => (query.get(name) ?? '') !== '');
  return table({
    caption: 'Audit log',
    columns: [
      { label: 'When', phone: 'plain' },
      { label: 'What happened', kind: 'main' },
      { label: 'Changes', phone: 'plain' },
    ],
    rows: bursts(entries, isFiltered).map((burst) => {
      const [first, ...others] = burst;
      return others.length === 0 ? row(first, seen, { query, now }) : burstRow(burst, seen, { query, now });
    }),
    empty: isFiltered ? nothingFound(PATH, 'entries') : NOTHING_YET,
  });
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

/** Fields with the id of another record. */
const REFERENCES: Readonly<Record<string, string>> = { endpointId: 'endpoint', userId: 'user' };

function referencesIn(changes: Changes): string[] {
  return Object.entries(REFERENCES).flatMap(([field, kind]) =>
    [changes[field]?.from, changes[field]?.to].flatMap((id) => (typeof id === 'string' ? [`${kind}:${id}`] : [])),
  );
}

/** The names of other records in place of their ids. */
function named(changes: Changes, linkOf: Seen['linkOf']): Changes {
  const shown = Object.entries(changes).map(([field, { from, to }]) => {
    const kind = REFERENCES[field];
    const nameOf = (id: unknown): unknown =>
      kind !== undefined && typeof id === 'string' ? linkOf(`${kind}:${id}`).name : id;
    return [field, { from: nameOf(from), to: nameOf(to) }] as const;
  });
  return Object.fromEntries(shown);
}

/** The actor, as a link to all entries of it. */
function actorLink(actor: string, { actorOf }: Seen, query: URLSearchParams): Html {
  const { kind, name } = actorOf(actor);
  const href = withQuery(PATH, query, { actor, cursor: null });
  return html`<a class="audit-who" href="${href}"${attributes({ title: kind })}>${actorName({ kind, name })}</a>`;
}

/** The changes of a burst in one row. Each opens. */
function burstRow(burst: Burst, seen: Seen, { query, now }: Pick<PageCall, 'query' | 'now'>): Html[] {
  const [{ at, actor }] = burst;
  const owner = ownerOf(burst[0]);
  const { linkOf, ownerIn, isCustomers } = seen;
  const lines = burst.map((entry) => {
    const what = namedByEntry(entry, linkOf(entry.target));
    return html`
      <li>
        <span class="audit-entry">${entrySentence(entry, { who: html``, what, isCustomers })}</span>
        ${changesOf(entry, seen)}
      </li>
    `;
  });
  return [
    exactTime(at, now),
    html`
      <span class="audit-entry">${actorLink(actor, seen, query)} made ${countOf(burst.length, 'change')}</span>
      ${ownerIn(owner)}
    `,
    html`
      <details class="audit-changes is-burst">
        <summary>${burstSummary(burst)}</summary>
        <ul class="audit-burst">${lines}</ul>
      </details>
    `,
  ];
}

function row(entry: AuditRecord, seen: Seen, { query, now }: Pick<PageCall, 'query' | 'now'>): Html[] {
  const { at, actor, target } = entry;
  const { linkOf, ownerIn, isCustomers } = seen;
  const who = actorLink(actor, seen, query);
  return [
    exactTime(at, now),
    html`
      <span class="audit-entry">${entrySentence(entry, { who, what: namedByEntry(entry, linkOf(target)), isCustomers })}</span>
      ${target.startsWith('customer:') ? null : ownerIn(entry.customerId)}
    `,
    changesOf(entry, seen),
  ];
}

function changesOf(entry: AuditRecord, { linkOf, isCustomers }: Seen): Html {
  const { action, target } = entry;
  const { customerId: owner, ...others } = entry.changes;
  // Every entry of a customer's log is about its own.
  const changes = named(isCustomers || owner === undefined ? others : entry.changes, linkOf);
  const labelOf = fieldLabelsOf(target);
  // All that `visitText` leaves of a session is its id.
  const hasWords = Object.keys(changes).some((field) => field !== 'session');
  return html`
    <details class="audit-changes">
      <summary>
        ${visitText(entry) ?? stopText(changes) ?? verificationText(changes) ?? (hasWords ? changesSummary(changes, labelOf) : 'Details')}
      </summary>
      ${differences(changes, labelOf)}
      <p class="cell-hint"><code>${action}</code> ${resourceId(target)}</p>
    </details>
  `;
}

/** Why the service stopped a webhook, in a sentence. Null for another change. */
export function stopText({ stateReason }: Changes): string | null {
  const known = STATE_REASONS[stateReason?.to as StopReason] as string | undefined;
  return known === undefined ? null : `${known.split('.', 1)[0]}.`;
}

/** `ownerFields`: none in the portal of a customer. */
function filters(
  query: URLSearchParams,
  ownerFields: readonly Html[],
  { isCustomers, operator }: { readonly isCustomers: boolean; readonly operator: string | null },
): Html[] {
  const state = newForm(Object.fromEntries(NAMES.map((name) => [name, query.get(name)])));
  const actions = actionTexts(isCustomers).map(([value, label]) => ({ value, label }));
  return [
    textField(state, {
      name: 'actor',
      label: 'Who',
      placeholder: operator === null ? 'User name' : `User name or ${operator}`,
    }),
    selectField(state, {
      name: 'action',
      label: 'Action',
      choices: withAsked('Any action', actions, state.value('action')),
    }),
    selectField(state, {
      name: 'target',
      label: 'Object',
      choices: withAsked(
        'Any object',
        isCustomers ? OBJECTS : [...OBJECTS, ...OPERATORS_OBJECTS],
        state.value('target'),
      ),
    }),
    ...ownerFields,
    ...(query.has('show') ? [html`<input type="hidden" name="show" value="${query.get('show')}">`] : []),
    html`
      <details class="filter-period"${attributes({ open: state.value('since') + state.value('until') !== '' })}>
        <summary>Period</summary>
        <div class="filter-period-fields">
          ${textField(state, { name: 'since', label: 'From (UTC)', type: 'datetime-local' })}
          ${textField(state, { name: 'until', label: 'Until (UTC)', type: 'datetime-local' })}
        </div>
      </details>
    `,
  ];
}

const objects = (labels: Readonly<Record<string, string>>): readonly Choice[] =>
  Object.entries(labels).map(([kind, label]) => ({ value: `${kind}:`, label }));

const OBJECTS = objects({
  endpoint: 'Endpoints',
  webhook: 'Webhooks',
  delivery: 'Deliveries',
  key: 'PGP keys',
  application: 'Applications',
  user: 'Users',
});
const OPERATORS_OBJECTS = objects({ customer: 'Customers', 'event-type': 'Event types', product: 'API products' });

/** `asked` is the value in the address, which may be that of one object, or a prefix such as `webhook.`. */
function withAsked(any: string, known: readonly Choice[], asked: string): readonly Choice[] {
  const isOther = asked !== '' && known.every(({ value }) => value !== asked);
  return [{ value: '', label: any }, ...(isOther ? [{ value: asked, label: asked }] : []), ...known];
}
