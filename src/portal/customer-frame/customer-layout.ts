/**
 * The layout of the customers' portal: the look of the operator around the pages of one customer. In a frame, tabs replace the side column.
 */

import { NO_THEME, type PortalTheme } from '../../domain/portal-theme.ts';
import type { SignedIn } from '../../domain/user.ts';
import { type Html, html } from '../../http/html.ts';
import { GUIDE_PATH } from '../endpoints/guide-text.ts';
import { readRenewal } from '../frame/cookies.ts';
import { type Frame, type FrameOf, MENU_BUTTON, type Surroundings } from '../frame/layout.ts';
import { type NavigationGroup, SHARED_PAGES, sideNavigation, tabNavigation, tabsButton } from '../frame/navigation.ts';
import { API_REFERENCE_PATH } from '../parts/api-calls.ts';
import { brandMark, operatorName } from '../parts/brand.ts';
import { icon } from '../parts/mark.ts';
import { roleText } from '../parts/role-texts.ts';
import { shortTime } from '../parts/text.ts';

export const customerFrame: FrameOf = (session, around, groups) => {
  const { brand: look, frameAncestors, path, opener, csrf } = around;
  const brand = look ?? NO_THEME;
  const isFramed = frameAncestors.length > 0;
  const bar = opener === null ? endBar(session, around) : visitBar(session, opener.name, csrf);
  return {
    className: bar === null ? 'customers' : 'customers has-bar',
    bar,
    brand: isFramed ? tabsButton(groups, path) : html`${MENU_BUTTON}<a class="brand" href="/">${brandMark(brand)}</a>`,
    link: isFramed ? null : backLink(session, brand),
    navigation: isFramed ? tabNavigation(groups, path) : sideNavigation(groups, path),
    account: accountOf(session, around),
    searched: 'Endpoints, webhooks, event types, applications, users, keys, deliveries, pages and actions.',
  };
};

/** For an administrator of the operator: whose portal it is, and the way back. */
function visitBar({ customerName }: SignedIn, name: string, csrf: Html): Html {
  return html`
    <div class="visit-bar" role="region" aria-label="Visit">
      <p>You are looking at <strong>${customerName}</strong> as ${name}.</p>
      <form method="post" action="/sign-out">${csrf}<button class="visit-leave">${icon('leave')}Leave</button></form>
    </div>
  `;
}

/** A session that began with a link ends even while it is used. The page says so early enough to save a form. */
const END_TOLD_MS = 10 * 60_000;

function endBar(session: SignedIn, around: Surroundings): Html | null {
  const { userId, expiresAt } = session;
  if (userId !== null || expiresAt - around.now > END_TOLD_MS) return null;
  return html`
    <div class="visit-bar" role="region" aria-label="Your session"><p>${endText(session, around, 'This session ends at')}</p></div>
  `;
}

/** Where the portal link says that the visitor came from. */
function backLink({ returnUrl }: SignedIn, brand: PortalTheme): Html | null {
  if (returnUrl === null) return null;
  const to = brand.name === null ? new URL(returnUrl).host : operatorName(brand);
  return html`
    <a class="back-link" href="${returnUrl}" rel="noreferrer" aria-label="Back to ${to}">
      ${icon('previous')}
      <span>Back<span class="back-to"> to ${to}</span></span>
    </a>
  `;
}

/** A session that began with a link belongs to no user, so the portal shows the customer's name instead. */
function accountOf(session: SignedIn, around: Surroundings): Frame['account'] {
  const { userId, displayName, userName, role, customerName } = session;
  const { label } = roleText(role, true);
  return userId === null
    ? { name: customerName, detail: label, label: 'Your session', end: sessionEnd(session, around) }
    : { name: displayName ?? userName, detail: `${userName} · ${label} · ${customerName}`, label: 'Your account' };
}

function sessionEnd(session: SignedIn, around: Surroundings): Html | null {
  if (around.opener !== null) return null;
  return html`<span class="account-end">${endText(session, around, 'Open until')}</span>`;
}

/** With the way to a new link. The page around a frame makes one when it is loaded. */
function endText({ expiresAt }: SignedIn, { brand, frameAncestors, cookieOf }: Surroundings, what: string): Html {
  const operator = operatorName(brand ?? NO_THEME);
  const renewal = readRenewal(cookieOf)?.url.href ?? null;
  const again =
    frameAncestors.length > 0
      ? html`Then load the page around it again.`
      : renewal === null
        ? html`Then open it again from ${operator}.`
        : html`<a href="${renewal}" rel="noreferrer">Open it again from ${operator}</a>`;
  return html`${what} ${shortTime(expiresAt)}. ${again}`;
}

const { overview, endpoints, webhooks, eventTypes, keys, deliveries, applications, users, usage, audit } = SHARED_PAGES;

export const CUSTOMER_NAVIGATION: readonly NavigationGroup[] = [
  { label: null, items: [overview] },
  {
    label: 'Events',
    items: [
      { ...eventTypes, label: 'Event catalogue' },
      endpoints,
      webhooks,
      deliveries,
      keys,
      { path: GUIDE_PATH, label: 'Guide', icon: 'book', key: 'h' },
      { path: API_REFERENCE_PATH, label: 'API reference', icon: 'product', key: 'r' },
    ],
  },
  { label: 'Access', items: [applications, users, audit, usage] },
];
