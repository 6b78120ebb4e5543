/** Who is in the story of `npm run demo -- --keep`: event types, customers, their people, endpoints and webhooks. */
import { applicationReader } from '../../src/access/applications.ts';
import { userReader } from '../../src/access/users.ts';
import { customerReader } from '../../src/customers/customers.ts';
import { type Acting, COMMAND_LINE } from '../../src/domain/acting.ts';
import { NO_THEME } from '../../src/domain/portal-theme.ts';
import { eventTypeReader } from '../../src/events/event-types.ts';
import type { Services } from '../../src/services/services.ts';
import { endpointReader } from '../../src/webhooks/endpoint-schema.ts';
import { webhookReader } from '../../src/webhooks/webhook-schema.ts';
import { type Behaviour, failsBetween, type Receivers, works } from './receivers.ts';

const HOUR_MS = 3_600_000;

const EVENT_TYPES = [
  { name: 'order.created', group: 'Orders', description: 'A customer placed an order.' },
  { name: 'order.shipped', group: 'Orders', description: 'A parcel left the warehouse.' },
  { name: 'order.cancelled', group: 'Orders', description: 'An order was cancelled before it was shipped.' },
  { name: 'invoice.paid', group: 'Payments', description: 'An invoice was paid in full.' },
] as const;

export type EventName = (typeof EVENT_TYPES)[number]['name'];

type WebhookPlan = {
  readonly name: string;
  /** Its name. */
  readonly endpoint: string;
  readonly path: string;
  readonly eventTypes: readonly string[];
  /** Default: it works. Null: nothing listens at its address. */
  readonly behaviour?: Behaviour | null;
  readonly more?: Readonly<Record<string, unknown>>;
  readonly isStopped?: true;
};

type CustomerPlan = {
  readonly name: string;
  readonly externalId: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly person: { readonly userName: string; readonly displayName: string };
  readonly webhooks: readonly WebhookPlan[];
};

/** `now` is the end of the story. */
function customersOf(now: number): readonly CustomerPlan[] {
  const ago = (hours: number): number => now - hours * HOUR_MS;
  return [
    {
      name: 'Acme Stores',
      externalId: 'acct_1',
      metadata: { plan: 'gold', region: 'EU' },
      person: { userName: 'grace', displayName: 'Grace Hopper' },
      webhooks: [
        { name: 'Orders', endpoint: 'Shop backend', path: '/acme/orders', eventTypes: ['order.*'] },
        {
          name: 'Large orders',
          endpoint: 'Fraud check',
          path: '/acme/large',
          eventTypes: ['order.created'],
          more: { filter: { 'data.total': { $gte: 250 } } },
        },
        {
          name: 'Invoices',
          endpoint: 'Ledger',
          path: '/acme/invoices',
          eventTypes: ['invoice.*'],
          behaviour: failsBetween(ago(77), ago(74), 503, '{"error":"maintenance","until":"06:00"}'),
        },
      ],
    },
    {
      name: 'Bolt Hardware',
      externalId: 'acct_2',
      metadata: { plan: 'silver', region: 'US' },
      person: { userName: 'alan', displayName: 'Alan Turing' },
      webhooks: [
        {
          name: 'Orders',
          endpoint: 'Shop backend',
          path: '/bolt/orders',
          eventTypes: ['order.*'],
          behaviour: failsBetween(ago(9), now + 1000 * HOUR_MS, 500, '{"error":"database is locked"}'),
        },
        {
          name: 'Accounting',
          endpoint: 'ERP',
          path: '/bolt/accounting',
          eventTypes: ['invoice.paid', 'order.shipped'],
          behaviour: failsBetween(ago(50), now + 1000 * HOUR_MS, 401, '{"error":"unknown signature"}'),
          // One attempt: the tenth dead delivery comes long before the 24 hours that would stop it too, at every time of day.
          more: { retry: { policy: 'linear', maxAttempts: 1 } },
        },
        { name: 'Warehouse', endpoint: 'Stock system', path: '/bolt/warehouse', eventTypes: ['order.shipped'] },
      ],
    },
    {
      name: 'Cedar Books',
      externalId: 'acct_3',
      metadata: { plan: 'free', region: 'EU' },
      person: { userName: 'mary', displayName: 'Mary Jackson' },
      webhooks: [
        { name: 'Shop', endpoint: 'Shop backend', path: '/cedar/shop', eventTypes: ['order.*', 'invoice.*'] },
        {
          name: 'Staging',
          endpoint: 'Staging server',
          path: '/cedar/staging',
          eventTypes: ['order.created'],
          behaviour: null,
        },
        { name: 'Old shop', endpoint: 'Old server', path: '/cedar/old', eventTypes: ['order.*'], isStopped: true },
      ],
    },
  ];
}

