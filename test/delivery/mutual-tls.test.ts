import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { cleanUp } from '../support/cleanup.ts';
import { type HttpsServer, startHttpsServer } from '../support/https-server.ts';
import {
  type Journey,
  makeEndpoint,
  makeEventType,
  makeWebhook,
  publish,
  startJourney,
  startWebhook,
} from '../support/journey.ts';
import type { LoggedAttempt } from '../support/log-reader.ts';
import { sharedCertificates } from '../support/tls.ts';

const TYPE = 'order.placed';

/** A receiver that requires a client certificate of the authority, and records whose certificate it got. */
async function startStrictReceiver(t: TestContext): Promise<HttpsServer> {
  const { ca, server } = sharedCertificates();
  const strict = await startHttpsServer(server, { tls: { requestCert: true, rejectUnauthorized: true, ca } });
  cleanUp(t, () => strict.close());
  return strict;
}

async function begin(
  t: TestContext,
  more: Readonly<Record<string, unknown>>,
): Promise<Journey & { readonly strict: HttpsServer; readonly endpointId: string; readonly webhookId: string }> {
  const journey = await startJourney(t);
  const { admin } = journey;
  await makeEventType(admin, TYPE);
  const strict = await startStrictReceiver(t);
  const at = { url: `${strict.origin}/hook`, secret: 'a secret', apiKey: '0'.repeat(32) };
  const { id: endpointId } = await makeEndpoint(admin, at, more);
  const { id: webhookId } = await startWebhook(admin, await makeWebhook(admin, { id: endpointId }, [TYPE]));
  await publish(admin, TYPE, { n: 1 });
  return { ...journey, strict, endpointId, webhookId };
}

/** In TLS 1.3 the refusal comes after the handshake: whether its alert or the end of the connection is read first is chance. */
function assertRefused({ errorClass, responseStatus, fate }: LoggedAttempt): void {
  assert.ok(errorClass === 'tls' || errorClass === 'reset', `${errorClass}`);
  assert.deepEqual([responseStatus, fate], [null, 'retry']);
}

describe('an endpoint that asks for a client certificate', () => {
  it('gets the configured one at every delivery', async (t) => {
    const { strict, admin, service, webhookId } = await begin(t, { clientCertificate: sharedCertificates().client });
    assert.equal((await strict.next()).clientName, 'client.example');
    assert.equal((await service.log.nextAttempt(webhookId)).fate, 'delivered');
    await publish(admin, TYPE, { n: 2 });
    assert.equal((await strict.next()).clientName, 'client.example');
    const key = sharedCertificates().client.privateKey.split('\n')[1] ?? '';
    assert.ok(key.length > 20 && !service.log.text().includes(key));
  });

  it('accepts nothing without one, and gets every record once there is one', async (t) => {
    const { strict, admin, service, endpointId, webhookId } = await begin(t, {});
    const refused = await service.log.nextAttempt(webhookId);
    assertRefused(refused);
    assert.equal(strict.requests.length, 0);
    await admin.patch(`endpoints/${endpointId}`, { clientCertificate: sharedCertificates().client });
    service.advance(5000);
    assert.equal((await strict.next()).clientName, 'client.example');
    assert.equal((await service.log.nextAttempt(webhookId)).fate, 'delivered');
  });

  it('accepts none of another authority', async (t) => {
    const { strict, service, webhookId } = await begin(t, { clientCertificate: sharedCertificates().untrusted });
    const refused = await service.log.nextAttempt(webhookId);
    assertRefused(refused);
    assert.equal(strict.requests.length, 0);
  });

  it('shares no connection with another endpoint at the same address that has none, or another one', async (t) => {
    const journey = await begin(t, { clientCertificate: sharedCertificates().client });
    const { strict, admin, service } = journey;
    await strict.next();
    const other = sharedCertificates().issue({ names: ['other.example'] });
    const at = { url: `${strict.origin}/other`, secret: 'a secret', apiKey: '1'.repeat(32) };
    const second = await makeEndpoint(admin, at, { clientCertificate: other });
    const bare = await makeEndpoint(admin, { ...at, url: `${strict.origin}/bare` });
    const hooks = [];
    for (const endpoint of [second, bare]) {
      hooks.push(await startWebhook(admin, await makeWebhook(admin, endpoint, [TYPE])));
    }
    await publish(admin, TYPE, { n: 2 });
    const seen = [await strict.next(), await strict.next()];
    assert.deepEqual(seen.map(({ url, clientName }) => `${url} ${clientName}`).sort(), [
      '/hook client.example',
      '/other other.example',
    ]);
    assertRefused(await service.log.nextAttempt(hooks[1]?.id ?? ''));
    assert.equal(strict.requests.length, 3);
  });

  it('is challenged with the certificate too', async (t) => {
    const { admin } = await startJourney(t);
    const strict = await startStrictReceiver(t);
    const at = { url: `${strict.origin}/hook`, secret: 'a secret', apiKey: '0'.repeat(32) };
    const { client: clientCertificate } = sharedCertificates();
    const { lastVerification } = await makeEndpoint(admin, at, { clientCertificate, tokenChallenge: true });
    assert.deepEqual([lastVerification?.verified, lastVerification?.responseStatus], [false, 200]);
    assert.equal((await strict.next()).clientName, 'client.example');
  });
});
