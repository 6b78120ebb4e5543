/** The audit log: who changed what, and how. */
import { type Html, html } from '../../http/html.ts';
import type { AuditFilter, AuditRecord } from '../../store/audit.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { differences } from '../parts/differences.ts';
import { selectField, textField } from '../parts/fields.ts';
import { newForm } from '../parts/form-state.ts';
import { listView, readListed } from '../parts/list.ts';
import { emptyState, nothingFound, table, withQuery } from '../parts/table.ts';
import { time } from '../parts/time.ts';
import { readInstant } from '../query.ts';
import { type ResourceLink, readResourceLinks, resourceId, resourceLink } from '../resource-links.ts';
import { actionChoices, actionText } from './actions.ts';

const PATH = '/audit';
const NAMES = ['actor', 'action', 'target', 'since', 'until'] as const;

export function auditPages({ pages, store, hasPage }: PageDependencies): PageRoute[] {
  return [
    pages.view(PATH, async ({ query }) => {
      const filter = await readFilter(query, store);
      const { items, nextCursor } = await readListed(
        query,
        (before, limit) => store.audit.list(before, limit, filter),
        ({ id }) => id,
      );
      const things = await readResourceLinks(
        store,
        items.flatMap(({ actor, target }) => [actor, target]),
        hasPage,
      );
      return listView({
        title: 'Audit log',
        lead: LEAD,
        ...{ path: PATH, query, nextCursor },
        filters: filters(query),
        results: auditTable(items, things, query),
      });
    }),
  ];
}

/** An actor may be given by its user name; `since` and `until` are in UTC. */
async function readFilter(query: URLSearchParams, store: PageDependencies['store']): Promise<AuditFilter> {
  const [actor, action, target] = [query.get('actor')?.trim(), query.get('action'), query.get('target')?.trim()];
  const since = readInstant(query, 'since');
  const until = readInstant(query, 'until');
  const user = actor ? await store.users.getByName(actor) : null;
  return {
    ...(actor && { actor: user === null ? actor : `user:${user.id}` }),
    ...(action && { action }),
    ...(target && { target }),
    ...(since !== null && { since }),
    ...(until !== null && { until }),
  };
}

function auditTable(
  entries: readonly AuditRecord[],
  things: (reference: string) => ResourceLink,
  query: URLSearchParams,
): Html {
  const isFiltered = NAMES.some((name) => (query.get(name) ?? '') !== '');
  return table({
    caption: 'Audit log',
    columns: [
      { label: 'When' },
      { label: 'Who' },
      { label: 'Did', kind: 'main' },
      { label: 'To' },
      { label: 'Changes' },
    ],
    rows: entries.map((entry) => row(entry, things, query)),
    empty: isFiltered ? nothingFound(PATH, 'entries') : NOTHING_YET,
  });
}

const LEAD =
  'Every change that somebody made, and those that the service made by itself. Each entry carries the hash of the one before it; secrets are masked.';
const NOTHING_YET = emptyState({
  title: 'Nothing has happened yet',
  text: 'Whatever is created, changed or deleted is written down here.',
});

function row(
  { at, actor, action, target, changes }: AuditRecord,
  things: (reference: string) => ResourceLink,
  query: URLSearchParams,
): Html[] {
  const filtered = (name: string, value: string): string => withQuery(PATH, query, { [name]: value, cursor: null });
  const who = things(actor);
  return [
    time(at),
    html`<a href="${filtered('actor', actor)}" class="plain-link">${who.name}</a>${who.kind === null ? null : html`<span class="cell-hint">${who.kind}</span>`}`,
    html`${actionText(action)}<span class="cell-hint"><code>${action}</code></span>`,
    html`${resourceLink(things(target))}<span class="cell-hint">${resourceId(target)}</span>`,
    differences(changes),
  ];
}

function filters(query: URLSearchParams): Html[] {
  const state = newForm(Object.fromEntries(NAMES.map((name) => [name, query.get(name)])));
  return [
    textField(state, { name: 'actor', label: 'Who', placeholder: 'User name or actor' }),
    selectField(state, { name: 'action', label: 'Did', choices: actionChoices(state.value('action')) }),
    textField(state, { name: 'target', label: 'To', placeholder: 'webhook:… or webhook' }),
    textField(state, { name: 'since', label: 'From (UTC)', type: 'datetime-local' }),
    textField(state, { name: 'until', label: 'Until (UTC)', type: 'datetime-local' }),
  ];
}
