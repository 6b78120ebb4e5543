/** `/users` and `/users/{id}`: people who sign in, and accounts that applications act as. */
import { isAllowed, requireRightsOfUser } from '../../access/containment.ts';
import { INVITATION_MS } from '../../access/limits.ts';
import type { Application } from '../../domain/application.ts';
import { DEPENDENTS_NAMED } from '../../domain/limits.ts';
import type { User } from '../../domain/user.ts';
import { type Html, html } from '../../http/html.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import type { UserListing } from '../../store/port/directory.ts';
import { addressFor } from '../frame/browser.ts';
import type { PageCall, View } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readChoice } from '../frame/query.ts';
import { copyable, definitionList } from '../parts/details.ts';
import { newForm, selectField, textField } from '../parts/fields.ts';
import { actionButton, type ButtonKind, linkButton, pageHeader, section } from '../parts/header.ts';
import { emptyState, listView, nothingFound, readListed, table } from '../parts/list.ts';
import { badge, notice, stateBadge, tags } from '../parts/mark.ts';
import { type HeldRecord, removalSection } from '../parts/removal.ts';
import { customersRoleText, ROLES, roleText } from '../parts/role-texts.ts';
import { relativeTime, time } from '../parts/text.ts';
import { accountText, isOfApplications } from '../record/account-of-applications.ts';
import { ownerFilter, ownerNames } from '../record/owner.ts';
import { ownerFacts } from '../record/record-tabs.ts';
import { signInAddress, signInFact } from '../sign-in/sign-in-address.ts';
import { invitationBadge, userBadge, waitsForPassword } from './user-state.ts';

const PATH = '/users';

export function userListPage({ pages, store, publicUrl }: SharedPageDependencies): PageRoute<'both'> {
  return pages.view(PATH, 'both', async (call) => {
    const { query } = call;
    const text = query.get('q')?.trim() ?? '';
    const role = readChoice(query, 'role', ROLES);
    const owner = await ownerFilter(store, query);
    const filter = { ...(text && { text }), ...(role !== null && { role }), ...owner.filter };
    const { items, nextCursor } = await readListed(
      query,
      (before, limit) => store.registry.users(filter, before, limit),
      ({ user }) => user.id,
    );
    const state = newForm({ q: text, role });
    const ownerIn = await ownerNames(
      store,
      items.map(({ user }) => user),
    );
    const isOfCustomer = store.customerId !== null;
    const roles = ROLES.map((value) => ({ value, label: roleText(value, isOfCustomer).label }));
    const create = linkButton({
      href: `${PATH}/new${owner.newQuery}`,
      label: 'Add a user',
      kind: 'primary',
      icon: 'plus',
    });
    return listView({
      title: 'Users',
      lead: listLead(store.customerId, addressFor(call.request, publicUrl())),
      actions: [call.may('administrator') ? create : null],
      path: PATH,
      query,
      nextCursor,
      filters: [
        textField(state, { name: 'q', label: 'Name', type: 'search', placeholder: 'User name or name' }),
        selectField(state, { name: 'role', label: 'Role', choices: [{ value: '', label: 'Any' }, ...roles] }),
        ...owner.fields,
      ],
      layout: 'user-lists',
      results: await userTables(call, items, {
        ownerIn,
        store,
        isFiltered: text !== '' || role !== null || owner.isFiltered,
      }),
    });
  });
}

const LEAD = 'People who sign in to the portal, and service accounts, which only applications use.';

/** A customer's users find their sign-in page only by its address. */
function listLead(customerId: string | null, address: string | null): string | Html {
  const place = customerId === null ? null : signInAddress(customerId, address);
  return place === null ? LEAD : html`<p>${LEAD}</p><p>People sign in at ${place}</p>`;
}

type Around = {
  readonly ownerIn: Awaited<ReturnType<typeof ownerNames>>;
  readonly store: Pick<SharedPageDependencies['store'], 'audit' | 'invitations'>;
  readonly isFiltered: boolean;
};

