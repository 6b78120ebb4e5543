import test from 'node:test';
import { type BadInput, refuseAll } from '../support/bad-input.ts';
import { createClient, TOKEN } from '../support/client.ts';
import { importKey } from '../support/journey.ts';
import { startService } from '../support/service.ts';
import { type PgpVectorName, pgpVector } from '../support/vectors.ts';

test('keys', async (t) => {
  const service = await startService(t);
  const { privateKey } = await (await import('openpgp')).generateKey({ userIDs: [{ name: 'x' }] });
  await importKey(service.admin, 'taken', pgpVector('curve25519'));
  const key = (what: string, publicKey: string, says: RegExp): BadInput => ({
    what,
    path: 'keys',
    body: { name: 'key', publicKey },
    fields: ['publicKey'],
    says,
  });
  const vector = (name: PgpVectorName, says: RegExp): BadInput => key(name, pgpVector(name), says);
  await refuseAll(t, service, [
    key('a private key', privateKey, /private_key/),
    vector('expired', /expired_key/),
    vector('revoked', /revoked_key/),
    vector('sign-only', /cannot_encrypt/),
    vector('weak-rsa1024', /weak_key/),
    key('no key', 'ssh-ed25519 AAAA', /malformed_key/),
    key('half a key', pgpVector('rsa2048').slice(0, 400), /malformed_key/),
    {
      what: 'a name with a line break',
      path: 'keys',
      body: { name: 'a\nb', publicKey: pgpVector('rsa2048') },
      fields: ['name'],
    },
    {
      what: 'a name that is taken',
      path: 'keys',
      body: { name: 'taken', publicKey: pgpVector('rsa2048') },
      status: 409,
      code: 'conflict',
      fields: ['name'],
    },
  ]);
});

test('the token endpoint', async (t) => {
  const service = await startService(t);
  const client = createClient(service.url, null);
  const { clientId, clientSecret } = service.credentials;
  const good = { clientId, clientSecret, grantType: 'client_credentials' };
  const asked = (what: string, body: unknown, code: string, more: Partial<BadInput> = {}): BadInput => ({
    what,
    path: TOKEN,
    body,
    client,
    code,
    ...more,
  });
  const scope = Array.from({ length: 21 }, (_, n) => `a${n}:view`).join(' ');
  await refuseAll(t, service, [
    asked('21 scopes', { ...good, scope }, 'invalid_scope', { says: /20/ }),
    asked('a scope that is not registered', { ...good, scope: 'no:such' }, 'invalid_scope', { says: /no:such/ }),
    asked('a malformed scope', { ...good, scope: 'a"b' }, 'invalid_scope'),
    asked('two scopes that differ', { ...good, scope: 'users:view', scopes: 'keys:view' }, 'invalid_request', {
      fields: ['scopes'],
    }),
    asked(
      'a wrong secret',
      { ...good, clientSecret: `${clientSecret.slice(0, -1)}${clientSecret.endsWith('x') ? 'y' : 'x'}` },
      'invalid_client',
    ),
    asked('no secret', { ...good, clientSecret: undefined }, 'invalid_request', { fields: ['clientSecret'] }),
    asked('an id that is no text', { ...good, clientId: 5 }, 'invalid_request', { fields: ['clientId'] }),
    asked('another grant type', { ...good, grantType: 'password' }, 'unsupported_grant_type'),
    asked('malformed JSON', '{', 'invalid_request'),
    asked('a list', [], 'invalid_request'),
    asked('over 16 KiB', JSON.stringify({ ...good, more: 'x'.repeat(16_384) }), 'content_too_large', { status: 413 }),
  ]);
});
