/** The pages that the navigation leads to, and its list of keys. */

import { attributes, type Html, html } from '../../http/html.ts';
import { type IconName, icon } from '../parts/mark.ts';

type Shortcut = readonly [label: string, keys: string];

const SHORTCUTS: readonly (readonly [group: string, keys: readonly Shortcut[]])[] = [
  ['Lists', [['Show new rows', '.']]],
  [
    'Deliveries',
    [
      ['Search the list', '/'],
      ['Next, previous', 'j k'],
      ['Close', 'Esc'],
    ],
  ],
  [
    'General',
    [
      ['Search everything', 'Ctrl K or /'],
      ['Keyboard shortcuts', '?'],
    ],
  ],
];

export function shortcutsDialog(groups: readonly NavigationGroup[]): Html {
  const pages = groups.flatMap(({ items }) => items).map(({ label, key }) => [label, `g ${key}`] as const);
  const made = [['Go to', pages] as const, ...SHORTCUTS].map(([group, shortcuts]) => {
    const rows = shortcuts.map(
      ([label, keys]) =>
        html`
          <div>
            <dt>${label}</dt>
            <dd>${keys.split(' ').map((one) => (one === 'or' ? 'or ' : html`<kbd>${one}</kbd> `))}</dd>
          </div>
        `,
    );
    return html`<section><h3>${group}</h3><dl>${rows}</dl></section>`;
  });
  return html`
    <dialog id="shortcuts-dialog" class="overlay" aria-labelledby="shortcuts-title">
      <div class="overlay-head">
        <h2 id="shortcuts-title">Keyboard shortcuts</h2>
        <button type="button" class="icon-button" data-closes aria-label="Close">${icon('cross')}</button>
      </div>
      <div class="shortcuts">${made}</div>
    </dialog>
  `;
}

/** At the side; on small screens a menu. `below` follows the links. */
export function sideNavigation(groups: readonly NavigationGroup[], path: string, below: Html | null = null): Html {
  return html`
    <nav id="navigation" class="navigation" aria-label="Portal" popover>
      ${groupLists(groups, path)}
      <button type="button" class="shortcuts-link" data-opens="shortcuts" hidden>
        Keyboard shortcuts <kbd>?</kbd>
      </button>
      ${below}
    </nav>
  `;
}

/** Above the page; in a narrow frame a menu, which `tabsButton` opens. */
export function tabNavigation(groups: readonly NavigationGroup[], path: string): Html {
  const unnamed = groups.map((group) => ({ ...group, label: null }));
  return html`
    <nav id="navigation" class="navigation navigation-tabs" aria-label="Portal" popover>
      ${groupLists(unnamed, path)}
    </nav>
  `;
}

/** Names the current page. */
export function tabsButton(groups: readonly NavigationGroup[], path: string): Html {
  const current = sectionOf(itemsOf(groups), path);
  const label = current?.label ?? 'Menu';
  return html`
    <button type="button" class="tabs-button" popovertarget="navigation" aria-label="${current === null ? 'Menu' : `Menu: ${label}`}">
      ${icon('menu')}
      <span>${label}</span>
      ${icon('down')}
    </button>
  `;
}

function groupLists(groups: readonly NavigationGroup[], path: string): Html[] {
  const current = sectionOf(itemsOf(groups), path);
  return groups.map((group) => navigationGroup(group, current));
}

function navigationGroup({ label, items }: NavigationGroup, current: NavigationItem | null): Html {
  const links = items.map(
    (item) =>
      html`
        <li>
          <a
            href="${item.path}"
            ${attributes({ 'data-go': item.key, 'aria-current': item === current ? 'page' : null })}
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

const item = (path: string, label: string, icon: IconName, key: string): NavigationItem => ({ path, label, icon, key });

/** Pages that both portals have, under the same name and key. */
export const SHARED_PAGES = {
  overview: item('/', 'Overview', 'overview', 'o'),
  endpoints: item('/endpoints', 'Endpoints', 'endpoint', 'e'),
  webhooks: item('/webhooks', 'Webhooks', 'webhook', 'w'),
  eventTypes: item('/event-types', 'Event types', 'event', 't'),
  keys: item('/keys', 'PGP keys', 'key', 'k'),
  deliveries: item('/deliveries', 'Deliveries', 'delivery', 'd'),
  applications: item('/applications', 'Applications', 'application', 'a'),
  users: item('/users', 'Users', 'user', 'u'),
  usage: item('/usage', 'Usage', 'usage', 'b'),
  audit: item('/audit', 'Audit log', 'audit', 'l'),
};

const { overview, endpoints, webhooks, eventTypes, keys, deliveries, applications, users, usage, audit } = SHARED_PAGES;

const OPERATOR_NAVIGATION: readonly NavigationGroup[] = [
  { label: null, items: [overview, item('/customers', 'Customers', 'customer', 'm')] },
  { label: 'Deliver', items: [endpoints, webhooks, eventTypes, keys, deliveries] },
  {
    label: 'Access',
    items: [
      applications,
      users,
      item('/products', 'API products', 'product', 'p'),
      item('/tester', 'Who could call this?', 'tester', 'c'),
    ],
  },
  {
    label: 'Operate',
    items: [
      usage,
      audit,
      item('/instances', 'Instances', 'instances', 'i'),
      item('/settings', 'Settings', 'settings', 's'),
      item('/docs', 'Documentation', 'book', 'h'),
    ],
  },
];

export function navigationOf(hasPage: (path: string) => boolean): readonly NavigationGroup[] {
  return OPERATOR_NAVIGATION.map(({ label, items }) => ({
    label,
    items: items.filter(({ path }) => hasPage(path)),
  })).filter(({ items }) => items.length > 0);
}

/** The page of the navigation below which the path is; null if it is none of them, or not below one. */
export function pageAbove(path: string, isCustomers: boolean): Pick<NavigationItem, 'path' | 'label'> | null {
  const section = sectionOf(isCustomers ? Object.values(SHARED_PAGES) : itemsOf(OPERATOR_NAVIGATION), path);
  return section?.path === path ? null : section;
}

/** Pages that are not below the path of their section. A section of such a path comes before. */
const ELSEWHERE: readonly (readonly [path: string, section: string])[] = [
  ['/event-catalogue', '/event-types'],
  ['/publish', '/event-types'],
  ['/events', '/deliveries'],
  ['/guide', '/endpoints'],
  ['/api-reference', '/applications'],
];

/** The item of the navigation that a page belongs to: its own, or the one that it is below. */
export function sectionOf<Item extends Pick<NavigationItem, 'path'>>(
  items: readonly Item[],
  path: string,
): Item | null {
  const own = items.find((one) => isWithin(one.path, path));
  const [, section] = ELSEWHERE.find(([begin]) => isWithin(begin, path)) ?? [];
  return own ?? items.find((one) => one.path === section) ?? null;
}

function isWithin(section: string, path: string): boolean {
  return path === section || (section !== '/' && path.startsWith(`${section}/`));
}

function itemsOf(groups: readonly NavigationGroup[]): readonly NavigationItem[] {
  return groups.flatMap(({ items }) => items);
}
