import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, createHmac } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { VERSION } from '../../src/kernel/version.ts';
import { EMPLOYEES, succeeded } from '../support/client.ts';
import type { SeenRequest } from '../support/https-server.ts';
import {
  connect,
  deliveryOf,
  importKey,
  makeEventType,
  only,
  publish,
  readWebhook,
  registerApplication,
  startJourney,
} from '../support/journey.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';
import { type Gnupg, startGnupg } from '../wire/gnupg.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

const ADA = {
  userName: 'ada',
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: 'ada@customer.example',
  division: 'sales',
  hireDate: '2026-11-23',
};

describe('from a token to a delivery', () => {
  let gpg: Gnupg;
  before(() => {
    gpg = startGnupg();
  });
  after(() => gpg.close());

  for (const algorithm of ['rsa2048', 'curve25519'] as const) {
    it(`works with gzip and a ${algorithm} key of gpg`, async (t) => {
      const { service, admin, receiver } = await startJourney(t, { writerThread: true });
      const { publicKey, privateKey } = gpg.makeKey(algorithm, algorithm);
      await importKey(admin, 'hr', publicKey);
      const scopes = ['employees:create', 'employees:view'];
      const { user, api } = await registerApplication(admin, scopes, {
        user: { constraints: { divisions: ['sales'] } },
      });
      const { at, webhook } = await connect({ admin, receiver }, ['employee.created'], {
        receiving: { privateKeys: { hr: privateKey } },
        endpoint: { contentEncoding: 'gzip', tokenChallenge: true },
        webhook: {
          encryptionKeyName: 'hr',
          customHeaders: [
            { name: 'X-Tenant', value: 'Acme' },
            { name: 'x-Region', value: 'eu' },
          ],
        },
      });
      assert.equal(at.challenges.length, 1);

      const earliest = Date.now();
      const created = await api.post<Record<string, unknown>>(EMPLOYEES, ADA);
      assert.equal(created.status, 201);
      const { userId } = created.body;
      assert.equal(created.headers.get('location'), `${EMPLOYEES}/${userId}`);
      assert.deepEqual(await succeeded(api.get(`${EMPLOYEES}/${userId}`)), created.body);

      const { request, envelope } = await at.next();
      const { body, headers } = request;
      assert.deepEqual(headerNames(request), [
        'host',
        'connection',
        'user-agent',
        'x-api-key',
        'content-type',
        'x-content-encrypted',
        'x-pgp-key-name',
        'x-original-encoding',
        'x-content-sha256',
        'date',
        'authorization',
        'x-tenant',
        'x-region',
        'content-length',
      ]);
      assert.equal(headers['user-agent'], `Sallyport/${VERSION}`);
      assert.equal(headers['x-api-key'], at.apiKey);
      assert.equal(headers['content-type'], 'application/octet-stream');
      assert.equal(headers['x-content-encrypted'], 'true');
      assert.equal(headers['x-pgp-key-name'], 'hr');
      assert.equal(headers['x-original-encoding'], 'gzip');
      const wanted = 'HMAC-SHA256 SignedHeaders=x-content-sha256;date;x-tenant;x-region&Signature=';
      const signature = opensslHmac(at.secret, [
        'POST',
        at.path,
        [createHash('sha256').update(body).digest('base64'), headers.date, 'Acme', 'eu'].join(';'),
      ]);
      assert.equal(headers.authorization, wanted + signature);

      const packets = gpg.listPackets(body);
      assert.match(packets, /:literal data packet:/);
      assert.match(packets, /:encrypted data packet:[\s\S]*mdc_method: 2/);
      assert.doesNotMatch(packets, /compressed packet|signature packet|onepass_sig/);
      const text = gunzipSync(gpg.decrypt(body)).toString('utf8');
      const record = only(envelope.records);
      assert.deepEqual(JSON.parse(text), {
        subscriptionId: webhook.id,
        sessionId: (await readWebhook(admin, webhook)).sessionId,
        attemptNumber: 1,
        records: [
          {
            offset: 0,
            timestamp: created.body.createdAt,
            lag: record.lag,
            correlationId: record.correlationId,
            value: {
              headers: {
                messageId: record.messageId,
                eventType: 'employee.created',
                actorId: user.id,
                correlationId: record.correlationId,
              },
              employeeCreated: created.body,
            },
          },
        ],
      });
      assert.ok(record.lag >= 0 && record.lag <= (Date.now() - earliest) / 1000, String(record.lag));
      assert.match(record.correlationId, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);

      assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'delivered');
      const delivery = await deliveryOf(admin, webhook, record.messageId);
      const { attempts, ...summary } = delivery;
      assert.equal(summary.state, 'delivered');
      assert.deepEqual([summary.offset, summary.attemptCount, summary.nextAttemptAt], [0, 1, null]);
      const attempt = only(attempts);
      assert.deepEqual([attempt.kind, attempt.attemptNumber, attempt.delivered], ['delivery', 1, true]);
      assert.deepEqual([attempt.responseStatus, attempt.responseBody, attempt.error], [204, '', null]);
      assert.equal(attempt.requestHeaders['x-api-key'], '[secret]');
      assert.equal(attempt.requestHeaders.authorization, headers.authorization);
      assert.equal(attempt.startedAt, new Date(Date.parse(attempt.startedAt)).toISOString());
      assert.equal(at.deliveries.length, 1);
      assert.equal((await readWebhook(admin, webhook)).state, 'running');
    });
  }
});

