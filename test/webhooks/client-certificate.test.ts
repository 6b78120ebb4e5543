import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { viewEndpoint } from '../../src/webhooks/endpoint-schema.ts';
import { startHttpsServer } from '../support/https-server.ts';
import { refused } from '../support/refusals.ts';
import { ACTOR, makeEndpoint, openTestServices } from '../support/services.ts';
import { leavingNothing } from '../support/store.ts';
import { type Certificates, makeCertificates } from '../support/tls.ts';

let certificates: Certificates;
before(() => {
  certificates = makeCertificates({ days: 30 });
});

/** Certificates are made now, so these tests' clock begins now. */
const now = Date.now();

describe('an endpoint’s client certificate', () => {
  it('is stored and shown with its expiry but without its private key', async (t) => {
    const s = await openTestServices(t, { now });
    const { client } = certificates;
    const { id } = await makeEndpoint(s, { clientCertificate: client });
    const endpoint = await s.endpoints.get(id);
    const view = viewEndpoint(endpoint, now);
    assert.equal(view.clientCertificate?.certificate, client.certificate);
    const days = (Date.parse(view.clientCertificate?.expiresAt ?? '') - now) / 86_400_000;
    assert.ok(days > 29 && days < 31, `${days} days`);
    const body = client.privateKey.split('\n')[1] ?? '';
    assert.ok(body.length > 20);
    assert.ok(!JSON.stringify([view, await s.rows('SELECT * FROM audit')]).includes(body));
    assert.equal(endpoint.clientPrivateKey?.reveal(), client.privateKey);
  });

  it('survives a patch, even after it expires, and is removed by null', async (t) => {
    const s = await openTestServices(t, { now });
    const { id } = await makeEndpoint(s, { clientCertificate: certificates.client });
    s.advance(60 * 86_400_000);
    const patched = await s.endpoints.patch(id, { enabled: false }, ACTOR);
    assert.deepEqual([patched.enabled, patched.clientPrivateKey?.reveal()], [false, certificates.client.privateKey]);
    const { clientCertificate, clientPrivateKey, clientCertificateExpiresAt } = await s.endpoints.patch(
      id,
      { clientCertificate: null },
      ACTOR,
    );
    assert.deepEqual([clientCertificate, clientPrivateKey, clientCertificateExpiresAt], [null, null, null]);
  });

  it('is refused if it is malformed, has another key, or has expired', async (t) => {
    const s = await openTestServices(t, { now });
    const { client, server, expired } = certificates;
    const [certificate, privateKey] = ['clientCertificate.certificate', 'clientCertificate.privateKey'];
    const bad: readonly [given: unknown, field: string, says: string][] = [
      [{ ...client, certificate: 'no certificate' }, certificate, 'is not a certificate in PEM'],
      [{ ...client, certificate: client.privateKey }, certificate, 'is not a certificate in PEM'],
      [{ ...client, privateKey: 'no key' }, privateKey, 'is not an unencrypted private key in PEM'],
      [{ ...client, privateKey: client.certificate }, privateKey, 'is not an unencrypted private key in PEM'],
      [{ ...client, privateKey: server.privateKey }, privateKey, 'is not the key of the certificate'],
      [expired, certificate, 'has expired'],
      [{ certificate: client.certificate }, privateKey, 'is required'],
      [{ ...client, certificate: 'x'.repeat(65_537) }, certificate, 'at most 65536'],
      [{ ...client, passphrase: 'x' }, 'clientCertificate.passphrase', 'is not a known field'],
    ];
    const { id } = await makeEndpoint(s);
    for (const [clientCertificate, field, says] of bad) {
      const body = { name: 'a', url: 'https://receiver.example/', clientCertificate };
      await leavingNothing(s, async () => {
        await refused(() => s.endpoints.create(body, ACTOR), { code: 'validation_failed', fields: [field], says });
        await refused(() => s.endpoints.patch(id, { clientCertificate }, ACTOR), {
          code: 'validation_failed',
          fields: [field],
          says,
        });
      });
    }
  });

  it('is presented to an endpoint that requests one, also in the challenge', async (t) => {
    const tls = { requestCert: true, rejectUnauthorized: true, ca: certificates.ca };
    const server = await startHttpsServer(certificates.server, { tls, answer: { status: 404 } });
    t.after(() => server.close());
    const s = await openTestServices(t, { now, caPem: certificates.ca });
    const body = { name: 'a', url: server.origin, tokenChallenge: true };
    const without = await s.endpoints.create(body, ACTOR);
    assert.equal(without.lastVerification?.responseStatus, null);
    const shown = await s.endpoints.create({ ...body, clientCertificate: certificates.client }, ACTOR);
    assert.equal(shown.lastVerification?.responseStatus, 404);
    assert.deepEqual(
      server.requests.map(({ clientName }) => clientName),
      ['client.example'],
    );
  });
});