/** People, and below them the accounts for applications. */
async function userTables(
  call: PageCall,
  listed: readonly UserListing[],
  { ownerIn, store, isFiltered }: Around,
): Promise<Html> {
  const people = listed.filter(({ user }) => user.role !== 'service');
  const accounts = listed.filter(({ user }) => user.role === 'service');
  if (listed.length === 0) return isFiltered ? nothingFound(PATH, 'users') : noUsers(call);
  const waiting = people.filter(({ user }) => waitsForPassword(user)).map(({ user }) => user.id);
  const [signedIn, invited] = await Promise.all([
    store.audit.lastOf(
      'user.sign-in',
      people.map(({ user }) => `user:${user.id}`),
    ),
    store.invitations.expiries(waiting),
  ]);
  return html`
    ${people.length === 0 ? null : groupOf('People', peopleTable(call, people, ownerIn, { signedIn, invited }))}
    ${accounts.length === 0 ? null : groupOf('Service accounts', accountTable(call, accounts, ownerIn))}
  `;
}

function groupOf(title: string, content: Html): Html {
  return section({ title, isPlain: true, content });
}

function peopleTable(
  call: PageCall,
  people: readonly UserListing[],
  ownerIn: Around['ownerIn'],
  { signedIn, invited }: Readonly<Record<'signedIn' | 'invited', ReadonlyMap<string, number>>>,
): Html {
  const { user: me, now } = call;
  // People seldom have applications that act as them.
  const hasApplications = people.some(({ applications }) => applications > 0);
  return table({
    caption: 'People',
    columns: [
      { label: 'User', kind: 'main' },
      { label: 'State', phone: 'state' },
      { label: 'Role', phone: 'plain' },
      ...(hasApplications ? [APPLICATIONS] : []),
      { label: 'Last signed in', phone: 'named' },
    ],
    rows: people.map(({ user, applications }) => [
      html`
        <a href="${PATH}/${user.id}">${user.userName}</a>
        ${user.id === me.id ? html` ${badge('info', 'you')}` : null}
        ${ownerIn(user.customerId)}
        <span class="cell-hint">${user.displayName ?? user.email ?? ''}</span>
      `,
      html`
        ${invitationBadge(user, invited.get(user.id) ?? null, now)}
        ${' '}
        ${isInvitable(call, user) ? inviteButton(call, user, { isAgain: invited.has(user.id) }) : null}
      `,
      roleText(user.role, user.customerId !== null).label,
      ...(hasApplications ? [applicationsLink(user, applications)] : []),
      relativeTime(signedIn.get(`user:${user.id}`) ?? null, now),
    ]),
  });
}

const APPLICATIONS = { label: 'Applications', kind: 'number', phone: 'named' } as const;

function isInvitable(call: PageCall, user: User): boolean {
  return waitsForPassword(user) && mayChange(call, user);
}

/** Administrators hold everything that is offered to customers. */
function mayChange(call: PageCall, user: User): boolean {
  return call.may('administrator') && isAllowed(() => requireRightsOfUser(call.acting, user, []));
}

function inviteButton(
  { csrf }: PageCall,
  { id, userName, passwordHash }: User,
  { kind = 'plain', isAgain = false }: { readonly kind?: ButtonKind; readonly isAgain?: boolean } = {},
): Html {
  const label = passwordHash !== null ? 'Reset the password' : isAgain ? 'Invite again' : 'Invite';
  return actionButton({ action: `/users/${id}/invite`, csrf, label, longLabel: `${label}: ${userName}`, kind });
}

function accountTable({ session }: PageCall, accounts: readonly UserListing[], ownerIn: Around['ownerIn']): Html {
  return table({
    caption: 'Service accounts',
    columns: [
      { label: 'Account', kind: 'main' },
      { label: 'State', phone: 'state' },
      { label: 'Permissions', kind: 'number', phone: 'named' },
      APPLICATIONS,
    ],
    rows: accounts.map(({ user, applications }) => [
      html`
        <a href="${PATH}/${user.id}">${user.userName}</a>
        ${ownerIn(user.customerId)}
        <span class="cell-hint">${user.displayName ?? ''}</span>
        ${isOfApplications(user) ? html`<span class="cell-hint">${accountText(session.customerId !== null)}</span>` : null}
      `,
      userBadge(user),
      user.permissions.length,
      applicationsLink(user, applications),
    ]),
  });
}

