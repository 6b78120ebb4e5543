import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { succeeded } from '../support/client.ts';
import { startDeliverPortal } from '../support/deliver-portal.ts';
import { importKey, makeEndpoint, makeEventType, makeWebhook } from '../support/journey.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';

repeatsInSlowTier('postgres');

describe('the lists', () => {
  it('are paged: a link leads to the next page and keeps the filters', async (t) => {
    const { admin, receiver, openAs } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    for (const name of ['one', 'two', 'three']) {
      const endpoint = await makeEndpoint(admin, receiver.endpoint(`/${name}`), { name });
      await makeWebhook(admin, endpoint, ['order.created'], { name });
      await importKey(admin, name, (await pgpKeyPair()).publicKey);
      const { id: userId } = await succeeded<{ id: string }>(admin.post('users', { userName: `list-${name}` }));
      await succeeded(admin.post('applications', { name: `list-${name}`, userId, scopes: [] }));
    }
    const { page, open } = await openAs('viewer', '/endpoints?limit=2');
    const names = async () => (await page.locator('tbody th a:not(.plain-link)').allInnerTexts()).join(' ');
    // Keys are in the order of their import, the others newest first.
    for (const [path, first, next] of [
      ['/endpoints?', 'three two', 'one'],
      ['/webhooks?', 'three two', 'one'],
      ['/keys?', 'one two', 'three'],
      ['/users?q=list-&', 'list-three list-two', 'list-one'],
      ['/applications?q=list-&', 'list-three list-two', 'list-one'],
    ] as const) {
      await open(`${path}limit=2`);
      assert.equal(await names(), first, path);
      await page.getByRole('link', { name: 'Next page' }).click();
      await page.getByRole('link', { name: 'First page' }).waitFor();
      assert.equal(await names(), next, path);
      assert.match(page.url(), /limit=2&cursor=/);
    }
    await open('/keys?cursor=ffffffff-ffff-7fff-bfff-ffffffffffff');
    await page.getByText('No keys fit these filters.').waitFor();
  });

  it('refuse a cursor and a limit that are none', async (t) => {
    const { openAs } = await startDeliverPortal(t);
    const { open } = await openAs('viewer', '/', { expecting: [400] });
    for (const path of ['/endpoints', '/webhooks', '/keys', '/users', '/applications', '/audit', '/deliveries']) {
      assert.equal(await open(`${path}?cursor=none`), 400, path);
      assert.equal(await open(`${path}?limit=0`), 400, path);
    }
  });
});

describe('a form for an unknown record', () => {
  const paths = [
    '/endpoints/none/edit',
    '/endpoints/none/verify',
    '/endpoints/none/enable',
    '/endpoints/none/test-oauth',
    '/endpoints/none/rotate-secret',
    '/endpoints/none/rotate-api-key',
    '/endpoints/none/delete',
    '/keys/none/edit',
    '/keys/none/delete',
    '/event-types/none/edit',
    '/event-types/none/delete',
    '/webhooks/none/edit',
    '/webhooks/none/start',
    '/webhooks/none/test',
    '/webhooks/none/delete',
  ];
  it('is answered that there is nothing', async (t) => {
    const { openAs, portal } = await startDeliverPortal(t);
    const { page, context } = await openAs('administrator', '/endpoints/new');
    const token = page.locator('main form input[type="hidden"]').first();
    const form = { [String(await token.getAttribute('name'))]: await token.inputValue() };
    const headers = { 'sec-fetch-site': 'same-origin' };
    for (const path of paths) {
      const reply = await context.request.post(portal.url + path, { form, headers, maxRedirects: 0 });
      assert.equal(reply.status(), 404, path);
      assert.match(await reply.text(), /There is nothing here/, path);
    }
  });
});
