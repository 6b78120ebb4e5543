/** Deliveries are compressed and then encrypted for the customer's PGP key. */
import { generateKey } from 'openpgp';
import { createReceiver, nodeHandler } from 'sallyport/receiver';
import { pgpDecryption } from 'sallyport/receiver/pgp';
import { cleanUp, createQueue, serveHttps, startSallyport, subscribe } from './set-up.ts';

// The customer makes the key, for example with GnuPG, and gives the public half away.
const { privateKey, publicKey } = await generateKey({
  type: 'ecc',
  curve: 'curve25519Legacy',
  userIDs: [{ name: 'HR', email: 'hr@customer.example' }],
});

const secret = 'an example of a secret';
const received = createQueue<unknown>();
const receiver = createReceiver({
  secrets: secret,
  decrypt: pgpDecryption({ 'hr-2026': { privateKey } }),
  onRecords: ([record]) => received.put(record?.data),
});
const handle = nodeHandler(receiver);
const url = await serveHttps((request, response) => {
  const { headers } = request;
  console.log(headers['content-type'], headers['x-pgp-key-name'], headers['x-original-encoding']);
  void handle(request, response);
});

const { sallyport, call } = await startSallyport();
await call('POST', 'keys', { name: 'hr-2026', publicKey });
const endpoint = { secret, contentEncoding: 'gzip' };
await subscribe(call, { url, eventType: 'salary.changed', endpoint, webhook: { encryptionKeyName: 'hr-2026' } });
await sallyport.publish({ type: 'salary.changed', data: { userId: 'person-7' } });
console.log(await received.next());

await cleanUp();

// Output:
// application/octet-stream hr-2026 gzip
// { userId: 'person-7' }
