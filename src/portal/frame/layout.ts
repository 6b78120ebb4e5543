/** The layout of every page: head, navigation, account menu, message and content. Without a session only the last two. */

import type { PortalTheme } from '../../domain/portal-theme.ts';
import type { SignedIn } from '../../domain/user.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { VERSION } from '../../kernel/version.ts';
import { accentPath, brandName } from '../parts/brand.ts';
import { type IconName, icon, notice } from '../parts/mark.ts';
import type { AssetUrls } from './asset-routes.ts';
import type { Flash, Theme, View } from './call.ts';

/** The content of the layout besides the page. */
export type Surroundings = {
  readonly session: SignedIn | null;
  /** The look of the customers' portal; null in the operator's. */
  readonly brand: PortalTheme | null;
  /** The origins of the pages around the portal if it is in a frame; else none. */
  readonly frameAncestors: readonly string[];
  readonly csrf: Html;
  readonly theme: Theme;
  readonly path: string;
  readonly url: string;
};

/** The whole document, as text. */
export type Layout = (view: View, around: Surroundings & { readonly flash: Flash | null }) => string;

/** The body around the content of a page for a signed-in user. */
export type Frame = (main: Html, session: SignedIn, around: Surroundings, groups: readonly NavigationGroup[]) => Html;

export function createLayout(
  assets: AssetUrls,
  navigation: () => readonly NavigationGroup[],
  body: Frame = operatorBody,
): Layout {
  return (view, around) => {
    const { session, theme, flash, brand, frameAncestors } = around;
    const message = flash === null ? null : notice({ tone: flash.tone, text: flash.text, isFlash: true });
    const main = html`<main id="main" tabindex="-1"><div class="page">${message}${view.content}</div></main>`;
    return html`
      <!doctype html>
      <html
        lang="en"
        ${attributes({
          'data-theme': theme === 'system' ? null : theme,
          'data-framed': frameAncestors.length > 0 ? frameAncestors.join(' ') : null,
        })}
      >
        <head>
          <meta charset="utf-8">
          <meta name="viewport" content="width=device-width, initial-scale=1">
          <meta name="color-scheme" content="${theme === 'system' ? 'light dark' : theme}">
          <meta name="robots" content="noindex">
          <meta name="htmx-config" content="${HTMX_CONFIG}">
          <title>${view.title} – ${brand === null ? 'Sallyport' : brandName(brand)}</title>
          <link rel="icon" href="${brand === null ? FAVICON : (brand.logo ?? NO_ICON)}">
          <link rel="stylesheet" href="${assets.style}">
          ${brand?.accent == null ? null : html`<link rel="stylesheet" href="${accentPath(brand.accent)}">`}
          ${view.hasCharts === true ? html`<link rel="stylesheet" href="${assets.chartStyle}">` : null}
          <script src="${assets.script}" defer></script>
          ${view.hasCharts === true ? html`<script src="${assets.chartScript}" defer></script>` : null}
        </head>
        ${session === null ? html`<body class="bare">${main}</body>` : body(main, session, around, navigation())}
      </html>
    `.markup;
  };
}

/** Without `eval` and without inline styles, which would need a weaker policy. */
const HTMX_CONFIG = 'includeIndicatorCSS:false extensions:"sse" history:true defaultTimeout:30000';

/** Otherwise browsers would ask for /favicon.ico. */
const NO_ICON = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'/%3E";

const FAVICON =
  "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2032%2032'%3E%3Cpath%20d='M4%2030V14a12%2012%200%200%201%2024%200v16h-6V15a6%206%200%200%200-12%200v15z'%20fill='%234353c8'/%3E%3Cpath%20d='M14%2030V18h4v12z'%20fill='%234353c8'/%3E%3C/svg%3E";

