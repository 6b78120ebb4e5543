import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { HEADER_NAME, HEADER_VALUE, reservedProblem } from '../../src/domain/endpoint-headers.ts';
import { viewEndpoint } from '../../src/webhooks/endpoint-schema.ts';
import { refused } from '../support/refusals.ts';
import { ACTOR, makeEndpoint, makeWebhook, openTestServices } from '../support/services.ts';
import { NOW, onSqlite } from '../support/store.ts';

const BASIC = { method: 'basic', userName: 'sallyport', password: 'hunter2-basic' };
const BEARER = { method: 'bearer', token: 'hunter2-bearer' };
const HEADER = { method: 'header', name: 'X-Token', value: 'hunter2-header' };
const OAUTH = { clientId: 'me', clientSecret: 'hunter2-oauth', tokenUrl: 'https://login.example/token' };

describe('the authentication of an endpoint', () => {
  it('is the signature unless it is set, and reads have null in place of its secret', async (t) => {
    const s = await openTestServices(t);
    const shown = async (authentication?: object) => {
      const made = await makeEndpoint(s, authentication === undefined ? {} : { authentication });
      return viewEndpoint(await s.endpoints.get(made.id), NOW).authentication;
    };
    assert.equal(await shown(), null);
    assert.deepEqual(await shown(BASIC), { method: 'basic', userName: 'sallyport', password: null, hasSecret: true });
    assert.deepEqual(await shown(BEARER), { method: 'bearer', token: null, hasSecret: true });
    assert.deepEqual(await shown(HEADER), { method: 'header', name: 'X-Token', value: null, hasSecret: true });
  });

  const wrong: readonly (readonly [what: string, body: Readonly<Record<string, unknown>>, ...fields: string[]])[] = [
    ['a method that is none', { authentication: { method: 'digest' } }, 'authentication.method'],
    ['Basic without a password', { authentication: { method: 'basic', userName: 'a' } }, 'authentication.password'],
    [
      'Basic without anything',
      { authentication: { method: 'basic' } },
      'authentication.userName',
      'authentication.password',
    ],
    ['a colon in a user name', { authentication: { ...BASIC, userName: 'a:b' } }, 'authentication.userName'],
    ['a line end in a password', { authentication: { ...BASIC, password: 'a\r\nX: y' } }, 'authentication.password'],
    ['a space in a token', { authentication: { method: 'bearer', token: 'a b' } }, 'authentication.token'],
    ['a token that is empty', { authentication: { method: 'bearer', token: '' } }, 'authentication.token'],
    ['a member of another method', { authentication: { ...BEARER, password: 'x' } }, 'authentication.password'],
    ['a header that is no token', { authentication: { ...HEADER, name: 'X Token' } }, 'authentication.name'],
    ['a header of the service', { authentication: { ...HEADER, name: 'Content-Type' } }, 'authentication.name'],
    [
      'the API key’s header while it is sent',
      { authentication: { ...HEADER, name: 'X-API-Key' } },
      'authentication.name',
    ],
    ['a value with a line feed', { authentication: { ...HEADER, value: 'a\nb' } }, 'authentication.value'],
    ['OAuth beside it', { authentication: BASIC, oauth: OAUTH }, 'authentication', 'oauth'],
  ];
  for (const [what, body, ...fields] of wrong) {
    it(`is refused with ${what}`, async (t) => {
      const s = await openTestServices(t);
      await refused(() => makeEndpoint(s, body), { code: 'validation_failed', fields });
      assert.deepEqual(await s.endpoints.list('', 10), []);
    });
  }

  it('has a header name of at most 200 characters, and the refusal says so', async (t) => {
    const s = await openTestServices(t);
    const named = (length: number) => ({ authentication: { ...HEADER, name: 'X'.repeat(length) } });
    await makeEndpoint(s, named(200));
    const wanted = { code: 'validation_failed', fields: ['authentication.name'], says: '1 to 200 letters' } as const;
    await refused(() => makeEndpoint(s, named(201)), wanted);
  });

  it('keeps its secret in a patch that does not name one, and takes a new method whole', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeEndpoint(s, { authentication: BASIC });
    const after = async (authentication: object | null) => {
      const { authentication: stored } = await s.endpoints.patch(id, { authentication }, ACTOR);
      return stored === null ? null : [stored.method, stored.name, stored.secret.reveal()];
    };
    assert.deepEqual(await after({ userName: 'other' }), ['basic', 'other', 'hunter2-basic']);
    const read = viewEndpoint(await s.endpoints.get(id), NOW).authentication;
    assert.deepEqual(await after(read), ['basic', 'other', 'hunter2-basic'], 'what was read may be sent back');
    assert.deepEqual(await after({ password: 'new' }), ['basic', 'other', 'new']);
    await refused(() => after({ method: 'bearer' }), { code: 'validation_failed', fields: ['authentication.token'] });
    assert.deepEqual(await after(BEARER), ['bearer', null, 'hunter2-bearer']);
    assert.equal(await after(null), null);
  });

  it('does not go to another server unless it is given again', async (t) => {
    const s = await openTestServices(t);
    const headers = [
      { name: 'X-Secret', value: 'hunter2-x', secret: true },
      { name: 'X-Route', value: 'blue' },
    ];
    const { id } = await makeEndpoint(s, { authentication: BEARER, requestHeaders: headers });
    const move = (more: object) => s.endpoints.patch(id, { url: 'https://other.example/hook', ...more }, ACTOR);
    const fields = ['authentication.token', 'requestHeaders[0].value'];
    await refused(() => move({}), { code: 'validation_failed', fields });
    await refused(() => move({ authentication: { method: 'bearer', token: null } }), {
      code: 'validation_failed',
      fields,
    });
    await refused(() => move({ requestHeaders: [] }), { code: 'validation_failed', fields: fields.slice(0, 1) });
    const { url } = await s.endpoints.patch(id, { url: 'https://receiver.example/other' }, ACTOR);
    assert.equal(url, 'https://receiver.example/other');
    assert.equal((await move({ authentication: BEARER, requestHeaders: headers })).url, 'https://other.example/hook');
  });

  it('is rotated: the new one counts from its time on, and a patch that does not name it leaves it scheduled', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeEndpoint(s, { authentication: BASIC });
    const rotated = await s.endpoints.rotateAuthentication(
      id,
      { authentication: { method: 'basic', password: 'hunter2-next' }, activateAfterSeconds: 60 },
      ACTOR,
    );
    await s.endpoints.patch(id, { name: 'renamed' }, ACTOR);
    const { authentication, nextAuthentication, nextAuthenticationAt } = await s.endpoints.get(id);
    assert.deepEqual([authentication?.name, authentication?.secret.reveal()], ['sallyport', 'hunter2-basic']);
    assert.deepEqual([nextAuthentication?.name, nextAuthentication?.secret.reveal()], ['sallyport', 'hunter2-next']);
    assert.equal(nextAuthenticationAt, rotated.updatedAt + 60_000);
    assert.equal(
      viewEndpoint(rotated, NOW).authenticationActivatesAt,
      new Date(rotated.updatedAt + 60_000).toISOString(),
    );
    const changed = await s.endpoints.patch(id, { authentication: BEARER }, ACTOR);
    assert.deepEqual([changed.authentication?.method, changed.nextAuthentication], ['bearer', null]);
    const plain = await makeEndpoint(s);
    await refused(() => s.endpoints.rotateAuthentication(plain.id, { authentication: BEARER }, ACTOR), {
      code: 'invalid_state',
    });
  });

  onSqlite(
    'is in clear neither in the database nor in the audit log, which tells that a secret header changed',
    async (t) => {
      const s = await openTestServices(t);
      const secretHeader = (value: string) => [{ name: 'X-Secret', value, secret: true }];
      const { id } = await makeEndpoint(s, { authentication: BASIC, requestHeaders: secretHeader('hunter2-a') });
      await s.endpoints.patch(id, { requestHeaders: secretHeader('hunter2-b') }, ACTOR);
      await s.endpoints.rotateAuthentication(id, { authentication: BEARER, activateAfterSeconds: 9 }, ACTOR);
      const [rotation, change] = await s.store.audit.list(null, 2);
      assert.deepEqual(Object.keys(rotation?.changes ?? {}), ['nextAuthentication', 'authenticationActivatesAt']);
      assert.deepEqual(rotation?.changes.nextAuthentication?.to, { method: 'bearer', token: '[secret]' });
      assert.deepEqual(change?.changes.requestHeaders?.to, [{ name: 'X-Secret', value: '[secret]', secret: true }]);
      await s.database.close();
      assert.ok(!readFileSync(s.path).toString('latin1').includes('hunter2'));
    },
  );
});

