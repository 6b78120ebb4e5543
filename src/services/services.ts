/** The use cases of the service, put together from what they need: a store, a clock, randomness, and a way out. */
import { type Applications, createApplications } from '../access/applications.ts';
import { createInvitations, type Invitations } from '../access/invitations.ts';
import { createPasskeys, type Passkeys } from '../access/passkeys.ts';
import { createProducts, type Products } from '../access/products.ts';
import { createSessions, type Sessions } from '../access/sessions.ts';
import { createTokens, type Tokens } from '../access/tokens.ts';
import { createUsers, type Users } from '../access/users.ts';
import { type Customers, createCustomers } from '../customers/customers.ts';
import { createPortalLinks, type PortalLinks } from '../customers/portal-links.ts';
import { createPortalLook, type PortalLook } from '../customers/portal-look.ts';
import { createPortalTokens, type PortalTokens } from '../customers/portal-tokens.ts';
import { createUsageReads, type UsageReads } from '../customers/usage.ts';
import { createFormatOf, type FormatOf } from '../delivery/format.ts';
import { createLogWatch, type LogWatch } from '../delivery/reads/log-watch.ts';
import { createReadEvent, type ReadEvent } from '../delivery/reads/read-event.ts';
import { createReadRecords, type ReadRecordsOf } from '../delivery/reads/records.ts';
import { createRequestPreview, type PreviewRequest } from '../delivery/trials/request-preview.ts';
import { createPreviewSignature, type PreviewSignature } from '../delivery/trials/signature-preview.ts';
import { createEmployees, type Employees } from '../employees/employees.ts';
import type { Erasures } from '../events/erase.ts';
import { createEventTypes, type EventTypes } from '../events/event-types.ts';
import { createPublish, type Publish } from '../events/publish.ts';
import type { Clock, Ids, Random } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import type { Vault } from '../kernel/vault.ts';
import type { Egress } from '../outbound/egress.ts';
import type { Transport } from '../outbound/transport.ts';
import type { Store } from '../store/port/store.ts';
import type { ObserveAcknowledged } from '../webhooks/acknowledge.ts';
import { createDeliveries, type Deliveries } from '../webhooks/deliveries.ts';
import { createEndpoints, type Endpoints } from '../webhooks/endpoints.ts';
import { createKeys, type Keys } from '../webhooks/keys.ts';
import { createChallenge } from '../webhooks/verification.ts';
import { createWebhooks, type Webhooks } from '../webhooks/webhooks.ts';

export type Services = {
  readonly customers: Customers;
  readonly portalLinks: PortalLinks;
  readonly portalLook: PortalLook;
  readonly portalTokens: PortalTokens;
  readonly usage: UsageReads;
  readonly users: Users;
  readonly invitations: Invitations;
  readonly sessions: Sessions;
  readonly passkeys: Passkeys;
  readonly products: Products;
  readonly applications: Applications;
  readonly tokens: Tokens;
  readonly employees: Employees;
  readonly eventTypes: EventTypes;
  readonly publish: Publish;
  readonly erasures: Erasures;
  readonly endpoints: Endpoints;
  readonly keys: Keys;
  readonly webhooks: Webhooks;
  readonly deliveries: Deliveries;
  readonly readRecords: ReadRecordsOf;
  readonly readEvent: ReadEvent;
  readonly previewRequest: PreviewRequest;
  readonly previewSignature: PreviewSignature;
};

/**
 * The use cases of the routes and pages that serve customers too. For a customer they are made over its part of the store
 * (`customer-services.ts`). None of them reaches others: there are no customers, portal links, API products, employees, tokens or erasures,
 * and event types can only be read.
 */
export type SharedServices = Pick<
  Services,
  | 'usage'
  | 'users'
  | 'applications'
  | 'publish'
  | 'endpoints'
  | 'keys'
  | 'webhooks'
  | 'deliveries'
  | 'readRecords'
  | 'readEvent'
  | 'previewRequest'
  | 'previewSignature'
> & {
  readonly invitations: Pick<Invitations, 'invite'>;
  readonly eventTypes: Pick<EventTypes, 'get' | 'list'>;
  readonly sessions: Pick<Sessions, 'ofUser' | 'signOut' | 'end' | 'endAll' | 'confirm' | 'changePassword'>;
  readonly passkeys: Pick<Passkeys, 'isPossible' | 'ofUser' | 'beginRegistration' | 'register' | 'remove'>;
};

export type ServiceDependencies = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly vault: Pick<Vault, 'authenticate'>;
  readonly egress: Egress;
  readonly transport: Transport;
  readonly log: Log;
  /** Tells the dispatcher that there may be work. */
  readonly wake: () => void;
  readonly erasures: Erasures;
  /** Default: one of their own, which only the poll wakes. */
  readonly logWatch?: LogWatch;
  readonly acknowledged?: ObserveAcknowledged;
  /** Default: that of a service without an address. */
  readonly formatOf?: FormatOf;
  readonly publicUrl?: () => string | null;
};

export function createServices(dependencies: ServiceDependencies): Services {
  const { logWatch = createLogWatch(dependencies.store.pulls.ends) } = dependencies;
  const { publicUrl = () => null } = dependencies;
  const { formatOf = createFormatOf({ ...dependencies, publicUrl }) } = dependencies;
  const eventTypes = createEventTypes(dependencies);
  const customers = createCustomers(dependencies);
  const webhooks = createWebhooks(dependencies);
  return {
    customers,
    portalLinks: createPortalLinks({ ...dependencies, customers }),
    portalLook: createPortalLook(dependencies),
    portalTokens: createPortalTokens({ ...dependencies, customers }),
    usage: createUsageReads({ ...dependencies, customers }),
    users: createUsers(dependencies),
    invitations: createInvitations(dependencies),
    sessions: createSessions(dependencies),
    passkeys: createPasskeys(dependencies),
    products: createProducts(dependencies),
    applications: createApplications(dependencies),
    tokens: createTokens(dependencies),
    employees: createEmployees(dependencies),
    eventTypes,
    publish: createPublish({ ...dependencies, eventTypes }),
    erasures: dependencies.erasures,
    endpoints: createEndpoints({ ...dependencies, challenge: createChallenge({ ...dependencies, publicUrl }) }),
    keys: createKeys(dependencies),
    webhooks,
    deliveries: createDeliveries(dependencies),
    readRecords: createReadRecords({ ...dependencies, webhooks, logWatch, formatOf }),
    readEvent: createReadEvent({ ...dependencies, webhooks }),
    previewRequest: createRequestPreview({ ...dependencies, formatOf }),
    previewSignature: createPreviewSignature({ ...dependencies, formatOf, webhooks }),
  };
}
