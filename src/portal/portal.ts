/** The administration portal: every page, in one place. */
import { createSessionWatch } from '../access/session-watch.ts';
import type { Route } from '../http/route.ts';
import { createAssets } from './asset-routes.ts';
import type { PageDependencies, PortalDependencies } from './dependencies.ts';
import { createLayout } from './layout.ts';
import { navigationOf } from './navigation.ts';
import { createPages, type PageRoute, type Pages } from './page.ts';
import { accountPages } from './pages/account.ts';
import { sessionPages } from './pages/account-sessions.ts';
import { applicationPages } from './pages/applications.ts';
import { auditPages } from './pages/audit.ts';
import { deliveryPages } from './pages/deliveries.ts';
import { endpointPages } from './pages/endpoints.ts';
import { eventTypePages } from './pages/event-types.ts';
import { keyPages } from './pages/keys.ts';
import { overviewPages } from './pages/overview.ts';
import { productPages } from './pages/products.ts';
import { resultPages } from './pages/results.ts';
import { settingsPages } from './pages/settings.ts';
import { signInPages } from './pages/sign-in.ts';
import { testerPages } from './pages/tester.ts';
import { themePages } from './pages/theme.ts';
import { userPages } from './pages/users.ts';
import { webhookPages } from './pages/webhooks.ts';
import { createResults } from './results.ts';

export type Portal = {
  /** Pages, each with the role that it takes. */
  readonly pages: readonly PageRoute[];
  /** The path of the stylesheet, for pages outside. */
  readonly stylesheet: string;
  /** Scripts and styles. */
  readonly assets: readonly Route[];
  readonly elsewhere: Pages['elsewhere'];
};

/** One line for each subject. */
function allPages(dependencies: PageDependencies): PageRoute[] {
  return [
    ...signInPages(dependencies),
    ...accountPages(dependencies),
    ...sessionPages(dependencies),
    ...themePages(dependencies),
    ...overviewPages(dependencies),
    ...endpointPages(dependencies),
    ...webhookPages(dependencies),
    ...eventTypePages(dependencies),
    ...keyPages(dependencies),
    ...deliveryPages(dependencies),
    ...applicationPages(dependencies),
    ...userPages(dependencies),
    ...productPages(dependencies),
    ...testerPages(dependencies),
    ...auditPages(dependencies),
    ...settingsPages(dependencies),
    ...resultPages(dependencies),
  ];
}

export function createPortal(dependencies: PortalDependencies): Portal {
  const { services, store, clock, random, publicUrl } = dependencies;
  const { sessions } = services;
  const assets = createAssets();
  const paths = new Set<string>();
  const hasPage = (path: string): boolean => paths.has(path);
  const layout = createLayout(assets.urls, () => navigationOf(hasPage));
  const publicHost = (): string | null => {
    const url = publicUrl();
    return url === null ? null : new URL(url).host;
  };
  const sessionWatch = createSessionWatch({ sessions, store: store.sessions, clock });
  const pages = createPages({ sessions, sessionWatch, clock, random, layout, publicHost });
  const registered = allPages({ ...dependencies, pages, results: createResults(clock), hasPage });
  for (const { method, path } of registered) if (method === 'GET') paths.add(path);
  const { elsewhere } = pages;
  return { pages: registered, stylesheet: assets.urls.style, assets: assets.routes, elsewhere };
}
