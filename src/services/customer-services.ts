/**
 * The service as one customer sees it (contract §8.3): the same use cases, over the customer's store. What they are given to act on is the
 * customer's own, so they need no rules of their own for customers.
 */
import { createApplications } from '../access/applications.ts';
import { createInvitations } from '../access/invitations.ts';
import { createSessions } from '../access/sessions.ts';
import { createUsers } from '../access/users.ts';
import { createUsageReads } from '../customers/usage.ts';
import type { FormatOf } from '../delivery/format.ts';
import { createTestOauth, type TestOauth } from '../delivery/oauth.ts';
import type { LogWatch } from '../delivery/reads/log-watch.ts';
import { createReadEvent } from '../delivery/reads/read-event.ts';
import { createReadRecords } from '../delivery/reads/records.ts';
import type { Send } from '../delivery/send.ts';
import { createRequestPreview } from '../delivery/trials/request-preview.ts';
import { createPreviewSignature } from '../delivery/trials/signature-preview.ts';
import { createTestDelivery, type TestDelivery } from '../delivery/trials/test-delivery.ts';
import { createEventTypes } from '../events/event-types.ts';
import { createPublish } from '../events/publish.ts';
import type { AttemptFeed } from '../observe/attempt-feed.ts';
import type { FigureKeeper } from '../observe/figures.ts';
import { customerStoreOf } from '../store/customer-store.ts';
import type { Store } from '../store/port/store.ts';
import { createDeliveries } from '../webhooks/deliveries.ts';
import { createEndpoints } from '../webhooks/endpoints.ts';
import { createKeys } from '../webhooks/keys.ts';
import { createChallenge } from '../webhooks/verification.ts';
import { createWebhooks } from '../webhooks/webhooks.ts';
import type { ServiceDependencies, Services, SharedServices } from './services.ts';

/** Everything that API and pages need of the service, for one customer. */
export type CustomerServices = {
  readonly store: Store;
  readonly services: SharedServices;
  readonly testDelivery: TestDelivery;
  readonly testOauth: TestOauth;
  readonly figures: FigureKeeper;
  readonly feed: AttemptFeed;
};

type Dependencies = Omit<ServiceDependencies, 'erasures' | 'logWatch' | 'formatOf' | 'publicUrl'> & {
  /** That of the whole service: a waiting reader has passed the customer's store. */
  readonly logWatch: LogWatch;
  /** Also that of the whole service. */
  readonly formatOf: FormatOf;
  readonly publicUrl: () => string | null;
  readonly services: Pick<Services, 'customers' | 'passkeys'>;
  readonly send: Send;
  readonly figures: FigureKeeper;
  readonly feed: AttemptFeed;
};

export function createCustomerServices(dependencies: Dependencies, customerId: string): CustomerServices {
  const store = customerStoreOf(dependencies.store, customerId);
  const own = { ...dependencies, store };
  const { passkeys, customers } = dependencies.services;
  const eventTypes = createEventTypes(own);
  const ownWebhooks = createWebhooks(own);
  const services: SharedServices = {
    // Those of the session's user. The challenges that were answered are known once for all customers.
    passkeys,
    sessions: createSessions(own),
    usage: createUsageReads({ ...own, customers }),
    users: createUsers(own),
    invitations: createInvitations(own),
    applications: createApplications(own),
    eventTypes,
    publish: createPublish({ ...own, eventTypes }),
    endpoints: createEndpoints({ ...own, challenge: createChallenge(own) }),
    keys: createKeys(own),
    webhooks: ownWebhooks,
    readRecords: createReadRecords({ ...own, webhooks: ownWebhooks }),
    readEvent: createReadEvent({ ...own, webhooks: ownWebhooks }),
    previewRequest: createRequestPreview(own),
    previewSignature: createPreviewSignature({ ...own, webhooks: ownWebhooks }),
    deliveries: createDeliveries(own),
  };
  const webhooks = (): Promise<ReadonlyMap<number, string>> => dependencies.store.customers.webhookNumbers(customerId);
  const feed = dependencies.feed.within(async () => new Set((await webhooks()).values()), customerId);
  return {
    store,
    services,
    testDelivery: feed.observed(createTestDelivery({ ...own, webhooks: services.webhooks })),
    testOauth: createTestOauth({ ...own, endpoints: services.endpoints }),
    figures: dependencies.figures.within(async () => [...(await webhooks()).keys()]),
    feed,
  };
}
