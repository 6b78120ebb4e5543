/** The pages that the navigation leads to, and its list of keys. */

import { attributes, type Html, html } from '../../http/html.ts';
import { type IconName, icon } from '../parts/mark.ts';

export function shortcutsDialog(groups: readonly NavigationGroup[]): Html {
  const pages = groups.flatMap(({ items }) => items).map(({ label, key }) => [label, `g ${key}`] as const);
  const rows = [
    ['Search', 'Ctrl K'],
    ['Search', '/'],
    ['New rows of a live list', '.'],
    ['Next and previous delivery', 'j k'],
    ['Close the delivery', 'Esc'],
    ['This list', '?'],
    ...pages,
  ].map(
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

/** At the side; on small screens a menu. `below` follows the links. */
export function sideNavigation(groups: readonly NavigationGroup[], path: string, below: Html | null = null): Html {
  return html`
    <nav id="navigation" class="navigation" aria-label="Portal" popover>
      ${groups.map((group) => navigationGroup(group, path))}
      <button type="button" class="shortcuts-link" data-opens="shortcuts" hidden>
        Keyboard shortcuts <kbd>?</kbd>
      </button>
      ${below}
    </nav>
  `;
}

/** Above the page; in a narrow frame a menu, which `tabsButton` opens. */
export function tabNavigation(groups: readonly NavigationGroup[], path: string): Html {
  const links = groups.map((group) => navigationGroup({ ...group, label: null }, path));
  return html`<nav id="navigation" class="navigation navigation-tabs" aria-label="Portal" popover>${links}</nav>`;
}

/** Names the current page. */
export function tabsButton(groups: readonly NavigationGroup[], path: string): Html {
  const current = groups.flatMap(({ items }) => items).find((item) => isCurrent(item.path, path));
  const label = current?.label ?? 'Menu';
  return html`
    <button type="button" class="tabs-button" popovertarget="navigation" aria-label="${current === undefined ? 'Menu' : `Menu: ${label}`}">
      ${icon('menu')}
      <span>${label}</span>
      ${icon('down')}
    </button>
  `;
}

function navigationGroup({ label, items }: NavigationGroup, path: string): Html {
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

/** `key` goes to the page after `g`. */
type NavigationItem = {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  readonly key: string;
};

export type NavigationGroup = { readonly label: string | null; readonly items: readonly NavigationItem[] };

const OPERATOR_NAVIGATION: readonly NavigationGroup[] = [
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
  return OPERATOR_NAVIGATION.map(({ label, items }) => ({
    label,
    items: items.filter(({ path }) => hasPage(path)),
  })).filter(({ items }) => items.length > 0);
}

/** Whether a page belongs to an item: it is the item's page, or below it. */
export function isCurrent(item: string, path: string): boolean {
  return path === item || (item !== '/' && path.startsWith(`${item}/`));
}