export type Cast = {
  /** The administrator whose session the portal opens with. */
  readonly administratorId: string;
  readonly customers: readonly { readonly id: string; readonly name: string }[];
};

/** The operator, as its customers know it. */
const PROVIDER = 'Shopworks';

/** Makes everything with the use cases of the service, as Anna and the command line would. */
export async function makeCast(services: Services, receivers: Receivers, now: number): Promise<Cast> {
  const addUser = (body: Readonly<Record<string, unknown>>, by: Acting) =>
    services.users.create(userReader.create(body), by);
  const anna = await addUser(
    { userName: 'anna', displayName: 'Anna Schmidt', email: 'anna@shop.example', role: 'administrator' },
    COMMAND_LINE,
  );
  const acting: Acting = { actor: `user:${anna.id}`, authority: 'unlimited' };
  await addUser({ userName: 'ben', displayName: 'Ben Okafor', role: 'viewer' }, acting);
  await services.portalLook.set({ ...NO_THEME, name: PROVIDER }, acting);
  for (const { name, group, description } of EVENT_TYPES) {
    const sample = dataOf(name, 1042, 129);
    const body = { name, group, description, sample, dataSchema: schemaOf(sample), searchPaths: ['data.orderId'] };
    await services.eventTypes.create(eventTypeReader.create(body), acting);
  }
  await addWebhook(services, receivers, null, acting, {
    name: 'Data warehouse',
    endpoint: 'Loader',
    path: '/own/warehouse',
    eventTypes: ['order.*', 'invoice.*'],
  });
  const customers: { id: string; name: string }[] = [];
  for (const { name, externalId, metadata, person, webhooks } of customersOf(now)) {
    const { id } = await services.customers.create(customerReader.create({ name, externalId, metadata }), acting);
    await addUser({ customerId: id, role: 'administrator', ...person }, acting);
    const access = { customerId: id, permissions: SCOPES };
    const account = await addUser({ userName: 'stock-sync', role: 'service', ...access }, acting);
    const program = { customerId: id, name: 'Stock sync', userId: account.id, scopes: SCOPES };
    await services.applications.create(applicationReader.create(program), acting);
    for (const webhook of webhooks) await addWebhook(services, receivers, id, acting, webhook);
    customers.push({ id, name });
  }
  return { administratorId: anna.id, customers };
}

/** Of a customer's program, which reads what it missed. */
const SCOPES = ['deliveries:view', 'webhooks:view'];

/** Nothing listens there. */
const CLOSED = 'https://localhost:9';

async function addWebhook(
  services: Services,
  receivers: Receivers,
  customerId: string | null,
  acting: Acting,
  { name, endpoint: endpointName, path, eventTypes, behaviour = works, more = {}, isStopped }: WebhookPlan,
): Promise<void> {
  const url = behaviour === null ? CLOSED + path : receivers.add(path, behaviour);
  const endpoint = await services.endpoints.create(
    endpointReader.create({ customerId, name: endpointName, url }),
    acting,
  );
  const input = {
    customerId,
    name,
    endpointId: endpoint.id,
    eventTypes: [...eventTypes],
    maxBatchRecords: 1,
    heartbeatSeconds: 0,
    ...more,
  };
  const webhook = await services.webhooks.create(webhookReader.create(input), acting);
  if (isStopped !== true) await services.webhooks.start(webhook.id, acting);
}

/** All of the sample's members are required. */
function schemaOf(sample: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const properties = Object.entries(sample).map(([name, value]) => [name, { type: typeof value }]);
  return { type: 'object', properties: Object.fromEntries(properties), required: Object.keys(sample) };
}

/** The data of an event of each type. */
export function dataOf(name: EventName, number: number, total: number): Readonly<Record<string, unknown>> {
  const orderId = `ord_${number}`;
  if (name === 'order.created') return { orderId, total, currency: 'EUR', items: 1 + (number % 4) };
  if (name === 'order.shipped')
    return { orderId, carrier: number % 2 === 0 ? 'DHL' : 'UPS', parcel: `pcl_${number * 7}` };
  if (name === 'order.cancelled') return { orderId, reason: 'changed mind' };
  return { invoiceId: `inv_${number}`, orderId, total, currency: 'EUR' };
}
