/** Tests that every proxy with forward auth must pass (contract §3.5). */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { matchRule } from '../../src/domain/catalogue.ts';
import { canonicalPath } from '../../src/domain/path.ts';
import { IDENTITY_HEADERS } from '../../src/http/routes/forward-auth.ts';
import { succeeded, tokenFor } from './client.ts';
import { CATALOGUE, customerOf, openShop, type Shop } from './forward-auth-shop.ts';
import { readingsOf } from './path-readings.ts';
import { anyTarget, PATH_TRICKS } from './path-tricks.ts';
import type { Behind, RunningProxy } from './proxies.ts';
import type { RawAnswer } from './raw-request.ts';
import type { UpstreamRequest } from './upstream.ts';

const IDENTITY = IDENTITY_HEADERS.map((name) => name.toLowerCase());

/** The identity headers of a request, including repeated ones. Some proxies forward an empty header and others omit it. */
function identityOf(request: UpstreamRequest | undefined): Record<string, readonly string[]> {
  return Object.fromEntries(
    IDENTITY.map((name) => [name, (request?.header(name) ?? []).filter((value) => value !== '')]),
  );
}

function assertRefused(answer: RawAnswer, challenge: RegExp, shown = answer.text): void {
  assert.equal(answer.status, 401, shown);
  assert.match(answer.header('WWW-Authenticate') ?? '', challenge, shown);
}

/** Other spellings that a server may fold into the name. */
function aliasesOf(name: string): string[] {
  return ['_', '.', '!', '~'].map((character) => name.replaceAll('-', character));
}

/**
 * With `removesAliases` the proxy removes headers with other characters than letters, digits and hyphens in their name. Otherwise the
 * request is refused: by Sallyport with 401, or by the proxy with `underscoreStatus` if a name has an underscore.
 */
export function testForwardAuth(
  name: string,
  start: Start,
  { removesAliases, underscoreStatus = 401 }: { readonly removesAliases: boolean; readonly underscoreStatus?: number },
): void {
  // These leave the rights of the callers as they are, so they share a proxy.
  test(`${name} in front of an API`, async (t) => {
    const shop = await openShop(t, start);
    await testAllowed(t, shop);
    await testHeaders(t, shop, { removesAliases, underscoreStatus });
    await testPaths(t, shop);
  });
  testRefused(name, start);
}

type Start = (behind: Behind) => Promise<RunningProxy>;

async function testAllowed(t: TestContext, shop: Shop): Promise<void> {
  await t.test("passes an allowed request with its body and the caller's identity", async () => {
    const { send, arrived, viewer, editor, user, clientId } = shop;
    const answer = await send('/shop/orders/17?expand=lines&a=%2F', viewer);
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.text, /upstream: GET \/shop\/orders\/17\?expand=lines&a=%2F/);
    const [request, ...more] = arrived();
    assert.deepEqual(more, []);
    assert.deepEqual(identityOf(request), {
      'x-auth-client-id': [clientId],
      'x-auth-customer-id': [],
      'x-auth-user-id': [user.id],
      'x-auth-user-name': ['Grace_H%C3%B6pper%2C_100%25'],
      'x-auth-scope': ['orders:view'],
      'x-auth-permissions': ['orders:edit orders:view shop:admin'],
    });
    assert.equal(decodeURIComponent(request?.header('x-auth-user-name')[0] ?? ''), user.userName);
    assert.deepEqual(request?.header('authorization'), []);

    const body = JSON.stringify({ lines: 'x'.repeat(200_000) });
    const headers = ['Content-Type: application/json'];
    assert.equal((await send('/shop/orders/17', editor, { method: 'PUT', headers, body })).status, 200);
    const [put] = arrived();
    assert.equal(put?.method, 'PUT');
    assert.ok(put?.body.equals(Buffer.from(body)));
    assert.deepEqual(put?.header('x-auth-scope'), ['orders:edit orders:view']);

    assert.equal((await send('/shop/orders', viewer, { method: 'HEAD' })).status, 200);
    assert.equal(arrived()[0]?.method, 'HEAD');
  });

  await t.test(
    'asks about every request, also for other paths, methods and tokens on the same connection',
    async () => {
      const { proxy, arrived, viewer } = shop;
      const call = async (path: string, init: RequestInit): Promise<number> => {
        const reply = await fetch(proxy.url + path, init);
        await reply.arrayBuffer();
        return reply.status;
      };
      const headers = { Authorization: `Bearer ${viewer}` };
      for (let round = 0; round < 3; round += 1) {
        assert.equal(await call('/shop/orders/17', { headers }), 200);
        assert.equal(await call('/shop/orders/17', {}), 401);
        assert.equal(await call('/shop/admin/17', { headers }), 401);
        assert.equal(await call('/shop/orders/17', { headers, method: 'PUT', body: '{}' }), 401);
        assert.equal(await call('/shop/orders/17', { headers: { Authorization: 'Bearer spt_x' } }), 401);
      }
      assert.deepEqual([...new Set(arrived().map(({ method, url }) => `${method} ${url}`))], ['GET /shop/orders/17']);
    },
  );
}

