/** A program publishes events by the API. Each has an idempotency key, so that a request can be repeated without a second event. */
import { cleanUp, startSallyport } from './set-up.ts';

const { url, token, call } = await startSallyport();
await call('POST', 'event-types', { name: 'order.created' });

const publish = async (...events: object[]): Promise<void> => {
  const reply = await fetch(`${url}/services/api/x/edge/v1/events`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ events }),
  });
  const { accepted, duplicates, error } = JSON.parse(await reply.text());
  console.log(reply.status, reply.ok ? `${accepted} accepted, ${duplicates} duplicates` : error.code);
};

const first = { type: 'order.created', data: { orderId: 42 }, idempotencyKey: 'order-42' };
const second = { type: 'order.created', data: { orderId: 43 }, idempotencyKey: 'order-43' };
await publish(first);
// The reply to the first request was lost, say: the program sends that event again.
await publish(first, second);
// The same key with other data is a mistake of the publisher. Nothing of the request is published.
await publish({ ...first, data: { orderId: 44 } });

await cleanUp();

// Output:
// 202 1 accepted, 0 duplicates
// 202 1 accepted, 1 duplicates
// 409 idempotency_conflict