function applicationsLink({ id }: User, count: number): Html | 0 {
  return count === 0 ? 0 : html`<a href="/applications?user=${id}" class="plain-link">${count}</a>`;
}

/** The portal of a customer may be used through a link only. The operator's always has its first user. */
function noUsers(call: PageCall): Html {
  return emptyState({
    title: 'No users yet',
    text: 'Only you, by link. Add colleagues, so that they have accounts of their own.',
    action: call.may('administrator') ? linkButton({ href: `${PATH}/new`, label: 'Add a user', icon: 'plus' }) : null,
  });
}

type Visits = {
  /** The number of signed-in browsers. */
  readonly open: number;
  readonly lastAt: number | null;
  /** When the link of its invitation expires; null: it has none. */
  readonly invitedUntil: number | null;
  /** The address of the service; null if it is unknown. */
  readonly address: string | null;
};

type Page = {
  /** The first ones that act as the user. */
  readonly applications: readonly Application[];
  readonly visits: Visits;
  readonly owner: OwnerName | null;
  readonly history: Html;
};

export function userView(call: PageCall, user: User, { applications, visits, owner, history }: Page): View {
  const { id, userName, active } = user;
  const isChangeable = mayChange(call, user);
  const isMe = id === call.user.id;
  // Programs act as service accounts, seldom as a person.
  const isBare = user.role !== 'service' && applications.length === 0 && user.permissions.length === 0;
  const label = active ? 'Deactivate' : 'Activate';
  const switchButton = actionButton({
    action: `/users/${id}/${active ? 'deactivate' : 'activate'}`,
    csrf: call.csrf,
    label,
    longLabel: `${label} ${userName}`,
    icon: active ? 'stop' : 'play',
  });
  const content = html`
    ${pageHeader({
      title: userName,
      crumbs: [{ href: '/users', label: 'Users' }],
      badges: [invitationBadge(user, visits.invitedUntil, call.now)],
      facts: ownerFacts(owner),
      lead: user.role === 'service' ? serviceLead(user) : (user.displayName ?? undefined),
      actions: isChangeable
        ? [linkButton({ href: `/users/${id}/edit`, label: 'Change', icon: 'edit' }), isMe ? null : switchButton]
        : [],
    })}
    ${call.may('administrator') && !isChangeable ? notice({ tone: 'info', text: BEYOND }) : null}
    ${isOfApplications(user) ? html`<p class="hint">${accountText(call.session.customerId !== null)}</p>` : null}
    ${user.role === 'service' ? null : portalAccess(call, user, visits, isChangeable)}
    ${account(user)}
    ${isBare ? null : html`${permissions(user)}${applicationSection(call, user, applications)}`}
    ${history}
    ${isChangeable && !isMe ? removal(user, applications) : null}
  `;
  return { title: userName, content };
}

function serviceLead({ displayName }: User): string {
  return `${displayName === null ? 'A' : `${displayName}: a`} service account. Only applications act as it, and nobody signs in with it.`;
}

function portalAccess(call: PageCall, user: User, visits: Visits, isChangeable: boolean): Html {
  const { open, lastAt, invitedUntil, address } = visits;
  const { id, role, userName, active, passwordHash, customerId } = user;
  const isElsewhere = customerId !== null && call.session.customerId === null;
  const { label, hint } = isElsewhere ? customersRoleText(role) : roleText(role, customerId !== null);
  const invite = inviteButton(call, user, {
    kind: passwordHash === null ? 'primary' : 'plain',
    isAgain: invitedUntil !== null,
  });
  const signOut = actionButton({
    action: `/users/${id}/sign-out`,
    csrf: call.csrf,
    label: 'Sign out everywhere',
    longLabel: `Sign out everywhere: ${userName}`,
  });
  return section({
    title: isElsewhere ? 'In the customers’ portal' : 'In this portal',
    actions: isChangeable ? [open > 0 ? signOut : null, active ? invite : null] : [],
    content: definitionList([
      ['Role', label, hint],
      ...(customerId === null ? [] : signInFact(customerId, address)),
      ['Password', passwordHash === null ? 'not set yet' : 'set', passwordHash === null ? INVITING : undefined],
      [
        'Last signed in',
        relativeTime(lastAt, call.now),
        open === 0 ? 'Not signed in now.' : `Now signed in in ${open === 1 ? 'one browser' : `${open} browsers`}.`,
      ],
    ]),
  });
}

