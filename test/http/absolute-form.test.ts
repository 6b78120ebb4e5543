/** Targets in absolute form (RFC 9112 §3.2.2): any authority is accepted, and the path is handled as usual. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { originForm } from '../../src/http/request.ts';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { FORGERY_FIELD, formToken } from '../../src/portal/frame/forgery.ts';
import { newSession } from '../support/portal-requests.ts';
import { type RawAnswer, type RawRequest, sendRaw } from '../support/raw-request.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';

type Sending = { readonly service: ServiceInProcess; send(target: string, request?: RawRequest): Promise<RawAnswer> };

async function start(t: TestContext): Promise<Sending> {
  const service = await startService(t);
  return { service, send: (target, request) => sendRaw(Number(new URL(service.url).port), target, request) };
}

describe('a target in absolute form', () => {
  it('is served as its path, with any authority', async (t) => {
    const { service, send } = await start(t);
    const authorities = ['api.example', 'API.example:8080', '[::1]:443', 'other-than-host', 'a%20b'];
    for (const authority of authorities) {
      for (const scheme of ['http', 'https', 'HTTP'])
        assert.equal((await send(`${scheme}://${authority}/livez`)).status, 200, `${scheme} ${authority}`);
    }
    const logged = service.log.lines().filter(({ path }) => String(path).endsWith('/livez'));
    assert.deepEqual(new Set(logged.map(({ path }) => path)), new Set(['/livez']));
  });

  it('keeps its query', async (t) => {
    const { send } = await start(t);
    const { status, text } = await send('http://api.example/livez?a=1');
    assert.equal(status, 400);
    assert.match(text, /"a is not a known query parameter"/);
  });

  it('is guarded and refused as its path', async (t) => {
    const { send } = await start(t);
    assert.equal((await send('http://api.example/services/api/x/edge/v1/users')).status, 401);
    for (const path of ['//livez', '/../livez', '/%2e%2e/livez', '/livez#a']) {
      const { status, text } = await send(`http://api.example${path}`);
      assert.equal(status, 400, path);
      assert.match(text, /"ambiguous_path"/, path);
    }
  });

  it('is refused with another scheme, with a user, or without a host', async (t) => {
    const { send } = await start(t);
    for (const target of ['ftp://a/livez', 'http://user@a/livez', 'http:///livez', 'http:/livez', 'http://?a', '*']) {
      const { status } = await send(target);
      assert.equal(status, 400, target);
    }
  });

  it('replaces Host in the origin check of portal forms', async (t) => {
    const { service, send } = await start(t);
    const { token } = await newSession(service, 'viewer');
    const body = new URLSearchParams({ [FORGERY_FIELD]: formToken(token), theme: 'dark' }).toString();
    const from = async (origin: string): Promise<number> => {
      const type = 'Content-Type: application/x-www-form-urlencoded';
      const headers = [type, `Cookie: __Host-${SESSION_COOKIE}=${token}`, `Origin: ${origin}`];
      return (await send('http://portal.example/theme', { method: 'POST', headers, body })).status;
    };
    assert.equal(await from('http://portal.example'), 303);
    // The Host of `sendRaw`.
    assert.equal(await from('http://api.example'), 403);
  });
});

it('a target in origin form, or in none, stays as it is', () => {
  for (const target of ['/', '/a?b=http://c/d', '//a/b', '*', '', 'a:443', 'http:', 'http://']) {
    assert.equal(originForm(target), target);
  }
  assert.equal(originForm('http://a'), '/');
  assert.equal(originForm('http://a?b'), '/?b');
  assert.equal(originForm('http://a//b'), '//b');
});
