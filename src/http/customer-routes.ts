/**
 * The routes of the administration as a customer's applications call them (contract §8.3): the same routes, made over the customer's part
 * of the service. The gate has checked the scope before; here a caller gets to the right data.
 */

import { type Caller, operatorOnly } from '../access/gate.ts';
import { memoized } from '../kernel/lru.ts';
import { CUSTOMERS_CACHED } from './limits.ts';
import type { Route } from './route.ts';

/**
 * Gives a caller the guarded route that serves it. `routesOf` makes the routes of one customer, over its part of the service. A caller of a
 * customer gets 401 `insufficient_permission` for every route that is not for both.
 */
export function createRouteFor(
  routesOf: (customerId: string) => readonly Route<'both'>[],
): (route: Route, caller: Caller) => Route {
  const ofCustomer = routesByName(routesOf);
  return (route, { customerId }) => {
    if (customerId === null) return route;
    const own = route.for === 'both' ? ofCustomer(customerId).get(nameOf(route)) : undefined;
    if (own === undefined) throw operatorOnly();
    return own;
  };
}

/** The routes of each customer by `nameOf`, made at its first request. */
export function routesByName<R extends Named>(
  routesOf: (customerId: string) => readonly R[],
): (customerId: string) => ReadonlyMap<string, R> {
  return memoized(CUSTOMERS_CACHED, (id) => new Map(routesOf(id).map((route) => [nameOf(route), route])));
}

type Named = Pick<Route, 'method' | 'path'>;

export function nameOf({ method, path }: Named): string {
  return `${method} ${path}`;
}
