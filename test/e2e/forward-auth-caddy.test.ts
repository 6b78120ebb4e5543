import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testForwardAuth } from '../support/forward-auth.ts';
import { openShop } from '../support/forward-auth-shop.ts';
import { startCaddy } from '../support/proxies.ts';

testForwardAuth('Caddy', startCaddy, { removesAliases: false });

test('Caddy refuses headers that are too large for Sallyport, and the upstream gets no request', async (t) => {
  const { send, arrived, viewer } = await openShop(t, startCaddy);
  const answer = await send('/shop/orders/17', viewer, { headers: [`X-Note: ${'n'.repeat(17_000)}`] });
  assert.equal(answer.status, 431, answer.text);
  assert.match(answer.text, /"headers_too_large"/);
  assert.deepEqual(arrived(), []);
});
