import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import type { EndpointView } from '../../src/webhooks/endpoint-schema.ts';
import { createAuthorizationServer } from '../support/authorization-server.ts';
import { type ApiClient, createClient, EMPLOYEES, type Page, succeeded, TOKEN, tokenFor } from '../support/client.ts';
import { connect, importKey, makeEventType, publish, registerApplication } from '../support/journey.ts';
import { startReceiver } from '../support/receiver.ts';
import { spawnService } from '../support/service.ts';
import { onSqlite } from '../support/store.ts';
import { sharedCertificates } from '../support/tls.ts';

const TYPE = 'order.placed';

/** The forms in which a secret could appear in a text. */
function assertAbsent(place: string, bytes: Buffer, secrets: Readonly<Record<string, string>>): void {
  for (const [what, secret] of Object.entries(secrets)) {
    const forms = {
      'as it is': Buffer.from(secret),
      'in Base64': Buffer.from(Buffer.from(secret).toString('base64').replace(/=+$/, '')),
      'in hex': Buffer.from(Buffer.from(secret).toString('hex')),
      'in a URL': Buffer.from(encodeURIComponent(secret)),
      'in JSON': Buffer.from(JSON.stringify(secret).slice(1, -1)),
      'from Base64': Buffer.from(secret, 'base64'),
      'from hex': Buffer.from(secret, 'hex'),
    };
    for (const [form, text] of Object.entries(forms)) {
      // Text that does not decode gives empty or short values, which could appear by chance.
      if (text.length >= 12) assert.equal(bytes.includes(text), false, `${what} is in ${place}, ${form}`);
    }
  }
}

onSqlite('no secret of a run appears in its log at level trace, in its files, or in replies of the API', async (t) => {
  const { ca, server, client: identity } = sharedCertificates();
  const service = await spawnService(t, { ca, logLevel: 'trace' });
  const { admin, credentials, dataDir } = service;
  const receiver = await startReceiver(t, server);
  const authorization = createAuthorizationServer(receiver, '/token');
  const secrets: Record<string, string> = {
    "the administrator's password": credentials.adminPassword,
    'the first client secret': credentials.clientSecret,
    'the master key': readFileSync(join(dataDir, 'master.key'), 'utf8').trim(),
    'the OAuth client secret': authorization.oauth.clientSecret,
    'the OAuth credentials': `${authorization.oauth.clientId}:${authorization.oauth.clientSecret}`,
    'the private key of a client certificate': identity.privateKey.split('\n')[1] ?? '',
  };

  await makeEventType(admin, TYPE);
  const { application, credentials: client, token } = await registerApplication(admin, ['employees:create']);
  secrets['a client secret'] = client.clientSecret;
  secrets['an access token'] = token;
  const regenerated = await succeeded<{ clientSecret: string }>(
    admin.post(`applications/${application.id}/regenerate-secret`, { overlapSeconds: 60 }),
  );
  secrets['a regenerated client secret'] = regenerated.clientSecret;
  const renewed = await tokenFor(service.url, { ...client, clientSecret: regenerated.clientSecret });
  secrets['another access token'] = renewed;

  const { publicKey, privateKey } = await (await import('openpgp')).generateKey({ userIDs: [{ name: 'HR' }] });
  await importKey(admin, 'hr', publicKey);
  const textSecret = 'this endpoint secret is plain text';
  const signed = await connect({ admin, receiver }, ['employee.*'], {
    receiving: { privateKeys: { hr: privateKey } },
    endpoint: { contentEncoding: 'gzip', tokenChallenge: true, clientCertificate: identity },
    webhook: { encryptionKeyName: 'hr' },
  });
  const authentication = { method: 'header', name: 'X-Token', value: 'the token of a receiver' };
  const requestHeaders = [{ name: 'X-Key', value: 'the secret header of a receiver', secret: true }];
  const texted = await connect({ admin, receiver }, [TYPE], {
    receiving: { secret: textSecret },
    endpoint: { authentication, requestHeaders, signatureType: 'ed25519' },
  });
  secrets['an authentication'] = authentication.value;
  secrets['a secret request header'] = 'the secret header of a receiver';
  const bearing = await connect({ admin, receiver }, [TYPE], {
    receiving: { bearerTokens: authorization.tokens },
    endpoint: { oauth: authorization.oauth },
    webhook: { standardWebhooks: true },
  });
  secrets['an endpoint secret'] = signed.at.secret;
  secrets['a textual endpoint secret'] = textSecret;
  const apiKeys = { 'an API key': signed.at.apiKey, 'another API key': bearing.at.apiKey };
  const rotated = await succeeded<EndpointView & { secret: string }>(
    admin.post(`endpoints/${signed.endpoint.id}/rotate-secret`, { activateAfterSeconds: 600 }),
  );
  secrets['a rotated endpoint secret'] = rotated.secret;
  const nextToken = 'the next token of a receiver';
  const next = { authentication: { method: 'header', value: nextToken }, activateAfterSeconds: 600 };
  await succeeded(admin.post(`endpoints/${texted.endpoint.id}/rotate-authentication`, next));
  secrets['a rotated authentication'] = nextToken;
  await succeeded(admin.patch(`endpoints/${texted.endpoint.id}`, { name: 'renamed' }));

  const person = { userName: 'ada', firstName: 'Ada', lastName: 'Lovelace', email: 'ada@customer.example' };
  await succeeded(createClient(service.url, renewed).post(EMPLOYEES, { ...person, division: 'sales' }));
  await signed.at.next();
  texted.at.answer(() => ({ status: 500 }));
  await publish(admin, TYPE, { n: 1 });
  for (const { at, webhook } of [signed, texted, bearing]) {
    if (at !== signed.at) await at.next();
    await service.log.nextAttempt(webhook.id);
  }
  await succeeded(admin.post(`webhooks/${bearing.webhook.id}/test`));
  await succeeded(admin.post(`endpoints/${signed.endpoint.id}/verify`));
  await mistakes(service.url, { ...client, token: renewed });
  for (const [n, issued] of authorization.issued.entries()) secrets[`OAuth token ${n}`] = issued;

  const log = Buffer.from(service.log.text());
  assert.ok(log.includes('"level":10') || log.includes('"level":20'), 'the log has more than its usual lines');
  assertAbsent('the log', log, { ...secrets, ...apiKeys });
  assertAbsent('the log', log, { "a person's address": person.email, 'the PGP key of the customer': privateKey });
  const read = Buffer.from(JSON.stringify(await everythingRead(admin)));
  assert.ok(read.includes(signed.endpoint.id) && read.includes('HMAC-SHA256'), 'the reads show endpoints and attempts');
  assertAbsent('an answer of the API', read, secrets);
  const attempts = JSON.stringify((await everythingRead(admin)).filter(({ path }) => !path.startsWith('endpoints')));
  assertAbsent('an answer about something else than endpoints', Buffer.from(attempts), apiKeys);

  assertAbsentInFiles(dataDir, { ...secrets, ...apiKeys });
  await service.stop();
  assertAbsentInFiles(dataDir, { ...secrets, ...apiKeys });
});

