import assert from 'node:assert/strict';
import test from 'node:test';
import { type BadInput, refuseAll } from '../support/bad-input.ts';
import { importKey, makeEndpoint, makeWebhook, registerApplication } from '../support/journey.ts';
import { startService } from '../support/service.ts';
import { pgpVector } from '../support/vectors.ts';

const NOWHERE = '01a1fd3d-5320-72e3-bf01-0aa3ceda66c3';

test('applications', async (t) => {
  const service = await startService(t);
  const { user, application } = await registerApplication(service.admin, ['employees:view']);
  const good = { name: 'An application', userId: user.id };
  const field = (name: string, value: unknown, named: string = name): BadInput => ({
    what: `${name} = ${JSON.stringify(value)?.slice(0, 60)}`,
    path: 'applications',
    body: { ...good, [name]: value },
    fields: [named],
  });
  await refuseAll(t, service, [
    { what: 'malformed JSON', path: 'applications', body: '{"name":', code: 'malformed_json' },
    { what: 'no body at all', path: 'applications', body: '', code: 'malformed_json' },
    { what: 'a list', path: 'applications', body: [], fields: ['body'] },
    { what: 'null', path: 'applications', body: null, fields: ['body'] },
    {
      what: 'text that is not UTF-8',
      path: 'applications',
      body: Buffer.of(0x22, 0xff, 0x22),
      code: 'invalid_request',
    },
    { what: 'nothing of what is required', path: 'applications', body: {}, fields: ['name', 'userId'] },
    field('colour', 'red'),
    field('id', NOWHERE),
    field('clientSecret', 'sps_mine'),
    field('name', 5),
    field('name', ''),
    field('name', ' blank at the end '),
    field('name', 'x'.repeat(201)),
    field('userId', NOWHERE),
    field('active', 'yes'),
    field('accessTokenValiditySeconds', 299),
    field('accessTokenValiditySeconds', 86_401),
    field('accessTokenValiditySeconds', 300.5),
    field('accessTokenValiditySeconds', '3600'),
    field('scopes', 'employees:view'),
    field('scopes', ['employees:view', 'no:such'], 'scopes[1]'),
    field('scopes', ['employees:view', 'employees:view'], 'scopes[1]'),
    { what: 'a field that is only removed', ...patch(application.id, { nmae: null }), fields: ['nmae'] },
    { what: 'a patch to what is out of bounds', ...patch(application.id, { name: null }), fields: ['name'] },
    { what: 'a patch that is no object', ...patch(application.id, [1]), fields: ['body'] },
    {
      what: 'an overlap that is too long',
      path: `applications/${application.id}/regenerate-secret`,
      body: { overlapSeconds: 604_801 },
      fields: ['overlapSeconds'],
    },
  ]);
});

test('users', async (t) => {
  const service = await startService(t);
  const { user } = await registerApplication(service.admin, ['webhooks:view']);
  const body = { userName: 'somebody' };
  await refuseAll(t, service, [
    { what: 'a name with a space', path: 'users', body: { userName: 'a b' }, fields: ['userName'] },
    { what: 'no email address', path: 'users', body: { ...body, email: 'nobody' }, fields: ['email'] },
    { what: 'an unknown role', path: 'users', body: { ...body, role: 'root' }, fields: ['role'] },
    {
      what: 'permissions that are no list',
      path: 'users',
      body: { ...body, permissions: {} },
      fields: ['permissions'],
    },
    {
      what: 'an unknown constraint',
      path: 'users',
      body: { ...body, constraints: { planets: ['mars'] } },
      fields: ['constraints.planets'],
    },
    {
      what: 'a name that is taken',
      path: 'users',
      body: { userName: user.userName },
      status: 409,
      code: 'conflict',
      fields: ['userName'],
    },
    {
      what: 'what is referred to',
      method: 'DELETE',
      path: `users/${user.id}`,
      status: 409,
      code: 'in_use',
      fields: ['id'],
    },
  ]);
});

test('endpoints', async (t) => {
  const service = await startService(t);
  const good = { name: 'An endpoint', url: 'https://receiver.example/hook' };
  const field = (name: string, value: unknown, named: string = name): BadInput => ({
    what: `${name} = ${JSON.stringify(value).slice(0, 70)}`,
    path: 'endpoints',
    body: { ...good, [name]: value },
    fields: [named],
  });
  const oauth = { clientId: 'a', clientSecret: 'b', tokenUrl: 'https://tokens.example/' };
  await refuseAll(t, service, [
    ...['http://receiver.example/', 'ftp://receiver.example/', 'receiver.example', '//receiver.example', ''].map(
      (url) => field('url', url),
    ),
    ...['https://a:b@receiver.example/', 'https://receiver.example/#part', 'https://receiver.example/ a'].map((url) =>
      field('url', url),
    ),
    field('url', `https://receiver.example/${'x'.repeat(2048)}`),
    ...PRIVATE_HOSTS.map((host) => field('url', `https://${host}/hook`)),
    field('apiKey', 'short'),
    field('apiKey', 'g'.repeat(32)),
    field('secret', ''),
    field('contentEncoding', 'br'),
    field('tokenChallenge', 'yes'),
    field('verified', true),
    field('lastVerification', null),
    field('oauth', { ...oauth, tokenUrl: 'http://tokens.example/' }, 'oauth.tokenUrl'),
    field('oauth', { ...oauth, tokenUrl: 'https://10.1.2.3/' }, 'oauth.tokenUrl'),
    field('oauth', { ...oauth, colour: 'red' }, 'oauth.colour'),
    field('oauth', { ...oauth, clientSecret: 'line\nbreak' }, 'oauth.clientSecret'),
    field('oauth', { ...oauth, tokenExpirationMinutes: 0 }, 'oauth.tokenExpirationMinutes'),
    field('clientCertificate', { certificate: 'x', privateKey: 'y' }, 'clientCertificate.certificate'),
  ]);
});