const INVITING =
  'Inviting makes a link, shown once, with which the user sets a password. ' +
  `It works for ${INVITATION_MS / 3_600_000} hours. You send it yourself.`;

const BEYOND = 'This account has rights that you do not have, so you cannot change it.';

function account({ id, customerId, role, email, constraints, createdAt, updatedAt }: User): Html {
  const { divisions } = constraints;
  return section({
    title: 'The account',
    content: definitionList([
      ...(role === 'service' ? [] : [['Email address', email ?? html`<span class="quiet">none</span>`] as const]),
      ...(customerId === null
        ? ([
            [
              'Divisions',
              divisions === undefined ? 'all' : divisions.join(', ') || 'none',
              'Applications that act as this account see only these.',
            ],
          ] as const)
        : []),
      ['User id', copyable(id)],
      ['Added', time(createdAt)],
      ['Changed', time(updatedAt)],
    ]),
  });
}

function permissions({ permissions: names }: User): Html {
  return section({
    title: 'Permissions',
    lead: 'What applications that act as this account may do, within their own scopes.',
    content:
      names.length === 0
        ? html`<p class="quiet">None: applications that act as this account can do nothing.</p>`
        : tags(names),
  });
}

function applicationSection(call: PageCall, { id, customerId }: User, applications: readonly Application[]): Html {
  const of = customerId === null || call.session.customerId !== null ? '' : `?customer=${customerId}`;
  return section({
    title: 'Applications',
    lead: 'The programs that act as this account.',
    isPlain: true,
    actions:
      applications.length < DEPENDENTS_NAMED
        ? []
        : [linkButton({ href: `/applications?user=${id}`, label: 'Show all' })],
    content: table({
      caption: 'Applications that act as this account',
      columns: [
        { label: 'Application', kind: 'main' },
        { label: 'Scopes', kind: 'number', phone: 'named' },
        { label: 'State', phone: 'state' },
      ],
      rows: applications.map((application) => [
        html`<a href="/applications/${application.id}">${application.name}</a>`,
        application.scopes.length,
        stateBadge(application.active ? 'active' : 'inactive'),
      ]),
      empty: emptyState({
        title: 'No application acts as this account',
        text: 'Choose the account when you register an application.',
        action: call.may('administrator')
          ? linkButton({ href: `/applications/new${of}`, label: 'Register an application' })
          : null,
      }),
    }),
  });
}

function removal(user: User, applications: readonly Application[]): Html {
  return removalSection({
    path: `${PATH}/${user.id}`,
    noun: nounOf(user),
    text: 'The password and the sessions are deleted too.',
    held: heldByApplications(user, applications),
  });
}

/** Why the user cannot be deleted: `applications` act as it. Null for none. */
export function heldByApplications(user: User, applications: readonly Application[]): HeldRecord | null {
  const [first, ...others] = applications;
  if (first === undefined) return null;
  const noun = nounOf(user);
  const which =
    others.length === 0
      ? html`<a href="/applications/${first.id}">${first.name}</a>`
      : html`<a href="/applications?user=${user.id}">these applications</a>`;
  return {
    title: `This ${noun} cannot be deleted while ${others.length === 0 ? 'an application acts' : 'applications act'} as it.`,
    text: html`Delete ${which} first${user.active ? `, or deactivate the ${noun} instead` : null}.`,
  };
}

export function nounOf({ role }: User): string {
  return role === 'service' ? 'service account' : 'user';
}
