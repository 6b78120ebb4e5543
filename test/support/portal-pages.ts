/** Every registered page of the portal, so that tests include pages that are added later. */
import { readConfig } from '../../src/config/config.ts';
import type { Route } from '../../src/http/route.ts';
import { apiRoutes } from '../../src/http/routes/api-routes.ts';
import type { PageRoute, PortalDependencies } from '../../src/portal/frame/page.ts';
import { createPortal } from '../../src/portal/portal.ts';
import { onPostgres } from './store.ts';

/** Returns the pages without working services. Tests can read their descriptions but not render them. */
export function portalPages(): readonly PageRoute[] {
  return createPortal(DEPENDENCIES as PortalDependencies).pages;
}

/** The same of one customer. */
export function customersPages(): readonly PageRoute[] {
  return createPortal(DEPENDENCIES as PortalDependencies).pagesOfCustomer('none');
}

/** The routes of scripts and styles, and every route of the API, likewise. */
export function routesWithoutPages(): readonly Route[] {
  return [
    ...apiRoutes(API as Parameters<typeof apiRoutes>[0]),
    ...createPortal(DEPENDENCIES as PortalDependencies).assets,
  ];
}

/** The pages that users open, without downloads, and without the streams and fragments that scripts request. */
export function shownPages(): readonly PageRoute[] {
  return portalPages().filter(
    ({ method, path, isBackground }) => method === 'GET' && !isBackground && !path.endsWith('.csv'),
  );
}

/** Stands for any dependency: every property and every call returns the same object again. */
const NOTHING: unknown = new Proxy(() => NOTHING, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => '' : NOTHING),
});

/** Replaces each parameter of the path with `value`. */
export function filledPath(path: string, value = '01933f2a-0000-7000-8000-000000000000'): string {
  return path.replace(/\{[^}]+\}/g, value);
}

const DEPENDENCIES: { readonly [Name in keyof PortalDependencies]: unknown } = {
  ofCustomer: () => ({
    store: NOTHING,
    services: NOTHING,
    testDelivery: NOTHING,
    testOauth: NOTHING,
    figures: NOTHING,
    feed: NOTHING,
  }),
  offered: () => [],
  customersApi: NOTHING,
  services: NOTHING,
  // Only a PostgreSQL database has a page of its instances, and only an SQLite file a backup to download.
  store: new Proxy({}, { get: (_, name) => (name === 'instances' && !onPostgres ? null : NOTHING) }),
  storage: onPostgres ? { downloads: null } : NOTHING,
  clock: NOTHING,
  ids: NOTHING,
  random: NOTHING,
  log: NOTHING,
  metrics: NOTHING,
  figures: NOTHING,
  feed: NOTHING,
  dispatcher: NOTHING,
  testDelivery: NOTHING,
  testOauth: NOTHING,
  throttle: NOTHING,
  config: readConfig({}),
  publicUrl: () => null,
  egressAddresses: [],
};

const API: { readonly [Name in keyof Parameters<typeof apiRoutes>[0]]: unknown } = {
  services: NOTHING,
  store: NOTHING,
  clock: NOTHING,
  gate: NOTHING,
  publicUrl: NOTHING,
  knownAddress: NOTHING,
  signInPath: NOTHING,
  signInInvited: NOTHING,
  customersLook: NOTHING,
  stylesheet: '',
  egressAddresses: [],
  testDelivery: NOTHING,
  stopping: NOTHING,
  dispatcher: NOTHING,
  log: NOTHING,
  metrics: NOTHING,
};
