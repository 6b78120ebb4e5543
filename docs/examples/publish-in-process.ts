/** A program that embeds Sallyport publishes an event. Once `publish` resolves, the event is on the disk. */
import { Refusal } from 'sallyport';
import { createReceiver, nodeHandler } from 'sallyport/receiver';
import { cleanUp, createQueue, serveHttps, startSallyport, subscribe } from './set-up.ts';

const secret = 'an example of a secret';
const received = createQueue<unknown>();
const receiver = createReceiver({ secrets: secret, onRecords: ([record]) => received.put(record?.data) });

const { sallyport, call } = await startSallyport();
const url = await serveHttps(nodeHandler(receiver));
await subscribe(call, { url, eventType: 'order.created', endpoint: { secret } });

const { accepted } = await sallyport.publish({ type: 'order.created', data: { orderId: 42 }, subject: 'person-7' });
console.log('accepted', accepted);
console.log('received', await received.next());

try {
  await sallyport.publish({ type: 'order.lost', data: {} });
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.log('refused', error.code, error.details?.[0]?.field);
}

await cleanUp();

// Output:
// accepted 1
// received { orderId: 42 }
// refused validation_failed type
