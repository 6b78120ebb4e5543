/** A listening server with every route of the API on real services, and its OpenAPI document. */

import type { TestContext } from 'node:test';
import { BUILT_IN_PRODUCTS, BUILT_IN_SCOPES } from '../../src/access/built-in.ts';
import { createOauthTokens } from '../../src/delivery/oauth.ts';
import { createSend } from '../../src/delivery/send.ts';
import { createTestDelivery } from '../../src/delivery/trials/test-delivery.ts';
import { createThrottle } from '../../src/domain/throttle.ts';
import type { CheckedEvent } from '../../src/events/event-input.ts';
import type { Publish } from '../../src/events/publish.ts';
import { createOnce } from '../../src/http/once.ts';
import { openApiDocument } from '../../src/http/openapi.ts';
import { createRemoteAddress } from '../../src/http/request.ts';
import type { Route } from '../../src/http/route.ts';
import { applicationRoutes, productRoutes, userRoutes } from '../../src/http/routes/access.ts';
import { createClientAuthentication } from '../../src/http/routes/client-authentication.ts';
import { discoveryRoutes } from '../../src/http/routes/discovery.ts';
import { employeeRoutes } from '../../src/http/routes/employees.ts';
import { eventRoutes } from '../../src/http/routes/events.ts';
import { forwardAuthRoutes } from '../../src/http/routes/forward-auth.ts';
import { healthRoutes } from '../../src/http/routes/health.ts';
import { introspectionRoutes } from '../../src/http/routes/introspection.ts';
import { OPENAPI_PATH, openApiRoutes } from '../../src/http/routes/openapi.ts';
import { revocationRoutes } from '../../src/http/routes/revocation.ts';
import { tokenRoutes } from '../../src/http/routes/token.ts';
import { eventTypeChangeRoutes, webhookRoutes } from '../../src/http/routes/webhooks.ts';
import { createListener, createRequestHandler } from '../../src/http/server.ts';
import { createLog } from '../../src/observe/log.ts';
import { cleanUp } from './cleanup.ts';
import { type ApiClient, createClient, succeeded } from './client.ts';
import type { ApiDocument } from './openapi-document.ts';
import { makeApplication, makeUser, openTestServices, type TestServices, tokenOf } from './services.ts';
import { loopbackTransport } from './transport.ts';

export type DescribedService = {
  readonly url: string;
  /** Without the route of the document itself. */
  readonly routes: readonly Route[];
  readonly document: ApiDocument;
  /** The public address. Initially the address of the listening socket; tests may change it. */
  readonly publicUrl: { value: string };
  /** A client with every built-in scope, and the credentials behind it. */
  readonly admin: ApiClient;
  readonly credentials: { readonly clientId: string; readonly clientSecret: string };
};

export async function startDescribedService(t: TestContext): Promise<DescribedService> {
  const services = await openTestServices(t);
  const { gate, clock } = services;
  const publicUrl = { value: '' };
  const routes = routesOf(t, services, () => publicUrl.value);
  const described = [...routes, ...openApiRoutes({ routes, publicUrl: () => publicUrl.value })];
  const log = createLog('error');
  const handler = createRequestHandler({ routes: described, gate, clock, log, remoteAddress: createRemoteAddress([]) });
  const listener = createListener({ handler, tls: null, clock, log });
  cleanUp(t, () => listener.close());
  const url = `http://127.0.0.1:${await listener.listen('127.0.0.1', 0)}`;
  publicUrl.value = url;
  const { id } = await makeUser(services, { permissions: BUILT_IN_SCOPES });
  const { application, clientSecret } = await makeApplication(services, { userId: id, scopes: BUILT_IN_SCOPES });
  const { clientId } = application;
  const admin = createClient(url, await tokenOf(services, clientId, clientSecret));
  const document = await succeeded<ApiDocument>(admin.as(null).get(OPENAPI_PATH));
  return { url, routes, document, publicUrl, admin, credentials: { clientId, clientSecret } };
}

type Described = Pick<DescribedService, 'document' | 'routes'>;

let described: Promise<Described> | null = null;

/** The document and the routes of such a service, which the first test that asks starts. No test changes them. */
export function describedOnce(t: TestContext): Promise<Described> {
  described ??= startDescribedService(t).then(({ document, routes }) => ({ document, routes }));
  return described;
}

function routesOf(t: TestContext, services: TestServices, issuer: () => string): Route[] {
  const { store, clock, ids, gate, tokens, webhooks } = services;
  const authentication = createClientAuthentication({ tokens, throttle: createThrottle(), clock });
  const transport = loopbackTransport(t, {});
  const once = createOnce({ store, clock });
  const send = createSend({ transport, oauth: createOauthTokens({ transport, clock }) });
  return [
    ...tokenRoutes({ tokens, authentication }),
    ...introspectionRoutes({ tokens, authentication, gate, users: store.users, issuer }),
    ...revocationRoutes({ tokens, authentication }),
    ...discoveryRoutes({ issuer, products: services.products }),
    ...forwardAuthRoutes({ gate }),
    ...userRoutes({ ...services, once }),
    ...productRoutes({ ...services, once }),
    ...applicationRoutes({ services, clock, once }),
    ...webhookRoutes({
      services,
      clock,
      once,
      testDelivery: createTestDelivery({ store, clock, ids, send, webhooks, formatOf: services.formatOf }),
    }),
    ...eventTypeChangeRoutes({ ...services, once }),
    ...eventRoutes({ services: { ...services, publish: publishing(services) }, store }),
    ...employeeRoutes({ ...services, once }),
    ...healthRoutes({ store, dispatcher: { isAlive: () => true }, clock, log: createLog('error') }),
  ];
}

/** The route has read the events, and these services read their input themselves. */
function publishing({ publish }: TestServices): Publish {
  const inputOf = ({ dataJson, ...event }: CheckedEvent): object => ({ ...event, data: JSON.parse(dataJson) });
  return (events, acting) => publish('type' in events ? inputOf(events) : { events: events.map(inputOf) }, acting);
}

/** The public address in documents that no server serves. */
export const PUBLIC_URL = 'https://edge.company.example';

/** A route without authorization or other special features. */
export const STUB: Route = {
  for: 'anyone',
  method: 'GET',
  path: '/stub',
  access: 'open',
  operationId: 'getStub',
  tag: 'operation',
  summary: 'A stub',
  replies: { 200: { description: 'It' } },
  respond: async () => ({ status: 200 }),
};

/** The document that describes these routes, with the scopes of the built-in catalogue. */
export function documentOf(...routes: readonly Route[]): ApiDocument {
  const document = openApiDocument({ routes, publicUrl: PUBLIC_URL, products: BUILT_IN_PRODUCTS });
  return document as unknown as ApiDocument;
}
