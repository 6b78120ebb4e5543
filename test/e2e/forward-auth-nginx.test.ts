import assert from 'node:assert/strict';
import { test } from 'node:test';
import { succeeded } from '../support/client.ts';
import { testForwardAuth } from '../support/forward-auth.ts';
import { openShop } from '../support/forward-auth-shop.ts';
import { startNginx } from '../support/proxies.ts';

testForwardAuth('nginx', startNginx, { removesAliases: true });

test('nginx never answers 500, for any headers of a client', async (t) => {
  const { send, arrived, viewer, editor, proxy, clientId } = await openShop(t, startNginx);
  for (const kilobytes of [17, 30]) {
    const headers = [1, 2, 3, 4].map((part) => `X-Note-${part}: ${'n'.repeat(kilobytes * 250)}`);
    const answer = await send('/shop/orders/17', viewer, { headers });
    assert.equal(answer.status, 200, answer.text);
    const [request] = arrived();
    assert.equal(request?.header('x-note-4')[0]?.length, kilobytes * 250);
    assert.deepEqual(request?.header('x-auth-client-id'), [clientId]);
    assert.equal((await send('/shop/orders/17', null, { headers })).status, 401);
  }
  // The longest path and the longest Authorization that nginx accepts are together too large for Sallyport.
  const longest = `/shop/orders/${'a'.repeat(8150)}`;
  const credentials = `Authorization: Bearer ${'a'.repeat(8150)}`;
  assert.equal((await send(longest, null, { headers: [credentials] })).status, 401);
  assert.equal((await send(longest, viewer)).status, 200);
  assert.deepEqual(
    arrived().map(({ url }) => url),
    [longest],
  );
  const other = await send('/shop/orders/17', null, { headers: [credentials] });
  assert.deepEqual(
    [other.status, other.header('WWW-Authenticate')?.split(',')[0]],
    [401, 'Bearer error="invalid_token"'],
  );
  // nginx itself refuses two of them. If it ever forwarded one, Sallyport would refuse it.
  const twice = await send('/shop/orders/17', viewer, { headers: [`Authorization: Bearer ${editor}`] });
  assert.ok(twice.status === 400 || twice.status === 401, twice.text);
  assert.deepEqual(arrived(), []);
  assert.doesNotMatch(proxy.log(), /unexpected status/);
});

test('nginx forwards the permissions of a user with a thousand of them', async (t) => {
  const { send, arrived, admin, user, viewer } = await openShop(t, startNginx);
  const permissions = ['orders:view', ...Array.from({ length: 999 }, (_, at) => `warehouses:permission-${at + 1000}`)];
  await succeeded(admin.patch(`users/${user.id}`, { permissions }));
  const answer = await send('/shop/orders/17', viewer);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(arrived()[0]?.header('x-auth-permissions')[0]?.split(' '), permissions);
});
