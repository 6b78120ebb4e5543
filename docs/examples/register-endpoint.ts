/** An operator registers a customer's endpoint. It is enabled after it has answered a challenge with the secret. */
import { createReceiver, nodeHandler } from 'sallyport/receiver';
import { cleanUp, serveHttps, startSallyport } from './set-up.ts';

const { call } = await startSallyport();

const secret = 'agreed with the customer';
const receiver = createReceiver({ secrets: secret, onRecords: () => {} });
const url = await serveHttps(nodeHandler(receiver));

type Endpoint = { id: string; verified: boolean; enabled: boolean };
const settings = { name: 'acme', url: `${url}/hooks`, secret, tokenChallenge: true };
const endpoint = await call<Endpoint>('POST', 'endpoints', settings);
console.log(`verified: ${endpoint.verified}, enabled: ${endpoint.enabled}`);

// A receiver that does not know the secret cannot answer.
const other = await call<Endpoint>('POST', 'endpoints', { ...settings, name: 'other', secret: 'another secret' });
console.log(`verified: ${other.verified}, enabled: ${other.enabled}`);

await call('POST', 'event-types', { name: 'order.created' });
const webhook = await call<{ id: string; state: string }>('POST', 'webhooks', {
  name: 'orders',
  endpointId: endpoint.id,
  eventTypes: ['order.*'],
  customHeaders: [{ name: 'x-tenant', value: 'acme' }],
});
const { state } = await call<{ state: string }>('POST', `webhooks/${webhook.id}/start`);
console.log(`${webhook.state}, then ${state}`);

const attempt = await call<{ delivered: boolean; responseStatus: number }>('POST', `webhooks/${webhook.id}/test`);
console.log(`test delivered: ${attempt.delivered}, ${attempt.responseStatus}`);

await cleanUp();

// Output:
// verified: true, enabled: true
// verified: false, enabled: false
// stopped, then started
// test delivered: true, 204
