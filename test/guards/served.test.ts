/**
 * Whom each route and each page serves, and what a customer gets of it: an application that holds every scope there is, also those of the
 * operator, and a session of an administrator. Each is really asked once. Nothing is changed: what is sent with another method than GET is
 * not complete, so the answer says only whether it was refused for whom it serves.
 */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { BUILT_IN_SCOPES } from '../../src/access/built-in.ts';
import { nameOf } from '../../src/http/customer-routes.ts';
import type { Route } from '../../src/http/route.ts';
import type { PageResult } from '../../src/portal/frame/call.ts';
import type { PageDependencies, SharedPageDependencies } from '../../src/portal/frame/page.ts';
import { confined } from '../../src/store/confinement.ts';
import type { Store } from '../../src/store/port/store.ts';
import { type Page, succeeded, tokenFor } from '../support/client.ts';
import { makeCustomer, ORDERS, seedBelongings, sessionOf } from '../support/customers.ts';
import { guard } from '../support/guards.ts';
import { makeEventType } from '../support/journey.ts';
import type { ApiDocument } from '../support/openapi-document.ts';
import { customersPages, portalPages, routesWithoutPages } from '../support/portal-pages.ts';
import { request } from '../support/portal-requests.ts';
import { changeBeside, startService } from '../support/service.ts';

const HEAD = `# Whom each route and page serves, and what a customer gets of it (test/guards/served.test.ts).
`;
const API_HEAD = `
# Routes: the answer to an application of a customer that holds every scope, also those of the operator. Ids in paths are the customer's own
# for GET, and unknown for other methods, whose body is empty: 400 and 404 mean that it was not refused.
`;
const PAGES_HEAD = `
# Pages, actions and streams: the answer to a session of a customer's administrator. Ids in paths are the customer's own. Forms have a wrong
# form token: 403 means that it was not refused. With two words the customer has another page than the operator.
`;

async function openWorld(t: TestContext) {
  const service = await startService(t);
  const { admin, url } = service;
  await makeEventType(admin, ORDERS);
  const customer = await makeCustomer(service);
  const { ids } = await seedBelongings(service, customer);
  const { items } = await succeeded<Page<{ id: string }>>(customer.api.get('event-types?limit=1'));
  const session = await sessionOf(service, customer, 'user');
  const [{ id: sessionId = '' } = {}] = await service.services.sessions.ofUser(customer.userId);
  // No application of a customer can be given the operator's scopes, so the database is changed.
  const all = JSON.stringify(BUILT_IN_SCOPES);
  const { userId, applicationId } = customer;
  await changeBeside(t, service, 'UPDATE user_account SET permissions = @all WHERE id = @userId', { all, userId });
  await changeBeside(t, service, 'UPDATE application SET scopes = @all WHERE id = @applicationId', {
    all,
    applicationId,
  });
  const token = await tokenFor(url, customer.credentials);
  const own: Readonly<Record<string, string>> = {
    ...ids,
    customers: customer.id,
    'event-types': items[0]?.id ?? '',
    sessions: sessionId,
    'event-catalogue': ORDERS,
    'sign-in': customer.id,
  };
  return { service, own, token, session };
}

const UNKNOWN = '0193a1f0-0000-7000-8000-00000000ffff';

/** The path with the id that belongs to the segment before each parameter. */
function filled(path: string, ids: Readonly<Record<string, string>>): string {
  return path.replace(/([^/]+)\/\{[^}]+\}/g, (_, kind: string) => `${kind}/${ids[kind] ?? UNKNOWN}`);
}

it('every route and page answers a customer as before', async (t) => {
  const { service, own, token, session } = await openWorld(t);
  const { url } = service;
  const open: string[] = [];
  const line = (whom: string, answer: string, route: Pick<Route, 'method' | 'path'>): string => {
    const name = nameOf(route).replace(/\/[0-9a-f]{16}\//, '/{hash}/');
    return `${whom.padEnd(20)}${answer.padEnd(30)}${name}`;
  };

  const routes: string[] = [];
  for (const route of routesWithoutPages()) {
    const { method, path } = route;
    const response = await fetch(url + filled(path, method === 'GET' ? own : {}), {
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${token}`,
        // As through a proxy: some routes let every client of this machine in.
        'x-forwarded-for': '192.0.2.1',
        ...(method !== 'GET' && { 'content-type': 'application/json' }),
      },
      ...(method !== 'GET' && { body: '{}' }),
    });
    const code = /"(?:code|error)":"(\w+)"/.exec(await response.text())?.[1];
    const answer = response.status < 400 || code === undefined ? `${response.status}` : `${response.status} ${code}`;
    if (route.for === 'operator' && answer !== '401 insufficient_permission') open.push(nameOf(route));
    routes.push(line(route.for, answer, route));
  }

  const ofCustomer = new Map(customersPages().map((page) => [nameOf(page), page.for]));
  const pages: string[] = [];
  for (const page of portalPages()) {
    const isForm = page.method === 'POST';
    const target = url + filled(page.path, own).replace(/\{\w+\*\}/, 'tutorials.md');
    const { status } = await request(target, { token: session, ...(isForm && { form: { formToken: 'another' } }) });
    const served = ofCustomer.get(nameOf(page));
    if (served === undefined && page.for !== 'anyone' && status !== 404) open.push(nameOf(page));
    if (page.for === 'both') assert.equal(served, 'both', nameOf(page));
    const whom = served === undefined || served === page.for ? page.for : `${page.for}, ${served}`;
    pages.push(line(whom, `${status}`, page));
  }

  assert.deepEqual(open, [], 'a customer gets what only the operator may have');
  const document = await succeeded<ApiDocument>(service.admin.get('/services/api/openapi.json'));
  const listed = new Set(routesWithoutPages().map(nameOf));
  for (const [path, item] of Object.entries(document.paths))
    for (const method of Object.keys(item).filter((one) => /^(get|post|put|patch|delete)$/.test(one)))
      assert.ok(listed.has(`${method.toUpperCase()} ${path}`), `${method} ${path} is not listed`);
  const text = [
    HEAD,
    API_HEAD,
    ...routes.sort().map((one) => `${one}\n`),
    PAGES_HEAD,
    ...pages.sort().map((one) => `${one}\n`),
  ];
  guard('served.txt', text.join(''));
});

/** Is never called. `npm run check` compiles it: a marked line that compiles is an error. */
export function refusedByTheCompiler(
  operator: PageDependencies,
  both: SharedPageDependencies,
  store: Store,
  [route, operatorRoute]: [Omit<Route, 'for'>, Route<'operator'>],
): unknown {
  const respond = async (): Promise<PageResult> => ({ redirect: '/' });
  return [
    // @ts-expect-error a route says whom it serves
    { ...route } satisfies Route,
    // @ts-expect-error a page says whom it serves
    both.pages.act('/page', 'viewer', respond),
    // @ts-expect-error a stream says whom it serves
    both.pages.stream('/page/live', () => assert.fail()),
    // @ts-expect-error a file with the services of the operator has no page for customers
    operator.pages.view('/page', 'both', respond),
    // @ts-expect-error a customer has no route of the operator
    [operatorRoute] satisfies Route<'both'>[],
    // @ts-expect-error a page for both finds no customers
    both.services.customers,
    // @ts-expect-error a page for both makes no portal link
    both.services.portalLinks,
    // @ts-expect-error a page for both changes no event type
    both.services.eventTypes.create,
    // @ts-expect-error a verb of the customer's own needs its function
    confined(store, 'allowances', { take: store.allowances.take }),
  ];
}