describe('encodings on the wire', () => {
  it('plain is application/json without headers of other encodings', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    await makeEventType(journey.admin, 'order.placed');
    const { at } = await connect(journey, ['order.placed']);
    await publish(journey.admin, 'order.placed', { n: 1 });
    const { request, json } = await at.next();
    assert.deepEqual(headerNames(request), [
      'host',
      'connection',
      'user-agent',
      'x-api-key',
      'content-type',
      'x-content-sha256',
      'date',
      'authorization',
      'content-length',
    ]);
    assert.equal(request.headers['content-type'], 'application/json');
    assert.equal(request.body.toString('utf8'), json);
  });

  it('gzip sets Content-Encoding', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    await makeEventType(journey.admin, 'order.placed');
    const { at } = await connect(journey, ['order.placed'], { endpoint: { contentEncoding: 'gzip' } });
    await publish(journey.admin, 'order.placed', { n: 1 });
    const { request, json } = await at.next();
    assert.deepEqual(headerNames(request), [
      'host',
      'connection',
      'user-agent',
      'x-api-key',
      'content-type',
      'content-encoding',
      'x-content-sha256',
      'date',
      'authorization',
      'content-length',
    ]);
    assert.equal(request.headers['content-encoding'], 'gzip');
    assert.equal(gunzipSync(request.body).toString('utf8'), json);
  });

  it('PGP without gzip has no x-original-encoding and no Content-Encoding', async (t) => {
    const gpg = startGnupg();
    t.after(() => gpg.close());
    const { publicKey, privateKey } = gpg.makeKey('single', 'curve25519');
    const journey = await startJourney(t, { writerThread: true });
    await importKey(journey.admin, 'key', publicKey);
    await makeEventType(journey.admin, 'order.placed');
    const { at } = await connect(journey, ['order.placed'], {
      receiving: { privateKeys: { key: privateKey } },
      webhook: { encryptionKeyName: 'key' },
    });
    await publish(journey.admin, 'order.placed', { n: 1 });
    const { request, json } = await at.next();
    assert.deepEqual(headerNames(request), [
      'host',
      'connection',
      'user-agent',
      'x-api-key',
      'content-type',
      'x-content-encrypted',
      'x-pgp-key-name',
      'x-content-sha256',
      'date',
      'authorization',
      'content-length',
    ]);
    assert.equal(gpg.decrypt(request.body).toString('utf8'), json);
  });

  it('a secret that is not Base64 is used as its UTF-8 bytes, and path and query are signed in lower case', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    await makeEventType(journey.admin, 'order.placed');
    const { admin, receiver } = journey;
    const at = receiver.endpoint('/Hook/A?Tenant=B%2Fc', { secret: 'correct horse' });
    const { id } = await succeeded<{ id: string }>(
      admin.post('endpoints', {
        name: 'text',
        url: at.url,
        secret: at.secret,
        apiKey: at.apiKey,
        tokenChallenge: true,
      }),
    );
    const hook = { name: 'text', endpointId: id, eventTypes: ['order.*'], heartbeatSeconds: 0 };
    const webhook = await succeeded<{ id: string }>(admin.post('webhooks', hook));
    await succeeded(admin.post(`webhooks/${webhook.id}/start`));
    await publish(admin, 'order.placed', {});
    const { request } = await at.next();
    const { headers, body } = request;
    assert.equal(request.url, '/Hook/A?Tenant=B%2Fc');
    const hash = createHash('sha256').update(body).digest('base64');
    const signed = `POST\n/hook/a?tenant=b%2fc\n${hash};${headers.date}`;
    const signature = createHmac('sha256', 'correct horse').update(signed).digest('base64');
    assert.equal(headers.authorization, `HMAC-SHA256 SignedHeaders=x-content-sha256;date&Signature=${signature}`);
  });
});

/** In the order of arrival. */
function headerNames({ rawHeaders }: SeenRequest): string[] {
  return rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
}

/** The HMAC of the lines with a Base64 secret, from openssl. */
function opensslHmac(secret: string, lines: readonly string[]): string {
  const key = Buffer.from(secret, 'base64').toString('hex');
  const options = ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${key}`, '-binary'];
  return execFileSync('openssl', options, { input: lines.join('\n') }).toString('base64');
}