function testRefused(name: string, start: Start): void {
  test(`${name} refuses requests that the token, the rules or the user do not allow, and passes none to the upstream`, async (t) => {
    const { send, arrived, viewer, editor, admin, user } = await openShop(t, start);
    const scope = /^Bearer error="insufficient_scope"/;
    assertRefused(await send('/shop/orders/17', null), /^Bearer$/);
    assertRefused(await send('/shop/orders/17', 'spt_made-up'), /^Bearer error="invalid_token"/);
    assertRefused(await send('/shop/orders/17', `${viewer}x`), /^Bearer error="invalid_token"/);
    const basic = await send('/shop/orders/17', null, { headers: ['Authorization: Basic eDp5'] });
    assertRefused(basic, /^Bearer error="invalid_token"/);

    const missing = await send('/shop/orders/17', viewer, { method: 'PUT', body: '{"a":1}' });
    assertRefused(missing, /^Bearer error="insufficient_scope", scope="orders:edit", /);
    assertRefused(await send('/shop/admin/users', editor), / scope="shop:admin", /);
    for (const path of ['/', '/shop', '/shop/orders/17/lines', '/shop/elsewhere', '/favicon.ico']) {
      assertRefused(await send(path, editor), scope, path);
    }
    for (const method of ['DELETE', 'PATCH', 'OPTIONS', 'PURGE']) {
      assertRefused(await send('/shop/orders/17', editor, { method }), scope, method);
    }

    await succeeded(admin.patch(`users/${user.id}`, { permissions: ['orders:edit'] }));
    assertRefused(await send('/shop/orders/17', viewer), /^Bearer error="insufficient_permission"/);
    assert.deepEqual(arrived(), []);
    await succeeded(admin.patch(`users/${user.id}`, { permissions: ['orders:view'] }));
    assert.equal((await send('/shop/orders/17', viewer)).status, 200);
    assert.equal(arrived().length, 1);
    await succeeded(admin.patch(`users/${user.id}`, { active: false }));
    assertRefused(await send('/shop/orders/17', viewer), /^Bearer error="invalid_token"/);
    assert.deepEqual(arrived(), []);
  });

  test(`${name} refuses a token that has expired or was revoked since it last passed`, async (t) => {
    const { send, arrived, viewer, editor, admin, service } = await openShop(t, start);
    assert.equal((await send('/shop/orders/17', viewer)).status, 200);
    service.advance(3_599_000 - 60_000);
    assert.equal((await send('/shop/orders/17', viewer)).status, 200);
    service.advance(62_000);
    assertRefused(await send('/shop/orders/17', viewer), /^Bearer error="invalid_token"/);
    assert.equal(arrived().length, 2);

    const again = admin.as(await tokenFor(service.url, service.credentials));
    const { items } = await succeeded<{ items: { id: string; name: string }[] }>(again.get('applications'));
    const shop = items.find((application) => application.name === 'Web shop');
    await succeeded(again.post(`applications/${shop?.id}/revoke-tokens`));
    assertRefused(await send('/shop/orders/17', editor), /^Bearer error="invalid_token"/);
    assert.deepEqual(arrived(), []);
  });
}

