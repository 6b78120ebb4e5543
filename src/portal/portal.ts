/** The administration portal: the list of all pages. */

import { createSessionWatch } from '../access/session-watch.ts';
import { NO_THEME, type PortalTheme } from '../domain/portal-theme.ts';
import type { PageLook } from '../http/page.ts';
import type { RefuseElsewhere, Route, ServedTo } from '../http/route.ts';
import type { SignInInvited } from '../http/routes/invitations.ts';
import { accountPages, sessionPages, themePages } from './account/account-pages.ts';
import { apiReferencePages } from './api-reference/api-reference-pages.ts';
import { applicationPages } from './applications/application-pages.ts';
import { auditPages } from './audit/audit-pages.ts';
import { customerCataloguePages } from './customer-frame/catalogue-pages.ts';
import { CUSTOMER_NAVIGATION, customerFrame } from './customer-frame/customer-layout.ts';
import { customerSignInPages } from './customer-frame/customer-sign-in.ts';
import { accentRoute, embedRoute } from './customer-frame/embedding.ts';
import { lookPages } from './customer-frame/look-pages.ts';
import { type CustomerPage, createPageDispatch, missingPages } from './customer-frame/page-dispatch.ts';
import { portalLinkPages } from './customer-frame/portal-link-pages.ts';
import { customerAdministrationPages } from './customers/customer-pages.ts';
import { ownUsagePages, usagePages } from './customers/usage-pages.ts';
import { deliveryDetailPages } from './deliveries/delivery-detail.ts';
import { deliveryListPages } from './deliveries/delivery-list.ts';
import { deliveryFailurePages } from './deliveries/failure-pages.ts';
import { deliveryLivePages } from './deliveries/live-pages.ts';
import { deliveryReplayPages } from './deliveries/replay-pages.ts';
import { documentationPages } from './documentation/documentation-pages.ts';
import { downloadPages } from './documentation/download-pages.ts';
import { endpointPages } from './endpoints/endpoint-pages.ts';
import { guidePages } from './endpoints/guide-pages.ts';
import { cataloguePages } from './event-types/event-catalogue-pages.ts';
import { eventTypePages } from './event-types/event-type-pages.ts';
import { publishPages } from './event-types/publish-pages.ts';
import { createAssets } from './frame/asset-routes.ts';
import { createCookies } from './frame/cookies.ts';
import { createSessionReader } from './frame/current-session.ts';
import { createLayout } from './frame/layout.ts';
import { navigationOf } from './frame/navigation.ts';
import {
  createPages,
  type PageDependencies,
  type PageRoute,
  type PortalDependencies,
  type SharedPageDependencies,
} from './frame/page.ts';
import { resultPages } from './frame/result-pages.ts';
import { createResults } from './frame/results.ts';
import { instancePages } from './instances/instance-pages.ts';
import { keyPages } from './keys/key-pages.ts';
import { overviewPages } from './overview/overview-pages.ts';
import { accentPath, brandMark, brandName } from './parts/brand.ts';
import { RESULTS_MAX } from './parts/limits.ts';
import { productPages } from './products/product-pages.ts';
import { testerPages } from './products/tester-pages.ts';
import { searchPages } from './search/search-pages.ts';
import { settingsPages } from './settings/settings-pages.ts';
import { createSignInInvited, signInPages, signOutPages } from './sign-in/sign-in-pages.ts';
import { userPages } from './users/user-pages.ts';
import { sendSamplePage } from './webhooks/sample-events.ts';
import { webhookPages } from './webhooks/webhook-pages.ts';

export type Portal = {
  /** Pages, each with its role. A session of a customer gets that of `pagesOfCustomer`. */
  readonly pages: readonly PageRoute[];
  readonly pagesOfCustomer: (customerId: string) => readonly CustomerPage[];
  /** The path of the stylesheet, for pages outside the portal. */
  readonly stylesheet: string;
  /** Scripts and styles. */
  readonly assets: readonly Route[];
  /** The look of the customers' portal, for pages outside it. */
  readonly customersLook: (isForCustomers: boolean) => Promise<PageLook | null>;
  readonly elsewhere: RefuseElsewhere;
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
    ...customerAdministrationPages(dependencies),
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
function allPagesOfCustomer(dependencies: SharedPageDependencies<ServedTo>): CustomerPage[] {
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
    ...guidePages(dependencies),
    ...apiReferencePages(dependencies),
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
    ...downloadPages(dependencies),
  ];
}

