/** `/users/{id}`: an account, its rights, its applications, and its access to the portal. */

import type { Application } from '../../access/application.ts';
import { isAllowed, requireRightsOfUser } from '../../access/containment.ts';
import type { User } from '../../access/user.ts';
import { type Html, html } from '../../http/html.ts';
import type { PageCall, View } from '../call.ts';
import { stateBadge, tags } from '../parts/badge.ts';
import { actionButton, buttonRow, linkButton } from '../parts/button.ts';
import { copyable } from '../parts/code.ts';
import { definitionList } from '../parts/details.ts';
import { pageHeader, section } from '../parts/header.ts';
import { notice } from '../parts/notice.ts';
import { emptyState, table } from '../parts/table.ts';
import { time } from '../parts/time.ts';
import { ROLE_TEXTS, userBadges } from './list.ts';

/** `applications` are the first ones that act as the user. `sessions` is the number of signed-in browsers. */
export function userView(call: PageCall, user: User, applications: readonly Application[], sessions: number): View {
  const { id, userName, active } = user;
  const mayChange = call.may('administrator') && isAllowed(() => requireRightsOfUser(call.acting, user));
  const isMe = id === call.user.id;
  const label = active ? 'Deactivate' : 'Activate';
  const switchButton = actionButton({
    action: `/users/${id}/${active ? 'deactivate' : 'activate'}`,
    csrf: call.csrf,
    label,
    longLabel: `${label} ${userName}`,
  });
  const content = html`${pageHeader({
    title: userName,
    crumbs: [{ href: '/users', label: 'Users' }],
    badges: userBadges(user),
    lead: user.displayName ?? undefined,
    actions: mayChange
      ? [isMe ? null : switchButton, linkButton({ href: `/users/${id}/edit`, label: 'Change', icon: 'edit' })]
      : [],
  })}${call.may('administrator') && !mayChange ? notice({ tone: 'info', text: BEYOND }) : null}${portalAccess(call, user, sessions, mayChange)}${account(user)}${permissions(user)}${applicationSection(call, user, applications)}${mayChange && !isMe ? removal(user) : null}`;
  return { title: userName, content };
}

function portalAccess(
  call: PageCall,
  { id, role, userName, active, passwordHash }: User,
  sessions: number,
  mayChange: boolean,
): Html {
  const signsIn = role !== 'service';
  const invite = actionButton({
    action: `/users/${id}/invite`,
    csrf: call.csrf,
    label: passwordHash === null ? 'Invite' : 'Reset the password',
    longLabel: `${passwordHash === null ? 'Invite' : 'Reset the password'}: ${userName}`,
    kind: passwordHash === null ? 'primary' : 'plain',
  });
  const signOut = actionButton({
    action: `/users/${id}/sign-out`,
    csrf: call.csrf,
    label: 'Sign out everywhere',
    longLabel: `Sign out everywhere: ${userName}`,
  });
  return section({
    title: 'In this portal',
    actions: mayChange && signsIn ? [sessions > 0 ? signOut : null, active ? invite : null] : [],
    content: definitionList([
      ['Role', ROLE_TEXTS[role].label, ROLE_TEXTS[role].hint],
      ...(signsIn
        ? [
            [
              'Password',
              passwordHash === null ? 'not set yet' : 'set',
              passwordHash === null ? 'An invitation lets them set one.' : undefined,
            ] as const,
            [
              'Signed in',
              sessions === 0 ? 'nowhere' : sessions === 1 ? 'in one browser' : `in ${sessions} browsers`,
            ] as const,
          ]
        : []),
    ]),
  });
}

const BEYOND = 'This account has rights that you do not hold, so you cannot change it.';

function account({ id, email, constraints, createdAt, updatedAt }: User): Html {
  const { divisions } = constraints;
  return section({
    title: 'The account',
    content: definitionList([
      ['Email address', email],
      [
        'Divisions',
        divisions === undefined ? 'all' : divisions.join(', ') || 'none',
        'What APIs that know of divisions let its applications see.',
      ],
      ['User id', copyable(id)],
      ['Added', time(createdAt)],
      ['Changed', time(updatedAt)],
    ]),
  });
}

function permissions({ permissions: names }: User): Html {
  return section({
    title: 'Permissions',
    lead: 'What applications that act as this user may do, within their own scopes.',
    content: names.length === 0 ? html`<p class="quiet">None: its applications can do nothing.</p>` : tags(names),
  });
}

function applicationSection(call: PageCall, { id }: User, applications: readonly Application[]): Html {
  return section({
    title: 'Applications that act as it',
    isPlain: true,
    actions: applications.length === 0 ? [] : [linkButton({ href: `/applications?user=${id}`, label: 'All of them' })],
    content: table({
      caption: 'Applications that act as it',
      columns: [{ label: 'Application', kind: 'main' }, { label: 'Scopes', kind: 'number' }, { label: 'State' }],
      rows: applications.map((application) => [
        html`<a href="/applications/${application.id}">${application.name}</a>`,
        application.scopes.length,
        stateBadge(application.active ? 'active' : 'inactive'),
      ]),
      empty: emptyState({
        title: 'No program acts as it',
        text: 'An application is registered with the user that it acts as.',
        action: call.may('administrator')
          ? linkButton({ href: '/applications/new', label: 'Register an application' })
          : null,
      }),
    }),
  });
}

function removal({ id }: User): Html {
  return section({
    title: 'Delete',
    lead: 'Possible only if no application acts as this user.',
    content: buttonRow([linkButton({ href: `/users/${id}/delete`, label: 'Delete the user', icon: 'trash' })]),
  });
}
