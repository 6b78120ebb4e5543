/** A delivery whose attempts are used up is dead. It is kept and can be sent again. */
import { createReceiver, nodeHandler } from 'sallyport/receiver';
import { cleanUp, createQueue, readUntil, serveHttps, startSallyport, subscribe } from './set-up.ts';

const secret = 'an example of a secret';
const received = createQueue<unknown>();
const receiver = createReceiver({ secrets: secret, onRecords: ([record]) => received.put(record?.data) });
const handle = nodeHandler(receiver);
let isBroken = true;
const url = await serveHttps((request, response) => {
  if (isBroken) response.writeHead(500).end('no space left on device');
  else void handle(request, response);
});

const { sallyport, call } = await startSallyport();
// 20 attempts unless the webhook says otherwise, which takes days.
const webhook = { retry: { policy: 'exponential', maxAttempts: 1 } };
await subscribe(call, { url, eventType: 'order.created', endpoint: { secret }, webhook });
await sallyport.publish({ type: 'order.created', data: { orderId: 42 } });

type Page = { items: { id: string; state: string; attemptCount: number }[] };
const dead = (): Promise<Page> => call<Page>('GET', 'deliveries?state=dead');
const { items } = await readUntil(dead, (page) => page.items.length > 0);
const [delivery] = items;
console.log(delivery?.state, 'after attempts:', delivery?.attemptCount);

type Attempts = { attempts: { errorClass: string; responseStatus: number; responseBody: string }[] };
const { attempts } = await call<Attempts>('GET', `deliveries/${delivery?.id}`);
const [attempt] = attempts;
console.log(`${attempt?.errorClass} ${attempt?.responseStatus}: ${attempt?.responseBody}`);

isBroken = false;
await call('POST', `deliveries/${delivery?.id}/replay`);
console.log('received', await received.next());

await cleanUp();

// Output:
// dead after attempts: 1
// http_status 500: no space left on device
// received { orderId: 42 }
