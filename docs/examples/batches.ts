/** Waiting records are sent together, up to `maxBatchRecords` in one request. */
import { createReceiver, nodeHandler } from 'sallyport/receiver';
import { cleanUp, createQueue, serveHttps, startSallyport, subscribe } from './set-up.ts';

const secret = 'an example of a secret';
const handled = createQueue<string>();
const receiver = createReceiver({
  secrets: secret,
  onRecords: (records) => {
    handled.put(`${records.length} records, offsets ${records[0]?.offset} to ${records.at(-1)?.offset}`);
  },
});
const url = await serveHttps(nodeHandler(receiver));

const { sallyport, call } = await startSallyport();
const webhook = { maxBatchRecords: 100, ordered: true };
const { webhookId } = await subscribe(call, { url, eventType: 'order.created', endpoint: { secret }, webhook });

// While the webhook is stopped, its records wait.
await call('POST', `webhooks/${webhookId}/stop`);
const events = Array.from({ length: 250 }, (_, orderId) => ({ type: 'order.created', data: { orderId } }));
await sallyport.publish({ events });
await call('POST', `webhooks/${webhookId}/start`);
for (let batch = 1; batch <= 3; batch++) console.log(await handled.next());

await cleanUp();

// Output:
// 100 records, offsets 0 to 99
// 100 records, offsets 100 to 199
// 50 records, offsets 200 to 249
