/**
 * A service with one history, the same in every run: of the operator and of a customer, with names, times and an order that never differ.
 */
import type { TestContext } from 'node:test';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import type { PortalRole } from '../../src/domain/user.ts';
import { type ApiClient, succeeded } from './client.ts';
import { created, openLink } from './customers.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { type ServiceInProcess, startService } from './service.ts';
import { NOW } from './store.ts';
import { sharedCertificates } from './tls.ts';
import { pgpVector } from './vectors.ts';

/** The id of one resource of each kind, by the first segment of its path. */
export type Ids = Readonly<Record<string, string>>;

export type History = {
  readonly service: ServiceInProcess;
  /** Of the operator and of the customer. */
  readonly ids: { readonly operator: Ids; readonly customer: Ids };
  /** The tokens in the cookies of sessions. */
  readonly sessions: { readonly operator: string; readonly customer: string; readonly link: string };
  /** Further webhooks and endpoints of the operator, by what is special about them. */
  readonly special: Ids;
  readonly invitation: string;
};

const STEP_MS = 60_000;
/** One for each webhook: lists of webhooks that no name sorts have no order that a test could know. */
const TYPES = { operator: 'order.placed', acme: 'order.shipped' } as const;
const ONCE = { maxBatchRecords: 1, heartbeatSeconds: 0, retry: { policy: 'linear', maxAttempts: 1 } };

export async function startHistory(t: TestContext): Promise<History> {
  const { ca, server } = sharedCertificates();
  const service = await startService(t, { ca, now: NOW });
  const receiver = await startReceiver(t, server, { clock: service.clock });
  const { admin, services } = service;
  // Ids of one millisecond continue from a random number in each process.
  service.advance(STEP_MS);
  const operator = await session(service, { userName: 'ada', displayName: 'Ada Lovelace', role: 'administrator' });
  await succeeded(admin.post('event-types', { name: 'order.audited', public: false }));
  const eventType = await created(admin, 'event-types', {
    name: TYPES.operator,
    group: 'Orders',
    description: 'An order was placed.',
    sample: { order: { id: 17 } },
    dataSchema: { type: 'object', properties: { order: { type: 'object', properties: { id: { type: 'integer' } } } } },
  });
  await succeeded(admin.post('event-types', { name: TYPES.acme, group: 'Orders' }));
  await succeeded(admin.post('event-types', { name: 'order.booked', group: 'Orders', deprecated: true }));
  const product = await created(admin, 'products', {
    name: 'Orders API',
    scopes: [{ name: 'orders:view', description: 'Read orders.' }],
    rules: [{ methods: ['GET'], path: '/shop/orders/{orderId}', scope: 'orders:view' }],
  });
  const own = await belongings({ service, receiver, of: 'operator', api: admin, customerId: null });
  const special = await specialOnes(service, receiver, own);
  const customer = await created(admin, 'customers', {
    name: 'Acme',
    externalId: 'acme-1',
    metadata: { plan: 'gold' },
    limits: { endpoints: 10, webhooks: 10, eventsPerSecond: null },
  });
  const theirs = await belongings({ service, receiver, of: 'acme', api: admin, customerId: customer.id });
  const ofCustomer = { userName: 'grace', displayName: 'Grace Hopper', role: 'administrator', customerId: customer.id };
  const customerSession = await session(service, ofCustomer);
  const { token: invitation } = await services.invitations.invite(own.users ?? '', COMMAND_LINE);
  const { url } = await created<{ url: string }>(admin, `customers/${customer.id}/portal-links`, { role: 'viewer' });
  return {
    service,
    ids: {
      operator: { ...own, 'event-types': eventType.id, products: product.id, customers: customer.id },
      customer: { ...theirs, 'event-types': eventType.id },
    },
    sessions: { operator, customer: customerSession, link: await openLink(url) },
    special,
    invitation,
  };
}

type NewUser = {
  readonly userName: string;
  readonly displayName: string;
  readonly role: string;
  readonly customerId?: string;
};

async function session({ services }: ServiceInProcess, { role, ...user }: NewUser): Promise<string> {
  const made = await services.users.create({ ...user, role: role as PortalRole }, COMMAND_LINE);
  const begun = await services.sessions.begin(made, 'password', { address: '127.0.0.1', userAgent: 'a test' });
  if (begun === null) throw new Error('the session was not created');
  return begun.token;
}