export function createPortal(dependencies: PortalDependencies): Portal {
  const { services, store, clock, random, throttle, publicUrl, egressAddresses, offered, customersApi } = dependencies;
  const { sessions } = services;
  const assets = createAssets();
  const publicHost = (): string | null => {
    const url = publicUrl();
    return url === null ? null : new URL(url).host;
  };
  const cookies = createCookies(publicUrl);
  const sessionOf = createSessionReader(sessions, cookies);
  const sessionWatch = createSessionWatch({ sessions, store: store.sessions, clock });
  const results = createResults(clock, {
    results: store.shortLived.values('result', RESULTS_MAX),
    secrets: store.shortLived.values('secret', RESULTS_MAX),
  });
  const theme = async (): Promise<PortalTheme> => (await store.settings.portalTheme()) ?? NO_THEME;
  // The sign-in page of the operator has the look too, once it has a name or a logo.
  const customersLook = async (isForCustomers: boolean): Promise<PageLook | null> => {
    const brand = await theme();
    const { accent } = brand;
    if (!isForCustomers && brand.name === null && brand.logo === null) return null;
    return { name: brandName(brand), mark: brandMark(brand), accentStyle: accent === null ? null : accentPath(accent) };
  };
  const frameAncestors = dependencies.config.portalFrameAncestors;
  const { retentionDeliveredDays, retentionDeadDays } = dependencies.config;
  const kept = { deliveredDays: retentionDeliveredDays, deadDays: retentionDeadDays };
  /** The parts around the pages of the operator or of a customer, and the registration of their paths. */
  const surroundingsOf = (customerId: string | null) => {
    const paths = new Set<string>();
    const hasPage = (path: string): boolean => paths.has(path);
    const navigation = () => (customerId === null ? navigationOf(hasPage) : CUSTOMER_NAVIGATION);
    const layout = createLayout(assets.urls, navigation, ...(customerId === null ? [] : [customerFrame]));
    const around = { sessionOf, sessionWatch, clock, random, layout, cookies, publicHost, frameAncestors, theme };
    const pages = createPages({ customerId, offered, ...around });
    const register = <Page extends PageRoute>(made: Page[]): Page[] => {
      for (const { method, path } of made) if (method === 'GET') paths.add(path);
      return made;
    };
    return { pages, cookies, results, hasPage, navigation, kept, register };
  };
  const { register, ...around } = surroundingsOf(null);
  const registered = register(allPages({ ...dependencies, ...around }));
  const pagesOfCustomer = (customerId: string): CustomerPage[] => {
    const { register, ...around } = surroundingsOf(customerId);
    return register(
      allPagesOfCustomer({
        ...dependencies.ofCustomer(customerId),
        offered,
        customersApi,
        clock,
        throttle,
        publicUrl,
        egressAddresses,
        ...around,
      }),
    );
  };
  const served = createPageDispatch({ sessionOf, registered, routesOf: pagesOfCustomer });
  const signInInvited = createSignInInvited({ ...dependencies, cookies });
  return {
    pages: served,
    pagesOfCustomer,
    stylesheet: assets.urls.style,
    assets: [...assets.routes, accentRoute(), embedRoute()],
    customersLook,
    elsewhere: {
      refuse: async (refusal, request, errorId) => {
        // Without the database, nobody is known.
        const current = await sessionOf.readFor(request, true).catch(() => null);
        const customerId = current?.session.customerId ?? null;
        const { pages } = customerId === null ? around : surroundingsOf(customerId);
        return pages.elsewhere.refuse(refusal, request, errorId);
      },
    },
    signInInvited,
  };
}
