/** A program that embeds Sallyport creates a customer, a webhook of the customer, and a link to its portal. */
import { cleanUp, startSallyport } from './set-up.ts';

const { sallyport } = await startSallyport();

await sallyport.eventTypes.create({ name: 'order.created' });
const customer = await sallyport.customers.create({ name: 'Acme', externalId: 'crm-4711' });
const webhook = await sallyport.webhooks.create({
  customerId: customer.id,
  name: 'Orders',
  mode: 'pull',
  eventTypes: ['order.created'],
});
await sallyport.publish({ type: 'order.created', data: { orderId: 42 }, customerExternalId: 'crm-4711' });

const { items } = await sallyport.deliveries.list({ webhookId: webhook.id });
console.log('waiting:', items.length);
const link = await sallyport.customers.createPortalLink(customer.id, { role: 'administrator' });
console.log('link:', new URL(link.url).pathname.replace(/[^/]+$/, '…'));

await cleanUp();

// Output:
// waiting: 1
// link: /portal-links/…
