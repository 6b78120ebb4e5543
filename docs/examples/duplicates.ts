/** Delivery is at least once. A receiver drops the messages that it has handled, by their `messageId`. */
import { createReceiver, nodeHandler } from 'sallyport/receiver';
import { cleanUp, createQueue, readUntil, serveHttps, startSallyport, subscribe } from './set-up.ts';

const secret = 'an example of a secret';
const receiver = createReceiver<{ 'order.created': { orderId: number } }>({
  secrets: secret,
  onRecords: (records) => {
    for (const { data } of records) console.log(`handled: order ${data.orderId}`);
  },
});
const handle = nodeHandler(receiver);
const answered = createQueue<number>();
const url = await serveHttps((request, response) => {
  response.once('finish', () => answered.put(response.statusCode));
  void handle(request, response);
});

const { sallyport, call } = await startSallyport();
await subscribe(call, { url, eventType: 'order.created', endpoint: { secret } });
await sallyport.publish({ type: 'order.created', data: { orderId: 42 } });
console.log('first delivery:', await answered.next());

// The same message comes again, here because an operator asks for it. It is answered, and not handled a second time.
type Page = { items: { id: string }[] };
const delivered = (): Promise<Page> => call<Page>('GET', 'deliveries?state=delivered');
const { items } = await readUntil(delivered, (page) => page.items.length > 0);
await call('POST', `deliveries/${items[0]?.id}/replay`);
console.log('second delivery:', await answered.next());

await cleanUp();

// Output:
// handled: order 42
// first delivery: 204
// second delivery: 204
