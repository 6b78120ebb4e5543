/** A customer lost the deliveries of a period. An operator sends them again. */
import { setTimeout as pause } from 'node:timers/promises';
import { createReceiver, nodeHandler } from 'sallyport/receiver';
import { cleanUp, createQueue, readUntil, serveHttps, startSallyport, subscribe } from './set-up.ts';

const secret = 'an example of a secret';
const received = createQueue<number | undefined>();
const receiver = createReceiver<{ 'order.created': { orderId: number } }>({
  secrets: secret,
  onRecords: ([record]) => received.put(record?.data.orderId),
  // This customer does not remember what it has handled.
  seen: { find: () => [], add: () => {} },
});
const url = await serveHttps(nodeHandler(receiver));

const { sallyport, call } = await startSallyport();
const webhook = { ordered: true, maxBatchRecords: 1 };
const { webhookId } = await subscribe(call, { url, eventType: 'order.created', endpoint: { secret }, webhook });

const publish = async (...orderIds: number[]): Promise<void> => {
  await sallyport.publish({ events: orderIds.map((orderId) => ({ type: 'order.created', data: { orderId } })) });
  for (const _ of orderIds) console.log('received', await received.next());
};
/** An instant between the events before and after it. */
const instant = async (): Promise<string> => {
  await pause(2);
  const now = new Date().toISOString();
  await pause(2);
  return now;
};

await publish(1);
const since = await instant();
await publish(2, 3);
const until = await instant();
await publish(4);

type Page = { items: unknown[] };
await readUntil(
  () => call<Page>('GET', `deliveries?webhookId=${webhookId}&state=delivered`),
  ({ items }) => items.length === 4,
);
const { replayed } = await call<{ replayed: number }>('POST', `webhooks/${webhookId}/replay`, { since, until });
console.log('replayed', replayed);
console.log('received', await received.next());
console.log('received', await received.next());

await cleanUp();

// Output:
// received 1
// received 2
// received 3
// received 4
// replayed 2
// received 2
// received 3
