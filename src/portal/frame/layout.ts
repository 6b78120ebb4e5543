/** The layout of every page: head, navigation, account menu, message and content. Without a session only the last two. */
import type { PortalTheme } from '../../domain/portal-theme.ts';
import type { SignedIn } from '../../domain/user.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { VERSION } from '../../kernel/version.ts';
import { accentPath, portalName } from '../parts/brand.ts';
import { icon, notice } from '../parts/mark.ts';
import { roleText } from '../parts/role-texts.ts';
import type { AssetUrls } from './asset-routes.ts';
import type { Opener, Theme, View } from './call.ts';
import type { Flash, ReadCookie } from './cookie-values.ts';
import { type NavigationGroup, shortcutsDialog, sideNavigation } from './navigation.ts';

/** The content of the layout besides the page. */
export type Surroundings = {
  readonly session: SignedIn | null;
  /** The operator's user who looks at the customer's portal; null otherwise. */
  readonly opener: Opener | null;
  /** The look of the customers' portal; null in the operator's. */
  readonly brand: PortalTheme | null;
  /** The origins of the pages around the portal if it is in a frame; else none. */
  readonly frameAncestors: readonly string[];
  readonly csrf: Html;
  readonly cookieOf: ReadCookie;
  readonly theme: Theme;
  readonly path: string;
  readonly url: string;
  /** When the request came, in milliseconds. */
  readonly now: number;
};

/** The whole document, as text. */
export type Layout = (view: View, around: Surroundings & { readonly flash: Flash | null }) => string;

/** The parts that each of the two portals puts around a page of a signed-in user. */
export type Frame = {
  readonly className: string | null;
  /** The name, and the button of the navigation on small screens. */
  readonly brand: Html | null;
  /** Between the search and the account. */
  readonly link: Html | null;
  readonly navigation: Html;
  readonly account: {
    readonly name: string;
    readonly detail: string;
    readonly label: string;
    /** Until when a session lasts that the user cannot begin again here. */
    readonly end?: Html | null;
  };
  /** The resources that the search finds. */
  readonly searched: string;
  /** Above everything else. */
  readonly bar?: Html | null;
};
export type FrameOf = (session: SignedIn, around: Surroundings, groups: readonly NavigationGroup[]) => Frame;

function flashText({ text, link }: Flash): string | Html {
  return link === undefined ? text : html`${text} <a href="${link.href}">${link.label}</a>`;
}