async function testHeaders(
  t: TestContext,
  shop: Shop,
  { removesAliases, underscoreStatus }: { readonly removesAliases: boolean; readonly underscoreStatus: number },
): Promise<void> {
  await t.test("passes requests whose cookies exceed Sallyport's limit for headers", async () => {
    const { send, arrived, viewer, user, clientId } = shop;
    for (const kilobytes of [17, 30]) {
      // nginx accepts four header lines of 8 KiB.
      const headers = [1, 2, 3, 4].map((part) => `Cookie: part${part}=${'c'.repeat(kilobytes * 250)}`);
      const answer = await send('/shop/orders/17', viewer, { headers });
      assert.equal(answer.status, 200, answer.text);
      const [request] = arrived();
      assert.equal(
        request
          ?.header('cookie')
          .join('')
          .match(/c{100,}/g)
          ?.join('').length,
        kilobytes * 1000,
      );
      assert.deepEqual(request?.header('x-auth-client-id'), [clientId]);
      assert.deepEqual(request?.header('x-auth-user-id'), [user.id]);
      assert.deepEqual(request?.header('x-auth-scope'), ['orders:view']);

      assertRefused(await send('/shop/admin/users', viewer, { headers }), /^Bearer error="insufficient_scope"/);
      assertRefused(await send('/shop/orders/17', null, { headers }), /^Bearer$/);
      assert.deepEqual(arrived(), []);
    }
  });

  await t.test('passes no identity headers forged by a client', async () => {
    const { send, arrived, viewer, user } = shop;
    const forged = IDENTITY_HEADERS.flatMap((name) => [
      `${name}: shop:admin forged`,
      `${name.toLowerCase()}: forged too`,
      `${name.toUpperCase()}: forged`,
    ]);
    for (const token of [null, 'spt_made-up'])
      assert.equal((await send('/shop/orders/17', token, { headers: forged })).status, 401);
    assert.deepEqual(arrived(), []);
    await send('/shop/orders/17', viewer);
    const genuine = identityOf(arrived()[0]);
    assert.deepEqual(genuine['x-auth-user-id'], [user.id]);
    // One at a time too: a proxy that forgets a header may pass a forged one only if the others are as expected.
    for (const headers of [forged, ...IDENTITY_HEADERS.map((name) => [`${name}: forged`])]) {
      const answer = await send('/shop/orders/17', viewer, { headers });
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(identityOf(arrived()[0]), genuine, headers.join());
    }
    const bought = await customerOf(shop);
    await send('/shop/orders/17', bought.token, { headers: forged });
    const identity = identityOf(arrived()[0]);
    assert.deepEqual(identity['x-auth-customer-id'], [bought.customerId]);
    assert.ok(!JSON.stringify(identity).includes('forged'));

    // A server that reads CGI variables cannot distinguish these headers from the identity headers.
    for (const alias of IDENTITY_HEADERS.flatMap(aliasesOf)) {
      const { status } = await send('/shop/orders/17', viewer, { headers: [`${alias}: forged`] });
      const passed = arrived();
      // nginx passes the request without that header. Other proxies, or Sallyport behind them, refuse the request.
      const wanted = removesAliases ? [200, 1] : [alias.includes('_') ? underscoreStatus : 401, 0];
      assert.deepEqual([status, passed.length], wanted, alias);
      const names = passed.flatMap(({ headerNames }) => headerNames);
      assert.deepEqual(
        names.filter((header) => header.includes(alias)),
        [],
        alias,
      );
    }

    // A proxy may remove headers that a client names in Connection, including the identity and the proxy's own headers to Sallyport.
    for (const named of [...IDENTITY, 'x-forwarded-uri', 'x-forwarded-method', 'x-original-uri', 'authorization']) {
      const headers = [`Connection: close, ${named}`];
      const allowed = await send('/shop/orders/17', viewer, { headers: [...headers, ...forged] });
      const lie = 'X-Forwarded-Uri: /shop/orders/1';
      const refused = await send('/shop/admin/17', viewer, { headers: [...headers, lie] });
      assert.equal(refused.status, 401, named);
      const [passed, ...more] = arrived();
      assert.deepEqual(more, [], named);
      // Envoy removes the token, as the client asked, and so the request is refused.
      if (named === 'authorization' && allowed.status === 401) {
        assert.equal(passed, undefined);
        continue;
      }
      assert.equal(allowed.status, 200, named);
      assert.equal(passed?.url, '/shop/orders/17', named);
      assert.deepEqual(passed?.header('x-auth-user-id'), [user.id], named);
      assert.deepEqual(passed?.header('x-auth-permissions'), ['orders:edit orders:view shop:admin'], named);
    }
  });

  await t.test('asks about the real request, even if a client forges the headers that describe it', async () => {
    const { send, arrived, viewer } = shop;
    const allowed = '/shop/orders/17';
    const claims: readonly (readonly string[])[] = [
      [`X-Original-URI: ${allowed}`],
      [`X-Forwarded-Uri: ${allowed}`],
      [`X-Original-URI: ${allowed}`, 'X-Original-Method: GET'],
      [`X-Forwarded-Uri: ${allowed}`, 'X-Forwarded-Method: GET'],
      [
        `X-Original-URI: ${allowed}`,
        `X-Forwarded-Uri: ${allowed}`,
        'X-Original-Method: GET',
        'X-Forwarded-Method: GET',
      ],
      [`X-Original-URI: ${allowed}`, `x-original-uri: ${allowed}`],
      [`X_Original_URI: ${allowed}`, `X_Forwarded_Uri: ${allowed}`],
      [`X-Original-URL: ${allowed}`, `X-Rewrite-URL: ${allowed}`],
      ['X-HTTP-Method-Override: GET', 'X-Forwarded-Method: GET'],
    ];
    const refusedWith = (headers: readonly string[]): number =>
      headers.some((header) => /^[^:]*_/.test(header)) ? underscoreStatus : 401;
    for (const headers of claims) {
      const wanted = refusedWith(headers);
      assert.equal((await send('/shop/admin/users', viewer, { headers })).status, wanted, headers.join());
      const posted = await send(allowed, viewer, { method: 'POST', headers, body: 'x' });
      assert.equal(posted.status, wanted, headers.join());
    }
    assert.deepEqual(arrived(), []);
    for (const headers of claims) {
      const told = headers.map((header) => header.replace(allowed, '/shop/admin/users'));
      const { status } = await send(allowed, viewer, { headers: told });
      const passed = arrived();
      const passes = removesAliases || !told.some((header) => /^[^:]*_/.test(header));
      assert.deepEqual([status, passed.length], passes ? [200, 1] : [refusedWith(told), 0], headers.join());
      for (const request of passed) {
        assert.equal(request.url, allowed);
        for (const header of ['x-original-uri', 'x-original-method', 'x-forwarded-uri', 'x-forwarded-method']) {
          assert.deepEqual(request.header(header), [], header);
        }
      }
    }
  });
}

