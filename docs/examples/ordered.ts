/** An ordered webhook sends the next batch only after the last one was delivered or is dead. */
import { createReceiver, nodeHandler } from 'sallyport/receiver';
import { cleanUp, createQueue, serveHttps, startSallyport, subscribe } from './set-up.ts';

const secret = 'an example of a secret';
const handled = createQueue<number>();
let underWay = 0;
const receiver = createReceiver({
  secrets: secret,
  onRecords: async ([record]) => {
    underWay += 1;
    await new Promise((resolve) => setTimeout(resolve, 20));
    console.log(`offset ${record?.offset}, requests at a time: ${underWay}`);
    underWay -= 1;
    handled.put(record?.offset ?? -1);
  },
});
const url = await serveHttps(nodeHandler(receiver));

const { sallyport, call } = await startSallyport();
const webhook = { ordered: true, maxBatchRecords: 1 };
await subscribe(call, { url, eventType: 'order.created', endpoint: { secret }, webhook });
const events = [1, 2, 3, 4].map((orderId) => ({ type: 'order.created', data: { orderId } }));
await sallyport.publish({ events });
for (const _ of events) await handled.next();

await cleanUp();

// Output:
// offset 0, requests at a time: 1
// offset 1, requests at a time: 1
// offset 2, requests at a time: 1
// offset 3, requests at a time: 1
