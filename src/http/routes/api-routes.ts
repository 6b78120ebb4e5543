/** Composes the routes of the API: all of them for the operator, and the guarded ones of one customer. */
import type { Gate } from '../../access/gate.ts';
import type { Dispatcher } from '../../delivery/dispatcher.ts';
import type { TestDelivery } from '../../delivery/trials/test-delivery.ts';
import type { Log } from '../../kernel/log.ts';
import type { Composed } from '../../services/compose.ts';
import type { SharedServices } from '../../services/services.ts';
import { createOnce, type Once } from '../once.ts';
import type { Route } from '../route.ts';
import { applicationRoutes, productRoutes, userRoutes } from './access.ts';
import { createClientAuthentication } from './client-authentication.ts';
import { customerRoutes } from './customers.ts';
import { discoveryRoutes } from './discovery.ts';
import { egressAddressRoutes } from './egress-addresses.ts';
import { employeeRoutes } from './employees.ts';
import { erasureRoutes } from './erasure.ts';
import { eventCatalogueRoutes } from './event-catalogue.ts';
import { eventRoutes } from './events.ts';
import { forwardAuthRoutes } from './forward-auth.ts';
import { healthRoutes } from './health.ts';
import { introspectionRoutes } from './introspection.ts';
import { type InvitationDependencies, invitationRoutes, inviteRoute } from './invitations.ts';
import { metricsRoutes } from './metrics.ts';
import { openApiRoutes } from './openapi.ts';
import { recordRoutes } from './records.ts';
import { revocationRoutes } from './revocation.ts';
import { tokenRoutes } from './token.ts';
import { customerUsageRoutes, usageRoutes } from './usage.ts';
import { webhookKeyRoutes } from './webhook-keys.ts';
import { eventTypeChangeRoutes, webhookRoutes } from './webhooks.ts';

/** Every route besides those of the portal. */
export function apiRoutes(
  parts: AuthorizationServer &
    Doors &
    Pick<Parameters<typeof metricsRoutes>[0], 'metrics'> &
    Parameters<typeof egressAddressRoutes>[0],
): Route[] {
  const { store, gate, publicUrl } = parts;
  const described = [
    ...authorizationServer(parts),
    ...administration(parts),
    ...metricsRoutes(parts),
    ...egressAddressRoutes(parts),
    ...eventCatalogueRoutes({ eventTypes: store.eventTypes, gate }),
  ];
  return [...described, ...openApiRoutes({ routes: described, publicUrl })];
}

/** The routes of the authorization server, with a shared throttle. */
function authorizationServer({
  services: { tokens, invitations, products },
  store,
  clock,
  gate,
  publicUrl: issuer,
  knownAddress,
  ...page
}: AuthorizationServer): Route[] {
  const throttle = store.failures.throttle('client');
  const authentication = createClientAuthentication({ tokens, throttle, clock });
  return [
    ...tokenRoutes({ tokens, authentication }),
    ...introspectionRoutes({ tokens, authentication, gate, users: store.users, issuer: knownAddress }),
    ...revocationRoutes({ tokens, authentication }),
    ...discoveryRoutes({ issuer, products }),
    ...webhookKeyRoutes({ store, clock }),
    ...forwardAuthRoutes({ gate }),
    ...invitationRoutes({ invitations, knownAddress, ...page }),
  ];
}

type AuthorizationServer = Pick<Composed, 'services' | 'store' | 'clock'> &
  Omit<InvitationDependencies, 'invitations'> & {
    readonly gate: Gate;
    /** The public address of the service. Throws `unavailable` if it is unknown. */
    readonly publicUrl: () => string;
  };

/** The dependencies of the guarded routes for both, made for the operator or for one customer. */
type SharedDoors = Pick<Composed, 'store' | 'clock'> & {
  readonly services: SharedServices;
  /** The public address of the service. Throws `unavailable` if it is unknown. */
  readonly publicUrl: () => string;
  readonly testDelivery: TestDelivery;
  readonly gate: Gate;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
};

type Doors = SharedDoors & Pick<Composed, 'services'> & { readonly dispatcher: Dispatcher; readonly log: Log };

/** The guarded routes of the operator, and the routes that probe the service, in the order of the API's document. */
function administration(doors: Doors): Route[] {
  const { services, store, clock, publicUrl, dispatcher, log } = doors;
  const once = createOnce({ store, clock });
  return [
    ...customerRoutes({ services, once, publicUrl }),
    ...customerUsageRoutes({ ...services, clock }),
    ...usageRoutes({ ...services, clock }),
    ...userRoutes({ ...services, once }),
    ...productRoutes({ ...services, once }),
    ...sharedRoutes(doors, once),
    ...eventTypeChangeRoutes({ ...services, once }),
    ...erasureRoutes(services),
    ...employeeRoutes({ ...services, once }),
    ...healthRoutes({ store, dispatcher, clock, log }),
  ];
}

/** The guarded routes of one customer. */
export function customerAdministration(doors: SharedDoors): Route<'both'>[] {
  const { services, store, clock } = doors;
  const once = createOnce({ store, clock });
  return [...usageRoutes({ ...services, clock }), ...userRoutes({ ...services, once }), ...sharedRoutes(doors, once)];
}

function sharedRoutes(doors: SharedDoors, once: Once): Route<'both'>[] {
  const { services, store, clock, publicUrl, testDelivery, gate, stopping } = doors;
  return [
    ...applicationRoutes({ services, clock, once }),
    inviteRoute({ ...services, once, publicUrl }),
    ...webhookRoutes({ services, clock, testDelivery, once }),
    ...eventRoutes({ services, store }),
    ...recordRoutes({ ...services, gate, stopping }),
  ];
}
