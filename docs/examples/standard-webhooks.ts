/** A receiver that uses only the library of the Standard Webhooks specification. */
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { cleanUp, createQueue, serveHttps, startSallyport, subscribe } from './set-up.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const received = createQueue<void>();

const url = await serveHttps(async (request, response) => {
  const body = await text(request);
  // Throws for a wrong signature or an old timestamp.
  const payload = new Webhook(secret).verify(body, request.headers as Record<string, string>);
  const { records } = payload as { records: { value: Record<string, unknown> }[] };
  for (const { value } of records) console.log('verified', value.orderCreated);
  response.writeHead(204).end();
  received.put();
});

const { sallyport, call } = await startSallyport();
await subscribe(call, { url, eventType: 'order.created', endpoint: { secret }, webhook: { standardWebhooks: true } });
await sallyport.publish({ type: 'order.created', data: { orderId: 42 } });
await received.next();

await cleanUp();

// Output:
// verified { orderId: 42 }
