/** The administration portal: the list of all pages. */
import { createSessionWatch } from '../access/session-watch.ts';
import { NO_THEME, type PortalTheme } from '../domain/portal-theme.ts';
import type { PageLook } from '../http/page.ts';
import type { Route, ServedTo } from '../http/route.ts';
import type { SignInInvited } from '../http/routes/invitations.ts';
import { RESULTS_MAX } from '../kernel/limits/portal.ts';
import { accountPages, sessionPages, themePages } from './account.ts';
import { applicationPages } from './applications/pages.ts';
import { createAssets } from './asset-routes.ts';
import { auditPages } from './audit.ts';
import { createCookies } from './cookies.ts';
import { customerCataloguePages } from './customers/catalogue.ts';
import { type CustomerPage, createPageDispatch, missingPages } from './customers/dispatch.ts';
import { accentRoute, embedRoute } from './customers/embedding.ts';
import { CUSTOMER_NAVIGATION, customerBody } from './customers/layout.ts';
import { portalLinkPages } from './customers/links.ts';
import { lookPages } from './customers/look.ts';
import { customerPages as customersPages } from './customers/pages.ts';
import { customerSignInPages } from './customers/sign-in.ts';
import { ownUsagePages, usagePages } from './customers/usage.ts';
import { deliveryDetailPages } from './deliveries/detail.ts';
import { deliveryFailurePages } from './deliveries/failures.ts';
import { deliveryListPages } from './deliveries/list.ts';
import { deliveryLivePages } from './deliveries/live.ts';
import { deliveryReplayPages } from './deliveries/replay.ts';
import { documentationPages } from './documentation.ts';
import { endpointPages } from './endpoints/pages.ts';
import { cataloguePages } from './event-types/catalogue.ts';
import { eventTypePages, sendSamplePage } from './event-types/pages.ts';
import { publishPages } from './event-types/publish.ts';
import { instancePages } from './instances.ts';
import { keyPages } from './keys.ts';
import { createLayout, navigationOf } from './layout.ts';
import { overviewPages } from './overview.ts';
import {
  createPages,
  type PageDependencies,
  type PageRoute,
  type Pages,
  type PortalDependencies,
  type SharedPageDependencies,
} from './page.ts';
import { accentPath, brandMark, brandName } from './parts/brand.ts';
import { productPages } from './products/pages.ts';
import { testerPages } from './products/tester.ts';
import { createResults } from './results.ts';
import { resultPages } from './results-pages.ts';
import { searchPages } from './search.ts';
import { settingsPages } from './settings.ts';
import { createSignInInvited, signInPages, signOutPages } from './sign-in.ts';
import { userPages } from './users/pages.ts';
import { webhookPages } from './webhooks/pages.ts';

export type Portal = {
  /** Pages, each with its role. A session of a customer gets that of `pagesOfCustomer`. */
  readonly pages: readonly PageRoute[];
  readonly pagesOfCustomer: (customerId: string) => readonly CustomerPage[];
  /** The path of the stylesheet, for pages outside the portal. */
  readonly stylesheet: string;
  /** Scripts and styles. */
  readonly assets: readonly Route[];
  /** The look of the customers' portal, for pages outside it. */
  readonly customersLook: () => Promise<PageLook>;
  readonly elsewhere: Pages['elsewhere'];
  /** Signs in a browser that has just set a password with an invitation. */
  readonly signInInvited: SignInInvited;
};

/** The pages of the operator. One line for each entity. */
function allPages(dependencies: PageDependencies<ServedTo>): PageRoute<Exclude<ServedTo, 'customers'>>[] {
  return [
    ...signInPages(dependencies),
    ...portalLinkPages(dependencies),
    ...customerSignInPages(dependencies),
    ...sharedPages(dependencies),
    ...customersPages(dependencies),
    ...eventTypePages(dependencies),
    ...cataloguePages(dependencies),
    ...publishPages(dependencies),
    ...productPages(dependencies),
    ...testerPages(dependencies),
    ...instancePages(dependencies),
    ...usagePages(dependencies),
    ...settingsPages(dependencies),
    ...lookPages(dependencies),
    ...documentationPages(dependencies),
  ];
}