type Owner = {
  readonly service: ServiceInProcess;
  readonly receiver: Receiver;
  readonly of: 'operator' | 'acme';
  readonly api: ApiClient;
  readonly customerId: string | null;
};

/** One of everything, with a delivery that arrived and one that died. Nothing happens at the same time as anything else. */
async function belongings({ service, receiver, of, api, customerId }: Owner): Promise<Ids> {
  const { advance, log } = service;
  advance(STEP_MS);
  const user = await created(api, 'users', {
    customerId,
    userName: `user-of-${of}`,
    displayName: `User of ${of}`,
    role: 'operator',
    ...(customerId === null && { permissions: ['employees:view'], constraints: { divisions: ['sales'] } }),
  });
  const application = await created(api, 'applications', {
    customerId,
    name: `Application of ${of}`,
    userId: user.id,
    ...(customerId === null && { scopes: ['employees:view'] }),
  });
  const key = await created(api, 'keys', { customerId, name: `key-of-${of}`, publicKey: pgpVector('curve25519') });
  const at = receiver.endpoint(`/${of}`);
  const { url, secret, apiKey } = at;
  const endpoint = await created(api, 'endpoints', { customerId, name: `Endpoint of ${of}`, url, secret, apiKey });
  const webhook = await created(api, 'webhooks', {
    customerId,
    name: `Webhook of ${of}`,
    endpointId: endpoint.id,
    eventTypes: [TYPES[of]],
    ...ONCE,
    filter: { 'data.of': of },
    customHeaders: [{ name: 'x-tenant', value: of }],
  });
  await succeeded(api.post(`webhooks/${webhook.id}/start`));
  const publish = async (number: number): Promise<string> => {
    advance(STEP_MS);
    const event = {
      type: TYPES[of],
      data: { of, order: { id: number } },
      subject: `subject-of-${of}`,
      ...(customerId === null ? {} : { customerId }),
    };
    const { events } = await succeeded<{ events: { id: string }[] }>(api.post('events', { events: [event] }));
    await log.nextAttempt(webhook.id);
    return events[0]?.id ?? '';
  };
  await publish(1);
  at.answer(() => ({ status: 503, headers: { 'content-type': 'text/plain', date: 'today' }, body: 'busy' }));
  const event = await publish(2);
  const { items } = await succeeded<{ items: { id: string }[] }>(
    api.get(`deliveries?webhookId=${webhook.id}&state=dead&limit=1`),
  );
  advance(STEP_MS);
  return {
    users: user.id,
    applications: application.id,
    keys: key.id,
    endpoints: endpoint.id,
    webhooks: webhook.id,
    deliveries: items[0]?.id ?? '',
    events: event,
  };
}

/** Webhooks that look different: not verified, with OAuth, stopped with waiting records, read by pull, encrypted. */
async function specialOnes({ admin }: ServiceInProcess, receiver: Receiver, own: Ids): Promise<Ids> {
  const { url, secret, apiKey } = receiver.endpoint('/unverified');
  const unverified = await created(admin, 'endpoints', {
    name: 'Unverified',
    url,
    secret,
    apiKey,
    tokenChallenge: true,
  });
  const oauth = await created(admin, 'endpoints', {
    name: 'With OAuth',
    url: `${receiver.origin}/oauth`,
    contentEncoding: 'gzip',
    enabled: false,
    oauth: { clientId: 'client', clientSecret: 'hush', tokenUrl: `${receiver.origin}/token`, scopes: 'deliver' },
  });
  const pull = await created(admin, 'webhooks', { name: 'Pull', mode: 'pull', eventTypes: ['order.booked'] });
  await succeeded(admin.post(`webhooks/${pull.id}/start`));
  await succeeded(admin.post('events', { events: [{ type: 'order.booked', data: { order: { id: 3 } } }] }));
  const encrypted = await created(admin, 'webhooks', {
    name: 'Encrypted',
    endpointId: own.endpoints,
    eventTypes: ['employee.*'],
    heartbeatSeconds: 0,
    encryptionKeyName: 'key-of-operator',
    ordered: true,
    maxRecordsPerSecond: 5,
  });
  return { unverified: unverified.id, oauth: oauth.id, pull: pull.id, encrypted: encrypted.id };
}
