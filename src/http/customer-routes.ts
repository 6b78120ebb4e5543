/**
 * The routes of the administration as a customer's applications call them (contract §8): the same routes, made over the customer's part of
 * the service. The gate has checked the scope before; here a caller gets to the right data.
 */
import type { Caller } from '../access/gate.ts';
import { insufficientPermission } from '../access/gate.ts';
import { CUSTOMERS_CACHED } from '../kernel/limits/customers.ts';
import { createLru } from '../kernel/lru.ts';
import { EDGE } from './resource-routes.ts';
import type { Route } from './route.ts';

/** The tags of the routes that customers have. Others serve the operator alone, whatever scopes a caller has. */
const TAGS: ReadonlySet<string> = new Set([
  ...[
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
  ],
]);

/** `routesOf` makes the guarded routes over one customer's part of the service. */
export function createRouteFor(
  routesOf: (customerId: string) => readonly Route[],
): (route: Route, caller: Caller) => Route {
  const made = createLru<string, ReadonlyMap<string, Route>>({ max: CUSTOMERS_CACHED });
  const ofCustomer = (customerId: string): ReadonlyMap<string, Route> => {
    const known = made.get(customerId);
    if (known !== undefined) return known;
    const routes = new Map(routesOf(customerId).map((route) => [nameOf(route), route]));
    made.set(customerId, routes);
    return routes;
  };
  return (route, { customerId }) => {
    if (customerId === null || !route.path.startsWith(EDGE)) return route;
    const own = TAGS.has(route.tag) && !ERASURE.has(route.path) ? ofCustomer(customerId).get(nameOf(route)) : undefined;
    if (own === undefined) throw insufficientPermission('this is for applications of the operator alone');
    return own;
  };
}

/** Erasures reach the data of everybody. */
const ERASURE: ReadonlySet<string> = new Set([`${EDGE}/events/erase`, `${EDGE}/erasures/{id}`]);

function nameOf({ method, path }: Route): string {
  return `${method} ${path}`;
}
