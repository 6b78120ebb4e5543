/** Every registered page of the portal, so that tests include pages that are added later. */
import { defaultConfig } from '../../src/config/config.ts';
import type { PageRoute, PortalDependencies } from '../../src/portal/page.ts';
import { createPortal } from '../../src/portal/portal.ts';

/** In their order, without services behind them: their descriptions can be read, but not their content. */
export function portalPages(): readonly PageRoute[] {
  return createPortal(DEPENDENCIES as PortalDependencies).pages;
}

/** The pages for people: without streams and parts that a page's script requests. */
export function shownPages(): readonly PageRoute[] {
  return portalPages().filter(({ method, isBackground }) => method === 'GET' && !isBackground);
}

/** Has every member, each of which is the same again, and can be called. */
const NOTHING: unknown = new Proxy(() => NOTHING, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => '' : NOTHING),
});

/** The path with something in place of each parameter. */
export function filledPath(path: string, value = '01933f2a-0000-7000-8000-000000000000'): string {
  return path.replace(/\{[^}]+\}/g, value);
}

const DEPENDENCIES: { readonly [Name in keyof PortalDependencies]: unknown } = {
  services: NOTHING,
  store: NOTHING,
  db: NOTHING,
  vault: NOTHING,
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
  config: defaultConfig(),
  publicUrl: () => null,
};
