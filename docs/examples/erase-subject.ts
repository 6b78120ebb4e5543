/** A person asks for erasure: the data of every event about that person is overwritten, and pending records are discarded. */
import { cleanUp, readUntil, startSallyport, subscribe } from './set-up.ts';

const { sallyport, call } = await startSallyport();
const url = 'https://hooks.example.com/in';
const { webhookId } = await subscribe(call, { url, eventType: 'order.created' });
await call('POST', `webhooks/${webhookId}/stop`);
await sallyport.publish({
  events: [
    { type: 'order.created', data: { orderId: 42, name: 'Ada' }, subject: 'person-7' },
    { type: 'order.created', data: { orderId: 43, name: 'Grace' }, subject: 'person-8' },
  ],
});

type Erasure = { id: string; state: string; events: number; deliveriesDiscarded: number };
const { id } = await call<Erasure>('POST', 'events/erase', { subject: 'person-7' });
// An erasure of many events goes on in the background.
const erased = await readUntil(
  () => call<Erasure>('GET', `erasures/${id}`),
  ({ state }) => state === 'finished',
);
console.log(`erased: ${erased.events} event, discarded: ${erased.deliveriesDiscarded} delivery`);

const { items } = await call<{ items: { offset: number; state: string }[] }>('GET', 'deliveries');
for (const { offset, state } of items) console.log(`offset ${offset}: ${state}`);

await cleanUp();

// Output:
// erased: 1 event, discarded: 1 delivery
// offset 1: pending
// offset 0: discarded