export function createLayout(
  assets: AssetUrls,
  navigation: () => readonly NavigationGroup[],
  frameOf: FrameOf = operatorFrame,
): Layout {
  const body = (main: Html, session: SignedIn, around: Surroundings): Html => {
    const groups = navigation();
    return bodyOf(main, around, groups, frameOf(session, around, groups));
  };
  return (view, given) => {
    const around = view.about === undefined ? given : { ...given, path: view.about };
    const { session, theme, flash, frameAncestors } = around;
    const { brand = around.brand } = view;
    const message = flash === null ? null : notice({ tone: flash.tone, text: flashText(flash), isFlash: true });
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
          <title>${view.title} – ${portalName(brand)}</title>
          <link rel="icon" href="${brand === null ? FAVICON : (brand.logo ?? NO_ICON)}">
          <link rel="stylesheet" href="${assets.style}">
          ${brand?.accent == null ? null : html`<link rel="stylesheet" href="${accentPath(brand.accent)}">`}
          ${view.hasCharts === true ? html`<link rel="stylesheet" href="${assets.chartStyle}">` : null}
          <script src="${assets.script}" defer></script>
          ${view.hasCharts === true ? html`<script src="${assets.chartScript}" defer></script>` : null}
        </head>
        ${session === null ? html`<body class="bare">${main}</body>` : body(main, session, around)}
      </html>
    `.markup;
  };
}

/** Without `eval` and without inline styles, which would need a weaker policy. */
const HTMX_CONFIG = 'includeIndicatorCSS:false extensions:"sse" history:true defaultTimeout:30000';

/** Otherwise browsers would ask for /favicon.ico. */
const NO_ICON = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'/%3E";

const FAVICON =
  "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2032%2032'%3E" +
  "%3Cpath%20d='M4%2030V14a12%2012%200%200%201%2024%200v16h-6V15a6%206%200%200%200-12%200v15z'%20fill='%234353c8'/%3E" +
  "%3Cpath%20d='M14%2030V18h4v12z'%20fill='%234353c8'/%3E%3C/svg%3E";

const operatorFrame: FrameOf = ({ displayName, userName, role }, { path }, groups) => ({
  className: null,
  brand: html`${MENU_BUTTON}<a class="brand" href="/">${icon('gate')}<span>Sallyport</span></a>`,
  link: null,
  navigation: sideNavigation(groups, path, html`<p class="version">Sallyport ${VERSION}</p>`),
  account: {
    name: displayName ?? userName,
    detail: `${userName} · ${roleText(role, false).label}`,
    label: 'Your account',
  },
  searched:
    'Customers, endpoints, webhooks, event types, applications, users, products, keys, deliveries, pages, documentation and actions.',
});

/** Shows the navigation on small screens. */
export const MENU_BUTTON: Html = html`
  <button type="button" class="icon-button top-menu" popovertarget="navigation" aria-label="Menu">
    ${icon('menu')}
  </button>
`;

function bodyOf(main: Html, around: Surroundings, groups: readonly NavigationGroup[], frame: Frame): Html {
  const { className, brand, link, navigation, account, searched, bar = null } = frame;
  return html`
    <body${attributes({ class: className })}>
      <a class="skip" href="#main">Skip to the content</a>
      ${bar}
      <header class="top">
        ${brand}
        <a class="search-button" href="/search" data-opens="search">
          ${icon('search')}
          <span>Search</span>
          <kbd>Ctrl K</kbd>
        </a>
        ${link}
        <button type="button" class="account-button" popovertarget="account">
          ${icon('user')}
          <span>${account.name}</span>
          ${icon('down')}
        </button>
      </header>
      <div id="account" class="account-menu" popover>
        <p class="account-name"><strong>${account.name}</strong><span>${account.detail}</span>${account.end ?? null}</p>
        <a href="/account">${icon('settings')}${account.label}</a>
        ${themeSwitch(around)}
        ${signOutForm(around)}
      </div>
      ${navigation}
      ${main}
      <div id="announcer" class="visually-hidden" role="status" aria-live="polite"></div>
      ${FAILURE}
      ${searchDialog(searched)}
      ${shortcutsDialog(groups)}
    </body>
  `;
}

/** The script opens it; without it the link leads to the page. Not of the type `search`, which takes the first Escape to clear itself. */
function searchDialog(what: string): Html {
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
            placeholder: 'Name, id, value of an event, or action',
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
      <p class="overlay-keys" aria-hidden="true">
        <span><kbd>↑</kbd> <kbd>↓</kbd> choose</span>
        <span><kbd>Enter</kbd> open</span>
        <span><kbd>Esc</kbd> close</span>
      </p>
    </dialog>
  `;
}

/** The script shows here that one of its requests failed. */
const FAILURE: Html = html`
  <div id="failure" class="failure" role="alert">
    <div class="notice notice-negative" hidden>
      ${icon('warning')}
      <div><p class="notice-title"></p><p class="notice-text"></p></div>
      <button type="button" class="icon-button" aria-label="Close">${icon('cross')}</button>
    </div>
  </div>
`;

function signOutForm({ csrf }: Surroundings): Html {
  return html`
    <form method="post" action="/sign-out">${csrf}<button class="menu-button">${icon('leave')}Sign out</button></form>
  `;
}

function themeSwitch({ csrf, theme, url }: Surroundings): Html {
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