/** Requests with a secret in the wrong place, or with an almost correct one. */
async function mistakes(
  url: string,
  { clientId, clientSecret, token }: { clientId: string; clientSecret: string; token: string },
): Promise<void> {
  const nobody = createClient(url, null);
  const json = { 'content-type': 'application/json' };
  const requests = [
    nobody.post(TOKEN, `{"clientSecret":"${clientSecret}" "clientId":"${clientId}"}`, json),
    nobody.post(TOKEN, { clientId, clientSecret, grantType: 'client_credentials', scope: `no:such ${token}` }),
    nobody.post(TOKEN, { clientId: clientSecret, clientSecret: `${clientSecret}x`, grantType: 'client_credentials' }),
    nobody.get(`webhooks?access_token=${token}`),
    nobody.get('webhooks', { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` }),
    nobody.get('webhooks', { authorization: `Bearer ${token} ${token}` }),
    createClient(url, token).post('endpoints', { name: token, url: `https://a:${clientSecret}@receiver.example/` }),
  ];
  for (const { status } of await Promise.all(requests)) assert.ok(status >= 400 && status < 500, String(status));
}

type Read = { readonly path: string; readonly body: unknown };

/** Every list and every item. */
async function everythingRead(admin: ApiClient): Promise<Read[]> {
  const reads: Read[] = [];
  const resources = ['users', 'products', 'applications', 'endpoints', 'keys', 'event-types', 'webhooks'];
  for (const path of [...resources, 'deliveries', 'audit']) {
    const body = await succeeded<Page<{ id: string }>>(admin.get(`${path}?limit=200`));
    reads.push({ path, body });
    for (const { id } of body.items) {
      reads.push({ path: `${path}/${id}`, body: await succeeded(admin.get(`${path}/${id}`)) });
    }
  }
  for (const path of ['/services/api/openapi.json', '/.well-known/oauth-authorization-server']) {
    reads.push({ path, body: await succeeded(admin.get(path)) });
  }
  return reads;
}

/** All files of the data folder except the master key. */
function assertAbsentInFiles(folder: string, secrets: Readonly<Record<string, string>>): void {
  const names = readdirSync(folder).filter((name) => name !== 'master.key');
  assert.ok(names.includes('sallyport.db'));
  for (const name of names.filter((name) => statSync(join(folder, name)).isFile())) {
    assertAbsent(name, readFileSync(join(folder, name)), secrets);
  }
}

test('the check above finds a secret', () => {
  const secret = randomBytes(32).toString('base64');
  const there = (text: string | Buffer) => () => assertAbsent('the text', Buffer.from(text), { 'a secret': secret });
  for (const text of [secret, Buffer.from(secret, 'base64'), Buffer.from(secret).toString('hex')]) {
    assert.throws(there(text), /a secret is in the text/);
  }
  assert.throws(there(`x${encodeURIComponent(secret)}y`), /in a URL/);
  assert.doesNotThrow(there(randomBytes(1000)));
});