const operatorBody: Frame = (main, session, around, groups) =>
  html`
    <body>
      <a class="skip" href="#main">Skip to the content</a>
      <header class="top">
        <button type="button" class="icon-button top-menu" popovertarget="navigation" aria-label="Menu">
          ${icon('menu')}
        </button>
        <a class="brand" href="/">${icon('gate')}<span>Sallyport</span></a>
        <a class="search-button" href="/search" data-opens="search">
          ${icon('search')}
          <span>Search</span>
          <kbd>Ctrl K</kbd>
        </a>
        <button type="button" class="account-button" popovertarget="account">
          ${icon('user')}
          <span>${session.displayName ?? session.userName}</span>
          ${icon('down')}
        </button>
      </header>
      ${accountMenu(session, around)}
      <nav id="navigation" class="navigation" aria-label="Portal" popover>
        ${groups.map((group) => navigationGroup(group, around.path))}
        <button type="button" class="shortcuts-link" data-opens="shortcuts" hidden>
          Keyboard shortcuts <kbd>?</kbd>
        </button>
        <p class="version">Sallyport ${VERSION}</p>
      </nav>
      ${main}
      <div id="announcer" class="visually-hidden" role="status" aria-live="polite"></div>
      ${FAILURE}
      ${searchDialog('Endpoints, webhooks, event types, applications, users, products, keys and deliveries.')}
      ${shortcutsDialog(groups)}
    </body>
  `;

/** The script opens it; without it the link leads to the page. Not of the type `search`, which takes the first Escape to clear itself. */
export function searchDialog(what: string): Html {
  return html`
    <dialog id="search-dialog" class="overlay" aria-label="Find anything">
      <div class="overlay-head">
        ${icon('search')}
        <form method="get" action="/search" role="search">
          <input${attributes({
            type: 'text',
            role: 'searchbox',
            name: 'q',
            'aria-label': 'Find anything',
            placeholder: 'Search by name or id',
            autocomplete: 'off',
            'data-hx-get': '/search?dialog=1',
            'data-hx-trigger': 'input changed delay:150ms',
            'data-hx-target': '#search-results',
            'data-hx-swap': 'innerHTML',
            'data-hx-sync': 'this:replace',
          })}>
        </form>
        <button type="button" class="icon-button" data-closes aria-label="Close">${icon('cross')}</button>
      </div>
      <div id="search-results" aria-live="polite"><p class="search-note">${what}</p></div>
    </dialog>
  `;
}

export function shortcutsDialog(groups: readonly NavigationGroup[]): Html {
  const pages = groups.flatMap(({ items }) => items).map(({ label, key }) => [label, `g ${key}`] as const);
  const rows = [['Search', 'Ctrl K'], ['Search', '/'], ['This list', '?'], ...pages].map(
    ([label, keys = '']) =>
      html`<div><dt>${label}</dt><dd>${keys.split(' ').map((one) => html`<kbd>${one}</kbd> `)}</dd></div>`,
  );
  return html`
    <dialog id="shortcuts-dialog" class="overlay" aria-labelledby="shortcuts-title">
      <div class="overlay-head">
        <h2 id="shortcuts-title">Keyboard shortcuts</h2>
        <button type="button" class="icon-button" data-closes aria-label="Close">${icon('cross')}</button>
      </div>
      <dl class="shortcuts">${rows}</dl>
    </dialog>
  `;
}

/** The script shows here that one of its requests failed. */
export const FAILURE: Html = html`
  <div id="failure" class="failure" role="alert">
    <div class="notice notice-negative" hidden>
      ${icon('warning')}
      <div><p class="notice-title"></p><p class="notice-text"></p></div>
      <button type="button" class="icon-button" aria-label="Close">${icon('cross')}</button>
    </div>
  </div>
`;

export function navigationGroup({ label, items }: NavigationGroup, path: string): Html {
  const links = items.map(
    (item) =>
      html`
        <li>
          <a
            href="${item.path}"
            ${attributes({ 'data-go': item.key, 'aria-current': isCurrent(item.path, path) ? 'page' : null })}
          >
            ${icon(item.icon)}
            <span>${item.label}</span>
          </a>
        </li>
      `,
  );
  return html`${label === null ? null : html`<p class="navigation-label">${label}</p>`}<ul>${links}</ul>`;
}

