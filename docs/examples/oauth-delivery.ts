/** Deliveries with a bearer token, which Sallyport gets from the customer's authorization server. */
import { text } from 'node:stream/consumers';
import { createReceiver, nodeHandler } from 'sallyport/receiver';
import { cleanUp, createQueue, serveHttps, startSallyport, subscribe } from './set-up.ts';

const tokens = new Set<string>();
const received = createQueue<unknown>();
const receiver = createReceiver({
  // Signs nothing here, and answers challenges.
  secrets: 'an example of a secret',
  bearer: (token) => tokens.has(token),
  onRecords: ([record]) => received.put(record?.data),
});
const handle = nodeHandler(receiver);

const url = await serveHttps(async (request, response) => {
  if (request.url !== '/token') return handle(request, response);
  const basic = Buffer.from('sallyport:their-secret').toString('base64');
  console.log('token request:', request.headers.authorization === `Basic ${basic}`, await text(request));
  const token = `token-${tokens.size + 1}`;
  tokens.add(token);
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 3600 }));
});

const { sallyport, call } = await startSallyport();
const oauth = {
  clientId: 'sallyport',
  clientSecret: 'their-secret',
  tokenUrl: `${url}/token`,
  scopes: 'events:write',
};
await subscribe(call, { url: `${url}/hooks`, eventType: 'order.created', endpoint: { oauth } });

// The second delivery takes the token that the first one got.
for (const orderId of [42, 43]) {
  await sallyport.publish({ type: 'order.created', data: { orderId } });
  console.log('received', await received.next());
}

await cleanUp();

// Output:
// token request: true grant_type=client_credentials&scope=events%3Awrite
// received { orderId: 42 }
// received { orderId: 43 }
