/** The layout of the customers' portal: the look of the operator around the pages of one customer. In a frame, tabs replace the side column. */

import type { PortalTheme } from '../../domain/portal-theme.ts';
import type { SignedIn } from '../../domain/user.ts';
import { type Html, html } from '../../http/html.ts';
import {
  FAILURE,
  type Frame,
  type NavigationGroup,
  navigationGroup,
  type Surroundings,
  searchDialog,
  shortcutsDialog,
  signOutForm,
  themeSwitch,
} from '../frame/layout.ts';
import { brandMark, operatorName } from '../parts/brand.ts';
import { icon } from '../parts/mark.ts';

const SEARCHED = 'Endpoints, webhooks, event types, applications, users, keys and deliveries.';

export const customerBody: Frame = (main, session, around, groups) => {
  const brand = around.brand ?? { name: null, logo: null, accent: null };
  const isFramed = around.frameAncestors.length > 0;
  return html`
    <body class="customers">
      <a class="skip" href="#main">Skip to the content</a>
      <header class="top">
        ${
          isFramed
            ? null
            : html`
              <button type="button" class="icon-button top-menu" popovertarget="navigation" aria-label="Menu">
                ${icon('menu')}
              </button>
              <a class="brand" href="/">${brandMark(brand)}</a>
            `
        }
        <a class="search-button" href="/search" data-opens="search">
          ${icon('search')}
          <span>Search</span>
          <kbd>Ctrl K</kbd>
        </a>
        ${isFramed ? null : backLink(session, brand)}
        <button type="button" class="account-button" popovertarget="account">
          ${icon('user')}
          <span>${nameOf(session)}</span>
          ${icon('down')}
        </button>
      </header>
      ${accountMenu(session, around)}
      ${navigation(groups, around, isFramed)}
      ${main}
      <div id="announcer" class="visually-hidden" role="status" aria-live="polite"></div>
      ${FAILURE}
      ${searchDialog(SEARCHED)}
      ${shortcutsDialog(groups)}
    </body>
  `;
};

function navigation(groups: readonly NavigationGroup[], { path }: Surroundings, isFramed: boolean): Html {
  const links = groups.map((group) => navigationGroup(isFramed ? { ...group, label: null } : group, path));
  return isFramed
    ? html`<nav id="navigation" class="navigation navigation-tabs" aria-label="Portal">${links}</nav>`
    : html`
      <nav id="navigation" class="navigation" aria-label="Portal" popover>
        ${links}
        <button type="button" class="shortcuts-link" data-opens="shortcuts" hidden>
          Keyboard shortcuts <kbd>?</kbd>
        </button>
      </nav>
    `;
}

/** Where the portal link says that the visitor came from. */
function backLink({ returnUrl }: SignedIn, brand: PortalTheme): Html | null {
  if (returnUrl === null) return null;
  const to = brand.name === null ? new URL(returnUrl).host : operatorName(brand);
  return html`
    <a class="back-link" href="${returnUrl}" rel="noreferrer" aria-label="Back to ${to}">
      ${icon('previous')}
      <span>Back to ${to}</span>
    </a>
  `;
}

/** A session that began with a link belongs to no user, so the customer's name stands for it. */
function nameOf({ userId, displayName, userName, customerName }: SignedIn): string {
  return userId === null ? customerName : (displayName ?? userName);
}

function accountMenu(session: SignedIn, around: Surroundings): Html {
  const { userId, userName, role, customerName } = session;
  const second = userId === null ? role : `${userName} · ${role} · ${customerName}`;
  const label = userId === null ? 'Your session' : 'Your account';
  return html`
    <div id="account" class="account-menu" popover>
      <p class="account-name"><strong>${nameOf(session)}</strong><span>${second}</span></p>
      <a href="/account">${icon('settings')}${label}</a>
      ${themeSwitch(around)}
      ${signOutForm(around)}
    </div>
  `;
}

/** The keys are those of the operator's portal. */
export const CUSTOMER_NAVIGATION: readonly NavigationGroup[] = [
  { label: null, items: [{ path: '/', label: 'Overview', icon: 'overview', key: 'o' }] },
  {
    label: 'Events',
    items: [
      { path: '/event-types', label: 'Event catalogue', icon: 'event', key: 't' },
      { path: '/endpoints', label: 'Endpoints', icon: 'endpoint', key: 'e' },
      { path: '/webhooks', label: 'Webhooks', icon: 'webhook', key: 'w' },
      { path: '/deliveries', label: 'Deliveries', icon: 'delivery', key: 'd' },
      { path: '/keys', label: 'Keys', icon: 'key', key: 'k' },
    ],
  },
  {
    label: 'Access',
    items: [
      { path: '/applications', label: 'Applications', icon: 'application', key: 'a' },
      { path: '/users', label: 'Users', icon: 'user', key: 'u' },
      { path: '/audit', label: 'Audit log', icon: 'audit', key: 'l' },
      { path: '/usage', label: 'Usage', icon: 'usage', key: 'b' },
    ],
  },
];
