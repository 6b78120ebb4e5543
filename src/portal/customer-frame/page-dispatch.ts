/**
 * Gives each request for a page to the portal of its session (contract §8.3): a session of a customer gets the pages that are made over the
 * customer's part of the service, and the operator's pages never see it.
 */
import type { IncomingMessage } from 'node:http';
import { nameOf, routesByName } from '../../http/customer-routes.ts';
import type { ServedTo } from '../../http/route.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { SessionReader } from '../frame/current-session.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';

/** A page over the part of the service of one customer. */
export type CustomerPage = PageRoute<Exclude<ServedTo, 'operator'>>;

type Dependencies = {
  readonly sessionOf: SessionReader;
  /** The pages of the operator. */
  readonly registered: readonly PageRoute[];
  /** The pages of a customer. */
  readonly routesOf: (customerId: string) => readonly CustomerPage[];
};

export function createPageDispatch({ sessionOf, registered, routesOf }: Dependencies): PageRoute[] {
  const ofCustomer = routesByName(routesOf);
  /** The pages that serve requests in progress, so that a refusal gets the same layout. */
  const serving = new WeakMap<IncomingMessage, PageRoute>();

  const routeFor = async (request: IncomingMessage, route: PageRoute): Promise<PageRoute> => {
    const current = await sessionOf.readFor(request, route.isBackground);
    const customerId = current?.session.customerId ?? null;
    if (customerId === null) return route;
    const routes = ofCustomer(customerId);
    const own = routes.get(nameOf(route));
    // Such as the sign-in.
    if (own === undefined && route.for === 'anyone') return route;
    const served = own ?? routes.get(nameOf(MISSING));
    if (served === undefined) throw new Refusal('not_found', 'there is no such page');
    serving.set(request, served);
    return served;
  };

  return registered.map((route) => {
    const { refuse } = route;
    return {
      ...route,
      ...(route.admit !== undefined && {
        admit: async (request) => (await routeFor(request, route)).admit?.(request) ?? null,
      }),
      respond: async (call) => (await routeFor(call.request, route)).respond(call),
      ...(refuse !== undefined && {
        refuse: (refusal, request, errorId) =>
          (serving.get(request) ?? route).refuse?.(refusal, request, errorId) ?? null,
      }),
    } satisfies PageRoute;
  });
}

const MISSING = { method: 'GET', path: '/missing' } as const;

/** Answers for pages that only the operator has. In the layout of the customer, so it is a page of the customer's portal. */
export function missingPages({ pages }: SharedPageDependencies<'customers'>): PageRoute<'customers'>[] {
  return [
    pages.view(MISSING.path, 'customers', async () => {
      throw new Refusal('not_found', 'there is no such page');
    }),
  ];
}
