/** Every page of the portal as it is registered, so that tests go through those that are added later too. */
import { defaultConfig } from '../../src/config/config.ts';
import type { PageRoute, PortalDependencies } from '../../src/portal/page.ts';
import { createPortal } from '../../src/portal/portal.ts';

/** In their order. Nothing stands behind them: they are to be looked at, not asked. */
export function portalPages(): readonly PageRoute[] {
  return createPortal(DEPENDENCIES as PortalDependencies).pages;
}

/** Those that a person looks at: no streams, and nothing that a page asks for by itself. */
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
