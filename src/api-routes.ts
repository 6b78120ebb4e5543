/** The routes of the API, put together of what they need. Those of the portal, of metrics and of OpenAPI are not among them. */
import type { Gate } from './access/gate.ts';
import { createThrottle } from './access/throttle.ts';
import type { Composed } from './compose.ts';
import type { Dispatcher } from './delivery/dispatcher.ts';
import type { TestDelivery } from './delivery/test-delivery.ts';
import { createClientAuthentication } from './http/client-authentication.ts';
import { createOnce } from './http/once.ts';
import type { Route } from './http/route.ts';
import { accessRoutes } from './http/routes/access.ts';
import { discoveryRoutes } from './http/routes/discovery.ts';
import { employeeRoutes } from './http/routes/employees.ts';
import { erasureRoutes } from './http/routes/erasure.ts';
import { eventRoutes } from './http/routes/events.ts';
import { forwardAuthRoutes } from './http/routes/forward-auth.ts';
import { healthRoutes } from './http/routes/health.ts';
import { introspectionRoutes } from './http/routes/introspection.ts';
import { invitationRoutes } from './http/routes/invitations.ts';
import { revocationRoutes } from './http/routes/revocation.ts';
import { tokenRoutes } from './http/routes/token.ts';
import { webhookRoutes } from './http/routes/webhooks.ts';
import type { Log } from './log.ts';

/** Tokens, what they stand for, and who may come in: its throttle is of its own. */
export function authorizationServer({
  services: { tokens, invitations, products },
  store,
  clock,
  gate,
  issuer,
  knownAddress,
  ...page
}: Composed & {
  readonly gate: Gate;
  readonly issuer: () => string;
  /** The same; null where it is not known. */
  readonly knownAddress: () => string | null;
  readonly signInPath: () => string | null;
  readonly stylesheet: string;
}): Route[] {
  const throttle = createThrottle();
  const authentication = createClientAuthentication({ tokens, throttle, clock });
  return [
    ...tokenRoutes({ tokens, authentication }),
    ...introspectionRoutes({ tokens, authentication, gate, users: store.users, issuer: knownAddress }),
    ...revocationRoutes({ tokens, authentication }),
    ...discoveryRoutes({ issuer, products }),
    ...forwardAuthRoutes({ gate }),
    ...invitationRoutes({
      invitations,
      throttle,
      clock,
      once: createOnce({ store, clock }),
      publicUrl: issuer,
      ...page,
    }),
  ];
}

type Doors = Composed & {
  readonly dispatcher: Dispatcher;
  readonly log: Log;
  readonly testDelivery: TestDelivery;
};

/** What tokens give access to. */
export function administration({ services, store, clock, dispatcher, log, testDelivery }: Doors): Route[] {
  const once = createOnce({ store, clock });
  return [
    ...accessRoutes({ services, clock, once }),
    ...webhookRoutes({ services, clock, testDelivery, once }),
    ...eventRoutes({ services, store }),
    ...erasureRoutes(services),
    ...employeeRoutes({ ...services, once }),
    ...healthRoutes({ store, dispatcher, clock, log }),
  ];
}
