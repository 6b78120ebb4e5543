/** The steps of `npm run demo:customers`: two customers, each with its own resources and without access to the other's. */
import { type Api, EDGE, requestToken } from './api.ts';
import { checkEnvelope, createReceivingEndpoint, until } from './delivery.ts';
import type { ReceiverProcess } from './processes.ts';
import type { Story } from './story.ts';

const TYPE = 'order.created';
const SCOPES = [
  ...['endpoints', 'webhooks'].flatMap((name) => [`${name}:view`, `${name}:manage`]),
  'deliveries:view',
  'records:read',
  'audit:view',
];

export type CustomersStage = { readonly story: Story; readonly admin: Api; readonly receiver: ReceiverProcess };

/** A customer with the API of its own application. */
export type DemoCustomer = { readonly id: string; readonly name: string; readonly api: Api };

type Named = { readonly id: string };
type Page = { readonly items: readonly Named[] };

/** Makes the customers and what they configure, publishes, and shows who got what. Returns the customers. */
export async function runCustomers({ story, admin, receiver }: CustomersStage): Promise<readonly DemoCustomer[]> {
  story.chapter('The operator sets up two customers');
  await story.step('type', 'An event type with a sample', async (tell) => {
    const sample = { orderId: 42, total: 250 };
    await admin.call(201, 'POST', `${EDGE}/event-types`, { name: TYPE, description: 'An order was placed.', sample });
    tell.fact('type', TYPE);
  });
  const acme = await addCustomer(story, admin, 'Acme', 'acct_1');
  const bolt = await addCustomer(story, admin, 'Bolt', 'acct_2');

  story.chapter('Each customer configures itself');
  const path = '/hooks/acme';
  const pushed = await story.step('push', 'Acme receives orders of 100 or more at its endpoint', async (tell) => {
    const endpoint = await createReceivingEndpoint(acme.api, receiver, path, {}, null);
    const filter = { 'data.total': { $gte: 100 } };
    const body = { name: 'Large orders', endpointId: endpoint.id, eventTypes: [TYPE], filter, maxBatchRecords: 1 };
    const { body: webhook } = await acme.api.call<Named>(201, 'POST', `${EDGE}/webhooks`, body);
    await acme.api.call(200, 'POST', `${EDGE}/webhooks/${webhook.id}/start`);
    tell.fact('filter', filter);
    return webhook;
  });
  const pulled = await story.step('pull', 'Bolt fetches its orders, and has no endpoint', async (tell) => {
    const body = { name: 'Orders', mode: 'pull', eventTypes: [TYPE] };
    const { body: webhook } = await bolt.api.call<Named>(201, 'POST', `${EDGE}/webhooks`, body);
    tell.fact('mode', 'pull');
    return webhook;
  });

  story.chapter('The operator publishes');
  await story.step('publish', 'Two orders of Acme, one of Bolt, and one for everyone', async (tell) => {
    const events = [
      { type: TYPE, customerExternalId: 'acct_1', data: { orderId: 1, total: 250 } },
      { type: TYPE, customerExternalId: 'acct_1', data: { orderId: 2, total: 40 } },
      { type: TYPE, customerId: bolt.id, data: { orderId: 3, total: 70 } },
      { type: TYPE, audience: 'everyone', data: { orderId: 4, total: 500 } },
    ];
    await admin.call(202, 'POST', `${EDGE}/events`, { events });
    for (const { type: _, data, ...to } of events)
      tell.line(`order ${data.orderId}, ${data.total}: ${JSON.stringify(to)}`);
  });
  await story.step('delivered', 'Acme gets its large order and the one for everyone', async (tell) => {
    const orders: unknown[] = [];
    for (let n = 0; n < 2; n += 1) {
      const { records } = checkEnvelope(await receiver.next('delivery', path), pushed.id, 1);
      orders.push((records[0]?.data as { orderId?: number } | undefined)?.orderId);
    }
    expectOrders(orders, [1, 4]);
    tell.fact('orders', orders);
  });
  await story.step('read', 'Bolt reads its order and the one for everyone, and acknowledges them', async (tell) => {
    const log = `${EDGE}/webhooks/${pulled.id}`;
    const { body } = await bolt.api.call<{ throughOffset: number; records: { value: Record<string, unknown> }[] }>(
      200,
      'GET',
      `${log}/records`,
    );
    const orders = body.records.map(({ value }) => (value.orderCreated as { orderId?: number }).orderId);
    expectOrders(orders, [3, 4]);
    await bolt.api.call(200, 'POST', `${log}/acknowledge`, { throughOffset: body.throughOffset });
    tell.fact('orders', orders);
  });

  story.chapter('Nothing crosses');
  await story.step('isolation', 'What belongs to Acme does not exist for Bolt', async (tell) => {
    await until('the deliveries of Acme are not settled', async () => {
      const { body } = await acme.api.call<Page>(200, 'GET', `${EDGE}/deliveries?state=delivered`);
      return body.items.length === 2 ? body : null;
    });
    const { body } = await acme.api.call<Page>(200, 'GET', `${EDGE}/deliveries`);
    const delivery = body.items[0]?.id ?? '';
    for (const path of [`webhooks/${pushed.id}`, `deliveries/${delivery}`, `webhooks/${pushed.id}/records`]) {
      await bolt.api.call(404, 'GET', `${EDGE}/${path}`);
      tell.line(`GET /${path.replace(/[0-9a-f-]{36}/, '{id of Acme}')}: 404`);
    }
    for (const list of ['endpoints', 'audit', `deliveries?webhookId=${pushed.id}`]) {
      const { body: page } = await bolt.api.call<Page>(200, 'GET', `${EDGE}/${list}`);
      const ids = new Set(body.items.map(({ id }) => id));
      if (page.items.some(({ id }) => ids.has(id) || id === pushed.id))
        throw new Error(`${list} shows a resource of Acme`);
    }
    tell.fact('foreign ids found', 0);
  });
  return [acme, bolt];
}

async function addCustomer(story: Story, admin: Api, name: string, externalId: string): Promise<DemoCustomer> {
  return story.step(externalId, `The customer ${name}, with an application of its own`, async (tell) => {
    const { body: customer } = await admin.call<Named>(201, 'POST', `${EDGE}/customers`, { name, externalId });
    const customerId = customer.id;
    const user = { customerId, userName: 'api', permissions: SCOPES };
    const { body: account } = await admin.call<Named>(201, 'POST', `${EDGE}/users`, user);
    const { body: client } = await admin.call<{ clientId: string; clientSecret: string }>(
      201,
      'POST',
      `${EDGE}/applications`,
      { customerId, name: `${name}'s program`, userId: account.id, scopes: SCOPES },
    );
    tell.fact('externalId', externalId);
    tell.fact('customerId', customerId);
    const token = await requestToken(admin.url, client);
    return { id: customerId, name, api: admin.as(token.access_token) };
  });
}

function expectOrders(found: readonly unknown[], wanted: readonly number[]): void {
  if (JSON.stringify([...found].sort()) !== JSON.stringify(wanted))
    throw new Error(`got the orders ${found.join(', ')} instead of ${wanted.join(', ')}`);
}
