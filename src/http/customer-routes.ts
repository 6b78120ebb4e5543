/**
 * The routes of the administration as a customer's applications call them (contract §8): the same routes, made over the customer's part of
 * the service. The gate has checked the scope before; here a caller gets to the right data.
 */
import type { Caller } from '../access/gate.ts';
import { insufficientPermission } from '../access/gate.ts';
import { CUSTOMERS_CACHED } from '../kernel/limits/customers.ts';
import { madeOnce } from '../kernel/lru.ts';
import { EDGE } from './resource-routes.ts';
import type { Route } from './route.ts';

/** The tags of the routes that customers have. Others serve the operator alone, whatever scopes a caller has. */
const TAGS: ReadonlySet<string> = new Set([
  'applications',
  'users',
  'endpoints',
  'keys',
  'webhooks',
  'event-types',
  'events',
  'deliveries',
  'audit',
  'usage',
]);

/** `routesOf` makes the guarded routes over one customer's part of the service. */
export function createRouteFor(
  routesOf: (customerId: string) => readonly Route[],
): (route: Route, caller: Caller) => Route {
  const ofCustomer = routesByName(routesOf);
  return (route, { customerId }) => {
    if (customerId === null) return route;
    const isForCustomers = route.path.startsWith(EDGE) && TAGS.has(route.tag) && !ERASURE.has(route.path);
    const own = isForCustomers ? ofCustomer(customerId).get(nameOf(route)) : undefined;
    if (own === undefined) throw insufficientPermission('this is for applications of the operator alone');
    return own;
  };
}

/** Erasures reach the data of everybody. */
const ERASURE: ReadonlySet<string> = new Set([`${EDGE}/events/erase`, `${EDGE}/erasures/{id}`]);

/** The routes of each customer by `nameOf`, made at its first request. */
export function routesByName<R extends Named>(
  routesOf: (customerId: string) => readonly R[],
): (customerId: string) => ReadonlyMap<string, R> {
  return madeOnce(CUSTOMERS_CACHED, (id) => new Map(routesOf(id).map((route) => [nameOf(route), route])));
}

type Named = Pick<Route, 'method' | 'path'>;

export function nameOf({ method, path }: Named): string {
  return `${method} ${path}`;
}
