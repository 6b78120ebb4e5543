import assert from 'node:assert/strict';
import { it } from 'node:test';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { ACTOR, makeEndpoint, makeKey, openTestServices } from '../support/services.ts';
import { NOW } from '../support/store.ts';
import { makeCertificates } from '../support/tls.ts';

it('keys and client certificates that expire are listed together, the soonest first', async (t) => {
  const s = await openTestServices(t);
  await makeKey(s, 'rsa4096');
  const { publicKey } = await pgpKeyPair({ lastsDays: 4000, at: NOW - 1000 });
  const key = await s.keys.create({ name: 'hr', publicKey }, ACTOR);
  const endpoint = await makeEndpoint(s, { clientCertificate: makeCertificates().client });
  await makeEndpoint(s);
  const listed = await s.store.expiry.all(10);
  assert.deepEqual(listed, [
    { kind: 'certificate', id: endpoint.id, name: endpoint.name, expiresAt: endpoint.clientCertificateExpiresAt },
    { kind: 'key', id: key.id, name: 'hr', expiresAt: key.expiresAt },
  ]);
  assert.deepEqual(await s.store.expiry.all(1), listed.slice(0, 1));
});