async function testPaths(t: TestContext, shop: Shop): Promise<void> {
  await t.test('refuses a request whose path can be read in two ways', async () => {
    const { send, arrived, viewer } = shop;
    for (const target of PATH_TRICKS) {
      const { status } = await send(target, viewer);
      assert.ok(status === 401 || status === 400 || status === 404, `${target} was answered ${status}`);
    }
    assert.deepEqual(
      arrived().map(({ url }) => url),
      [],
    );
  });

  await t.test('passes no request that a lenient upstream could read as a forbidden path', async () => {
    const { send, arrived, viewer } = shop;
    await fc.assert(
      fc.asyncProperty(anyTarget, async (target) => {
        const answer = await send(target, viewer);
        for (const { url } of arrived()) {
          assert.equal(answer.status, 200);
          assert.equal(url, target.replace(/^http:\/\/[^/]+/, ''));
          const path = canonicalPath(url);
          assert.ok(path.ok, url);
          assert.equal(matchRule(CATALOGUE, 'GET', path.segments)?.scope, 'orders:view', url);
          const forbidden = [...readingsOf(url)].filter((reading) => /^\/*shop\/+admin(?:\/|$)/i.test(reading));
          assert.deepEqual(forbidden, [], url);
        }
      }),
      { numRuns: 300 },
    );
    // A proxy that refuses everything would pass the property above, so check that unusual but valid paths are allowed.
    assert.equal((await send('/shop/orders/%40me', viewer)).status, 200);
    assert.equal((await send('/shop/orders/1/lines/a/b%20c', viewer)).status, 200);
  });
}