describe('the request headers of an endpoint', () => {
  it('are read as they were set, with null for a secret value, which stays while none is given', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeEndpoint(s, {
      requestHeaders: [
        { name: 'X-Route', value: 'a b\tc' },
        { name: "A!#$%&'*+.^_`|~1", value: 's3cret', secret: true },
      ],
    });
    const read = viewEndpoint(await s.endpoints.get(id), NOW).requestHeaders;
    assert.deepEqual(read, [
      { name: 'X-Route', value: 'a b\tc', secret: false },
      { name: "A!#$%&'*+.^_`|~1", value: null, secret: true },
    ]);
    const { requestHeaders } = await s.endpoints.patch(id, { requestHeaders: read.toReversed() }, ACTOR);
    assert.deepEqual(
      requestHeaders?.map(({ value }) => value.reveal()),
      ['s3cret', 'a b\tc'],
    );
    const shown = read.map((one) => ({ ...one, secret: false }));
    await refused(() => s.endpoints.patch(id, { requestHeaders: shown }, ACTOR), {
      code: 'validation_failed',
      fields: ['requestHeaders[1].value'],
    });
    assert.equal((await s.endpoints.patch(id, { requestHeaders: [] }, ACTOR)).requestHeaders, null);
  });

  const one = (name: string, value = 'x') => [{ name, value }];
  const wrong: readonly (readonly [what: string, headers: object[], field: string, says: string])[] = [
    ['a name that is no token', one('X:Route'), '[0].name', 'token'],
    ['an empty name', one(''), '[0].name', 'token'],
    ['an empty value', one('X-Route', ''), '[0].value', 'visible ASCII'],
    ['a value of 4,097 bytes', one('X-Route', 'x'.repeat(4097)), '[0].value', '4096'],
    ['a value that ends with a space', one('X-Route', 'x '), '[0].value', 'between'],
    ['a value that begins with a tab', one('X-Route', '\tx'), '[0].value', 'between'],
    ['a value beyond ASCII', one('X-Route', 'é'), '[0].value', 'ASCII'],
    ['a line end', one('X-Route', 'a\r\nX-Other: b'), '[0].value', 'ASCII'],
    ['U+0000', one('X-Route', 'a\0b'), '[0].value', 'ASCII'],
    ['a name twice', [...one('X-Route'), ...one('x-route')], '[1].name', 'repeats'],
    ['the signature’s header', one('Authorization'), '[0].name', 'set by the signature'],
    ['the API key’s header', one('X-Api-Key'), '[0].name', 'set by the API key'],
    ...['host', 'Connection', 'keep-alive', 'transfer-encoding', 'TE', 'trailer', 'upgrade', 'expect'].map(
      (name) => [name, one(name), '[0].name', 'HTTP sets it'] as const,
    ),
    ...['date', 'content-type', 'X-Content-Foo'].map((name) => [name, one(name), '[0].name', 'sets it'] as const),
    ['proxy-*', one('Proxy-Authorization'), '[0].name', 'proxies set it'],
    ['webhook-*', one('webhook-id'), '[0].name', 'Standard Webhooks sets it'],
    ['ce-*', one('CE-Type'), '[0].name', 'CloudEvents sets it'],
    ['tracing', one('traceparent'), '[0].name', 'tracing sets it'],
    ['more tracing', one('TraceState'), '[0].name', 'tracing sets it'],
    ['the challenge', one('x-challenge-sha256'), '[0].name', 'the token challenge sets it'],
    ['the key’s name', one('x-pgp-key-name'), '[0].name', 'the encryption sets it'],
    ['the encryption', one('x-original-encoding'), '[0].name', 'the encryption sets it'],
  ];
  for (const [what, requestHeaders, field, says] of wrong) {
    it(`are refused with ${what}`, async (t) => {
      const s = await openTestServices(t);
      const expected = { code: 'validation_failed', fields: [`requestHeaders${field}`], says } as const;
      await refused(() => makeEndpoint(s, { requestHeaders }), expected);
    });
  }

  it('number at most 20, and have the name of the API key once that is not sent', async (t) => {
    const s = await openTestServices(t);
    const many = (count: number) => Array.from({ length: count }, (_, n) => ({ name: `X-${n}`, value: 'x' }));
    await makeEndpoint(s, { requestHeaders: many(20) });
    await refused(() => makeEndpoint(s, { requestHeaders: many(21) }), {
      code: 'validation_failed',
      fields: ['requestHeaders'],
    });
    await makeEndpoint(s, { sendApiKey: false, requestHeaders: one('X-Api-Key') });
    const { id } = await makeEndpoint(s, { sendApiKey: false, authentication: { ...HEADER, name: 'x-api-key' } });
    await refused(() => s.endpoints.patch(id, { sendApiKey: true }, ACTOR), {
      code: 'validation_failed',
      fields: ['authentication.name'],
    });
  });

  it('have one source for each name: authentication, OAuth, or a header of a webhook that sends here', async (t) => {
    const s = await openTestServices(t);
    const says = (setter: string) =>
      ({ code: 'validation_failed', fields: ['requestHeaders[0].name'], says: setter }) as const;
    const authorization = { requestHeaders: one('authorization') };
    await refused(() => makeEndpoint(s, { ...authorization, authentication: BASIC }), says('set by authentication'));
    await refused(() => makeEndpoint(s, { ...authorization, oauth: OAUTH }), says('set by oauth'));
    await refused(
      () => makeEndpoint(s, { requestHeaders: one('x-TOKEN'), authentication: HEADER }),
      says('set by authentication'),
    );

    const endpoint = await makeEndpoint(s, { requestHeaders: one('X-Route') });
    const customHeaders = (name: string) => ({ endpointId: endpoint.id, customHeaders: one(name) });
    await refused(() => makeWebhook(s, ['webhook.*'], customHeaders('x-route')), {
      code: 'validation_failed',
      fields: ['customHeaders[0].name'],
      says: 'set by the endpoint',
    });
    const webhook = await makeWebhook(s, ['webhook.*'], customHeaders('x-tenant'));
    const tenant = [...one('X-Route'), ...one('X-Tenant')];
    await refused(() => s.endpoints.patch(endpoint.id, { requestHeaders: tenant }, ACTOR), {
      code: 'validation_failed',
      fields: ['requestHeaders[1].name'],
      says: webhook.name,
    });
    await refused(() => s.endpoints.patch(endpoint.id, { authentication: { ...HEADER, name: 'X-Tenant' } }, ACTOR), {
      code: 'validation_failed',
      fields: ['authentication.name'],
    });
  });

  it('are what HTTP can carry, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii', maxLength: 12 }), (text) => {
        const carried = (name: string, value: string): boolean => {
          try {
            const headers = new Headers([[name, value]]);
            return headers.get(name) === value;
          } catch {
            return false;
          }
        };
        if (HEADER_NAME.test(text)) assert.ok(carried(text, 'x'), 'the name');
        if (HEADER_VALUE.test(text)) assert.ok(carried('x-route', text), 'the value');
      }),
      { numRuns: 200 },
    );
    assert.equal(reservedProblem('x-hub-signature-256'), null);
  });
});
