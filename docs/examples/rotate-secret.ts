/** A signing secret is replaced without a refused delivery: for a while the receiver accepts both secrets. */
import { createReceiver, nodeHandler } from 'sallyport/receiver';
import { cleanUp, createQueue, serveHttps, startSallyport, subscribe } from './set-up.ts';

const secret = 'the old secret';
const received = createQueue<string>();
let secrets = [secret];
const url = await serveHttps((request, response) => {
  const receiver = createReceiver({
    secrets,
    onRecords: (_, { secretIndex }) => received.put(secrets[secretIndex ?? -1] ?? 'none'),
  });
  return nodeHandler(receiver)(request, response);
});

const { sallyport, call } = await startSallyport();
const { endpointId } = await subscribe(call, { url, eventType: 'order.created', endpoint: { secret } });
const deliver = async (): Promise<void> => {
  await sallyport.publish({ type: 'order.created', data: { orderId: 42 } });
  console.log('signed with', await received.next());
};
await deliver();

// The new secret is announced. It signs from tomorrow on.
const announcement = { secret: 'the new secret', activateAfterSeconds: 86_400 };
await call('POST', `endpoints/${endpointId}/rotate-secret`, announcement);
await deliver();

// The customer has configured both, so it can be used immediately.
secrets = [secret, 'the new secret'];
await call('POST', `endpoints/${endpointId}/rotate-secret`, { secret: 'the new secret' });
await deliver();

await cleanUp();

// Output:
// signed with the old secret
// signed with the old secret
// signed with the new secret
