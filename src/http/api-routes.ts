/** Composes the routes of the API, without those of the portal, metrics and OpenAPI. */

import type { Gate } from '../access/gate.ts';
import type { Dispatcher } from '../delivery/dispatcher.ts';
import type { TestDelivery } from '../delivery/test-delivery.ts';
import type { Log } from '../kernel/log.ts';
import type { Composed } from '../services/compose.ts';
import { createOnce } from './once.ts';
import type { PageLook } from './page.ts';
import type { Route } from './route.ts';
import { accessRoutes } from './routes/access.ts';
import { customerRoutes } from './routes/customers.ts';
import { discoveryRoutes } from './routes/discovery.ts';
import { employeeRoutes } from './routes/employees.ts';
import { erasureRoutes } from './routes/erasure.ts';
import { eventRoutes } from './routes/events.ts';
import { forwardAuthRoutes } from './routes/forward-auth.ts';
import { healthRoutes } from './routes/health.ts';
import { introspectionRoutes } from './routes/introspection.ts';
import { invitationRoutes, inviteRoute, type SignInInvited } from './routes/invitations.ts';
import { recordRoutes } from './routes/records.ts';
import { revocationRoutes } from './routes/revocation.ts';
import { createClientAuthentication, tokenRoutes } from './routes/token.ts';
import { usageRoutes } from './routes/usage.ts';
import { webhookRoutes } from './routes/webhooks.ts';

/** The routes of the authorization server, with a shared throttle. */
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
  /** The same, or null if it is unknown. */
  readonly knownAddress: () => string | null;
  readonly signInPath: () => string | null;
  readonly signInInvited: SignInInvited;
  readonly customersLook: () => Promise<PageLook>;
  readonly stylesheet: string;
}): Route[] {
  const throttle = store.failures.throttle('client');
  const authentication = createClientAuthentication({ tokens, throttle, clock });
  return [
    ...tokenRoutes({ tokens, authentication }),
    ...introspectionRoutes({ tokens, authentication, gate, users: store.users, issuer: knownAddress }),
    ...revocationRoutes({ tokens, authentication }),
    ...discoveryRoutes({ issuer, products }),
    ...forwardAuthRoutes({ gate }),
    ...invitationRoutes({ invitations, ...page }),
  ];
}

/** What the guarded routes need. Those of a customer get its part of the service. */
export type Doors = Pick<Composed, 'services' | 'store' | 'clock'> & {
  /** The public address of the service. Throws `unavailable` if it is unknown. */
  readonly publicUrl: () => string;
  readonly dispatcher: Dispatcher;
  readonly log: Log;
  readonly testDelivery: TestDelivery;
  readonly gate: Gate;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
};

/** The guarded routes. */
export function administration(doors: Doors): Route[] {
  const { services, store, clock, publicUrl, dispatcher, log, testDelivery, gate, stopping } = doors;
  const once = createOnce({ store, clock });
  return [
    ...customerRoutes({ services, once, publicUrl }),
    ...usageRoutes({ services, clock }),
    ...accessRoutes({ services, clock, once }),
    inviteRoute({ ...services, once, publicUrl }),
    ...webhookRoutes({ services, clock, testDelivery, once }),
    ...eventRoutes({ services, store }),
    ...recordRoutes({ ...services, gate, stopping }),
    ...erasureRoutes(services),
    ...employeeRoutes({ ...services, once }),
    ...healthRoutes({ store, dispatcher, clock, log }),
  ];
}
