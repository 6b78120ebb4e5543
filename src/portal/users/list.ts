/** `/users`: people who sign in, and accounts that applications act as. */

import type { Role, User } from '../../access/user.ts';
import { type Html, html } from '../../http/html.ts';
import type { UserListing } from '../../store/directory.ts';
import type { PageCall } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { badge, stateBadge } from '../parts/badge.ts';
import { linkButton } from '../parts/button.ts';
import { selectField, textField } from '../parts/fields.ts';
import { newForm } from '../parts/form-state.ts';
import { listView, readListed } from '../parts/list.ts';
import { nothingFound, table } from '../parts/table.ts';
import { readChoice } from '../query.ts';

const PATH = '/users';

/** What each role may do in the portal. The API uses permissions, not roles. */
export const ROLE_TEXTS: Readonly<Record<Role, { readonly label: string; readonly hint: string }>> = {
  administrator: { label: 'Administrator', hint: 'May do everything in the portal.' },
  operator: {
    label: 'Operator',
    hint: 'Sees everything, and acts on webhooks and deliveries: starts, stops, tests, replays.',
  },
  viewer: { label: 'Viewer', hint: 'Sees everything, changes nothing.' },
  service: { label: 'Service', hint: 'Cannot sign in. For programs: applications act as it.' },
};
const ROLES = Object.keys(ROLE_TEXTS) as Role[];

export function userListPage({ pages, store }: PageDependencies): PageRoute {
  return pages.view(PATH, async (call) => {
    const { query } = call;
    const text = query.get('q')?.trim() ?? '';
    const role = readChoice(query, 'role', ROLES);
    const filter = { ...(text && { text }), ...(role !== null && { role }) };
    const { items, nextCursor } = await readListed(
      query,
      (before, limit) => store.registry.users(filter, before, limit),
      ({ user }) => user.id,
    );
    const state = newForm({ q: text, role });
    const roles = ROLES.map((value) => ({ value, label: ROLE_TEXTS[value].label }));
    const create = linkButton({ href: `${PATH}/new`, label: 'Add a user', kind: 'primary', icon: 'plus' });
    return listView({
      title: 'Users',
      lead: 'People who sign in here, and accounts that applications act as.',
      actions: [call.may('administrator') ? create : null],
      ...{ path: PATH, query, nextCursor },
      filters: [
        textField(state, { name: 'q', label: 'Name', type: 'search' }),
        selectField(state, { name: 'role', label: 'Role', choices: [{ value: '', label: 'Any' }, ...roles] }),
      ],
      results: userTable(call, items),
    });
  });
}

function userTable({ user: me }: PageCall, listed: readonly UserListing[]): Html {
  return table({
    caption: 'Users',
    columns: [
      { label: 'User', kind: 'main' },
      { label: 'Role' },
      { label: 'Permissions', kind: 'number' },
      { label: 'Applications', kind: 'number' },
      { label: 'State' },
    ],
    rows: listed.map(({ user, applications }) => [
      html`<a href="${PATH}/${user.id}">${user.userName}</a>${user.id === me.id ? html` ${badge('info', 'you')}` : null}<span class="cell-hint">${user.displayName ?? user.email ?? ''}</span>`,
      ROLE_TEXTS[user.role].label,
      user.permissions.length,
      applications === 0 ? 0 : html`<a href="/applications?user=${user.id}" class="plain-link">${applications}</a>`,
      html`<span class="badges">${userBadges(user)}</span>`,
    ]),
    empty: nothingFound(PATH, 'users'),
  });
}

/** Whether the account is active, and whether it has a password. */
export function userBadges({ active, role, passwordHash }: User): Html[] {
  const waits = active && role !== 'service' && passwordHash === null;
  return [stateBadge(active ? 'active' : 'inactive'), ...(waits ? [badge('caution', 'no password yet', 'clock')] : [])];
}