function accountMenu(session: SignedIn, around: Surroundings): Html {
  return html`
    <div id="account" class="account-menu" popover>
      <p class="account-name">
        <strong>${session.displayName ?? session.userName}</strong>
        <span>${session.userName} · ${session.role}</span>
      </p>
      <a href="/account">${icon('settings')}Your account</a>
      ${themeSwitch(around)}
      ${signOutForm(around)}
    </div>
  `;
}

export function signOutForm({ csrf }: Surroundings): Html {
  return html`
    <form method="post" action="/sign-out">${csrf}<button class="menu-button">${icon('leave')}Sign out</button></form>
  `;
}

export function themeSwitch({ csrf, theme, url }: Surroundings): Html {
  const themes = (['light', 'dark', 'system'] as const).map(
    (name) =>
      html`
        <button name="theme" value="${name}"${attributes({ 'aria-pressed': String(name === theme) })}>
          ${icon(name)}
          <span>${THEME_LABELS[name]}</span>
        </button>
      `,
  );
  return html`
    <form method="post" action="/theme" class="theme-switch" data-theme-switch aria-label="Theme">
      ${csrf}
      <input type="hidden" name="back" value="${url}">
      ${themes}
    </form>
  `;
}

const THEME_LABELS = { light: 'Light', dark: 'Dark', system: 'System' } as const;

/** `key` goes to the page after `g`. */
type NavigationItem = {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  readonly key: string;
};
export type NavigationGroup = { readonly label: string | null; readonly items: readonly NavigationItem[] };

const GROUPS: readonly NavigationGroup[] = [
  {
    label: null,
    items: [
      { path: '/', label: 'Overview', icon: 'overview', key: 'o' },
      { path: '/customers', label: 'Customers', icon: 'customer', key: 'm' },
    ],
  },
  {
    label: 'Deliver',
    items: [
      { path: '/endpoints', label: 'Endpoints', icon: 'endpoint', key: 'e' },
      { path: '/webhooks', label: 'Webhooks', icon: 'webhook', key: 'w' },
      { path: '/event-types', label: 'Event types', icon: 'event', key: 't' },
      { path: '/keys', label: 'Keys', icon: 'key', key: 'k' },
      { path: '/deliveries', label: 'Deliveries', icon: 'delivery', key: 'd' },
    ],
  },
  {
    label: 'Access',
    items: [
      { path: '/applications', label: 'Applications', icon: 'application', key: 'a' },
      { path: '/users', label: 'Users', icon: 'user', key: 'u' },
      { path: '/products', label: 'API products', icon: 'product', key: 'p' },
      { path: '/tester', label: 'Who could call this?', icon: 'tester', key: 'c' },
    ],
  },
  {
    label: 'Operate',
    items: [
      { path: '/usage', label: 'Usage', icon: 'usage', key: 'b' },
      { path: '/audit', label: 'Audit log', icon: 'audit', key: 'l' },
      { path: '/instances', label: 'Instances', icon: 'instances', key: 'i' },
      { path: '/settings', label: 'Settings', icon: 'settings', key: 's' },
      { path: '/docs', label: 'Documentation', icon: 'book', key: 'h' },
    ],
  },
];

export function navigationOf(hasPage: (path: string) => boolean): readonly NavigationGroup[] {
  return GROUPS.map(({ label, items }) => ({ label, items: items.filter(({ path }) => hasPage(path)) })).filter(
    ({ items }) => items.length > 0,
  );
}

/** Whether a page belongs to an item: it is the item's page, or below it. */
export function isCurrent(item: string, path: string): boolean {
  return path === item || (item !== '/' && path.startsWith(`${item}/`));
}