test('webhooks', async (t) => {
  const service = await startService(t);
  const { admin } = service;
  const at = { url: 'https://receiver.example/', secret: 'a', apiKey: '0'.repeat(32) };
  const endpoint = await makeEndpoint(admin, at);
  const off = await makeWebhook(admin, await makeEndpoint(admin, at, { enabled: false }), ['webhook.*']);
  await importKey(admin, 'key', pgpVector('curve25519'));
  const good = { name: 'A webhook', endpointId: endpoint.id, eventTypes: ['webhook.*'] };
  const field = (name: string, value: unknown, named: string = name): BadInput => ({
    what: `${name} = ${JSON.stringify(value).slice(0, 70)}`,
    path: 'webhooks',
    body: { ...good, [name]: value },
    fields: [named],
  });
  const header = (name: unknown, value: unknown, at: string): BadInput =>
    field('customHeaders', [{ name, value }], `customHeaders[0].${at}`);
  await refuseAll(t, service, [
    field('endpointId', NOWHERE),
    field('eventTypes', []),
    field('eventTypes', ['webhook.*', 'no.such'], 'eventTypes[1]'),
    field('eventTypes', ['Webhook.Started'], 'eventTypes[0]'),
    ...[['employee.created'], ['employee.*'], ['*']].map((types) => ({
      ...field('eventTypes', types, 'encryptionKeyName'),
      says: /must be encrypted/,
    })),
    field('encryptionKeyName', 'no-such-key'),
    field(
      'customHeaders',
      Array.from({ length: 5 }, (_, n) => ({ name: `x-${n}`, value: '' })),
    ),
    ...['tenant', 'x_tenant', `x-${'a'.repeat(26)}`, 'x-a b', 'x-ä', 'y-tenant', ''].map((name) =>
      header(name, 'a', 'name'),
    ),
    ...[
      'X-Api-Key',
      'x-content-sha256',
      'X-CHALLENGE-SHA256',
      'x-content-encrypted',
      'x-pgp-key-name',
      'x-original-encoding',
    ].map((name) => header(name, 'a', 'name')),
    ...['a b', 'é', 'a\r\nx-b: c', 'a:b', 'x'.repeat(1001)].map((value) => header('x-tenant', value, 'value')),
    field(
      'customHeaders',
      [
        { name: 'x-a', value: '' },
        { name: 'X-A', value: '' },
      ],
      'customHeaders[1].name',
    ),
    field('maxBatchRecords', 0),
    field('maxBatchRecords', 1001),
    field('maxRecordsPerSecond', 0),
    field('timeoutSeconds', 61),
    field('timeoutSeconds', 0),
    field('heartbeatSeconds', -1),
    field('retry', { policy: 'sometimes' }, 'retry.policy'),
    field('retry', { maxAttempts: 0 }, 'retry.maxAttempts'),
    field('state', 'running'),
    field('sessionId', NOWHERE),
    {
      what: 'a start at an endpoint that is off',
      path: `webhooks/${off.id}/start`,
      status: 409,
      code: 'invalid_state',
    },
    { what: 'a start with a body', path: `webhooks/${off.id}/start`, body: { now: true }, fields: ['now'] },
  ]);
  assert.equal(service.log.lines().filter(({ level }) => Number(level) >= 50).length, 0, 'nothing was a fault');
});

/** Blocked addresses in every form that a URL can have. */
const PRIVATE_HOSTS = [
  '10.0.0.1',
  '192.168.1.1',
  '172.16.0.1',
  '169.254.169.254',
  '100.64.0.1',
  '0.0.0.0',
  '224.0.0.1',
  '198.18.0.1',
  '167772161',
  '0x0a000001',
  '012.0.0.1',
  '10.1',
  '[fd00::1]',
  '[fe80::1]',
  '[::ffff:10.0.0.1]',
  '[::]',
  '[64:ff9b::a00:1]',
  '[2002:a00:1::]',
  '[ff02::1]',
];

function patch(id: string, body: unknown): Pick<BadInput, 'method' | 'path' | 'body'> {
  return { method: 'PATCH', path: `applications/${id}`, body };
}