/** The pages of a customer, over its part of the service. */
function customerPages(dependencies: SharedPageDependencies<ServedTo>): CustomerPage[] {
  return [
    ...sharedPages(dependencies),
    ...customerCataloguePages(dependencies),
    ...ownUsagePages(dependencies),
    ...missingPages(dependencies),
  ];
}

/** The pages of both. */
function sharedPages(dependencies: SharedPageDependencies): PageRoute<'both' | 'anyone'>[] {
  return [
    ...signOutPages(dependencies),
    ...accountPages(dependencies),
    ...sessionPages(dependencies),
    ...themePages(dependencies),
    ...overviewPages(dependencies),
    ...endpointPages(dependencies),
    ...webhookPages(dependencies),
    ...keyPages(dependencies),
    ...deliveryListPages(dependencies),
    ...deliveryFailurePages(dependencies),
    ...deliveryReplayPages(dependencies),
    ...deliveryLivePages(dependencies),
    ...deliveryDetailPages(dependencies),
    ...applicationPages(dependencies),
    ...userPages(dependencies),
    ...auditPages(dependencies),
    ...searchPages(dependencies),
    ...resultPages(dependencies),
    sendSamplePage(dependencies),
  ];
}

export function createPortal(dependencies: PortalDependencies): Portal {
  const { services, store, clock, random, throttle, publicUrl, offered } = dependencies;
  const { sessions } = services;
  const assets = createAssets();
  const publicHost = (): string | null => {
    const url = publicUrl();
    return url === null ? null : new URL(url).host;
  };
  const cookies = createCookies(publicUrl);
  const sessionWatch = createSessionWatch({ sessions, store: store.sessions, clock });
  const results = createResults(clock, {
    results: store.shortLived.values('result', RESULTS_MAX),
    secrets: store.shortLived.values('secret', RESULTS_MAX),
  });
  const theme = async (): Promise<PortalTheme> => (await store.settings.portalTheme()) ?? NO_THEME;
  const customersLook = async (): Promise<PageLook> => {
    const brand = await theme();
    const { accent } = brand;
    return { name: brandName(brand), mark: brandMark(brand), accentStyle: accent === null ? null : accentPath(accent) };
  };
  const frameAncestors = dependencies.config.portalFrameAncestors;
  /** What the pages of the operator, or of a customer, have around them, and the registration of their paths. */
  const surroundingsOf = (customerId: string | null) => {
    const paths = new Set<string>();
    const hasPage = (path: string): boolean => paths.has(path);
    const navigation = () => (customerId === null ? navigationOf(hasPage) : CUSTOMER_NAVIGATION);
    const layout = createLayout(assets.urls, navigation, ...(customerId === null ? [] : [customerBody]));
    const around = { sessions, sessionWatch, clock, random, layout, cookies, publicHost, frameAncestors, theme };
    const pages = createPages({ customerId, offered, ...around });
    const register = <Page extends PageRoute>(made: Page[]): Page[] => {
      for (const { method, path } of made) if (method === 'GET') paths.add(path);
      return made;
    };
    return { pages, cookies, results, hasPage, register };
  };
  const { register, ...around } = surroundingsOf(null);
  const registered = register(allPages({ ...dependencies, ...around }));
  const pagesOfCustomer = (customerId: string): CustomerPage[] => {
    const { register, ...around } = surroundingsOf(customerId);
    return register(
      customerPages({ ...dependencies.ofCustomer(customerId), offered, clock, throttle, publicUrl, ...around }),
    );
  };
  const served = createPageDispatch({ cookies, sessions, registered, routesOf: pagesOfCustomer });
  const signInInvited = createSignInInvited({ ...dependencies, cookies });
  return {
    pages: served,
    pagesOfCustomer,
    stylesheet: assets.urls.style,
    assets: [...assets.routes, accentRoute(), embedRoute()],
    customersLook,
    elsewhere: around.pages.elsewhere,
    signInInvited,
  };
}
