/** The navigation, in groups. Pages that the portal lacks are omitted. */

export type NavigationItem = { readonly path: string; readonly label: string; readonly icon: IconName };
export type NavigationGroup = { readonly label: string | null; readonly items: readonly NavigationItem[] };

export type IconName =
  | 'overview'
  | 'endpoint'
  | 'webhook'
  | 'event'
  | 'key'
  | 'delivery'
  | 'application'
  | 'user'
  | 'product'
  | 'tester'
  | 'audit'
  | 'settings';

const GROUPS: readonly NavigationGroup[] = [
  { label: null, items: [{ path: '/', label: 'Overview', icon: 'overview' }] },
  {
    label: 'Deliver',
    items: [
      { path: '/endpoints', label: 'Endpoints', icon: 'endpoint' },
      { path: '/webhooks', label: 'Webhooks', icon: 'webhook' },
      { path: '/event-types', label: 'Event types', icon: 'event' },
      { path: '/keys', label: 'Keys', icon: 'key' },
      { path: '/deliveries', label: 'Deliveries', icon: 'delivery' },
    ],
  },
  {
    label: 'Access',
    items: [
      { path: '/applications', label: 'Applications', icon: 'application' },
      { path: '/users', label: 'Users', icon: 'user' },
      { path: '/products', label: 'API products', icon: 'product' },
      { path: '/tester', label: 'Who could call this?', icon: 'tester' },
    ],
  },
  {
    label: 'Operate',
    items: [
      { path: '/audit', label: 'Audit log', icon: 'audit' },
      { path: '/settings', label: 'Settings', icon: 'settings' },
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
