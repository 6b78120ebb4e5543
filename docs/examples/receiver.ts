/** A customer's receiver. It verifies the API key and the signature, decompresses, and passes on typed records. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createReceiver, nodeHandler } from 'sallyport/receiver';
import { cleanUp, createQueue, serveHttps, startSallyport, subscribe } from './set-up.ts';

const secret = 'shown once when the endpoint was created';
const apiKey = '36898c65f9c2684a5109791ee039d156';
const handled = createQueue<void>();

/** The event types of the webhook, and their data. */
type Events = { 'order.created': { orderId: number } };

const receiver = createReceiver<Events>({
  secrets: secret,
  apiKey,
  requiredHeaders: ['x-tenant'],
  onRecords: async (records, { headers }) => {
    for (const { eventType, data } of records) console.log(`${eventType} ${data.orderId} for ${headers['x-tenant']}`);
    handled.put();
  },
  onRefusal: ({ code }) => console.log(`refused: ${code}`),
});

const url = await serveHttps(nodeHandler(receiver));
const { sallyport, call } = await startSallyport();
const webhook = { customHeaders: [{ name: 'x-tenant', value: 'acme' }] };
const endpoint = { secret, apiKey, contentEncoding: 'gzip' };
await subscribe(call, { url: `${url}/hooks`, eventType: 'order.created', endpoint, webhook });
await sallyport.publish({ type: 'order.created', data: { orderId: 42 } });
await handled.next();

// Anyone can send other requests. A receiver behind a proxy that ends TLS listens on HTTP.
const plain = createServer(nodeHandler(receiver)).listen(0, '127.0.0.1');
await new Promise((resolve) => plain.once('listening', resolve));
const address = `http://127.0.0.1:${(plain.address() as AddressInfo).port}/hooks`;
const forged = await fetch(address, { method: 'POST', headers: { 'x-api-key': apiKey }, body: '{"records":[]}' });
console.log(forged.status);

plain.close();
plain.closeAllConnections();
await cleanUp();

// Output:
// order.created 42 for acme
// refused: missing_authorization
// 401
