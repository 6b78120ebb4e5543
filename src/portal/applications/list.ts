/** `/applications`: the programs that can get tokens. */
import { type Html, html } from '../../http/html.ts';
import type { ApplicationListing } from '../../store/directory.ts';
import type { PageCall } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { badge, stateBadge, tags } from '../parts/badge.ts';
import { linkButton } from '../parts/button.ts';
import { copyable } from '../parts/code.ts';
import { textField } from '../parts/fields.ts';
import { newForm } from '../parts/form-state.ts';
import { listView, readListed } from '../parts/list.ts';
import { emptyState, nothingFound, table } from '../parts/table.ts';
import { relativeTime } from '../parts/time.ts';

const PATH = '/applications';
const SHOWN_SCOPES = 3;

export function applicationListPage({ pages, store }: PageDependencies): PageRoute {
  return pages.view(PATH, async (call) => {
    const { query } = call;
    const [text, scope, userId] = ['q', 'scope', 'user'].map((name) => query.get(name)?.trim() ?? '');
    const filter = { ...(text && { text }), ...(scope && { scope }), ...(userId && { userId }) };
    const { items, cursor, nextCursor } = await readListed(
      query,
      (before, limit) => store.registry.applications(filter, before, limit),
      ({ application }) => application.id,
    );
    const state = newForm({ q: text, scope });
    return listView({
      title: 'Applications',
      lead: 'The programs that call your API: each gets tokens with its client id and secret, and acts as a user.',
      actions: [call.may('administrator') ? newButton() : null],
      ...{ path: PATH, query, nextCursor },
      filters: [
        textField(state, { name: 'q', label: 'Name or client id', type: 'search' }),
        textField(state, { name: 'scope', label: 'Scope', isCode: true, placeholder: 'orders:view' }),
        ...(userId ? [html`<input type="hidden" name="user" value="${userId}">`] : []),
      ],
      results: applicationTable(call, items, Object.keys(filter).length > 0 || cursor !== null),
    });
  });
}

function applicationTable(call: PageCall, listed: readonly ApplicationListing[], isFiltered: boolean): Html {
  return table({
    caption: 'Applications',
    columns: [
      { label: 'Name and client id', kind: 'main' },
      { label: 'Acts as' },
      { label: 'Scopes' },
      { label: 'Last used' },
      { label: 'State' },
    ],
    rows: listed.map(({ application, userName, userActive }) => {
      const { id, name, clientId, userId, scopes, lastUsedAt } = application;
      const more = scopes.length - SHOWN_SCOPES;
      return [
        html`<a href="${PATH}/${id}">${name}</a><span class="cell-hint">${copyable(clientId, 'client id', `${clientId.slice(0, 12)}…`)}</span>`,
        html`<a href="/users/${userId}" class="plain-link">${userName}</a>`,
        scopes.length === 0
          ? html`<span class="quiet">none</span>`
          : html`${tags(scopes.slice(0, SHOWN_SCOPES))}${more > 0 ? html`<span class="cell-hint">and ${more} more</span>` : null}`,
        relativeTime(lastUsedAt, call.now),
        html`<span class="badges">${applicationBadges(call.now, { ...application, userActive })}</span>`,
      ];
    }),
    empty: isFiltered ? nothingFound(PATH, 'applications') : firstApplication(call),
  });
}

/** Whether it can get tokens, and when its old secret ends. */
export function applicationBadges(
  now: number,
  application: Pick<ApplicationListing['application'], 'active' | 'previousSecretExpiresAt'> & {
    readonly userActive: boolean;
  },
): Html[] {
  const { active, userActive, previousSecretExpiresAt } = application;
  const overlaps = previousSecretExpiresAt !== null && previousSecretExpiresAt > now;
  return [
    active && !userActive ? badge('caution', 'user inactive') : stateBadge(active ? 'active' : 'inactive'),
    ...(overlaps
      ? [
          html`${badge('info', 'two secrets', 'clock')} <span class="cell-hint">old one ends ${relativeTime(previousSecretExpiresAt, now)}</span>`,
        ]
      : []),
  ];
}

function firstApplication(call: PageCall): Html {
  return emptyState({
    title: 'No program can call yet',
    text: html`<p>Register an application for each of your customers’ programs. It gets a client id and a secret, exchanges them for access tokens, and calls your API with the tokens.</p>`,
    action: call.may('administrator') ? newButton() : html`<p class="quiet">An administrator can register one.</p>`,
  });
}

function newButton(): Html {
  return linkButton({ href: `${PATH}/new`, label: 'Register an application', kind: 'primary', icon: 'plus' });
}
