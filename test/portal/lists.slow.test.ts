import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startPortal, type Visitor } from '../support/browser.ts';
import { succeeded } from '../support/client.ts';
import { startDeliverPortal } from '../support/deliver-portal.ts';
import { importKey, makeEndpoint, makeEventType, makeWebhook } from '../support/journey.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { startHistory } from '../support/portal-history.ts';
import { newSession, request } from '../support/portal-requests.ts';

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
    const { page, open } = await openAs('viewer', '/endpoints?limit=2', { isBrowserless: true });
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
    const drawn = await openAs('viewer', '/keys');
    const tops: number[] = [];
    for (const path of ['/keys', '/deliveries', '/deliveries/failures', '/deliveries/watch']) {
      await drawn.open(path);
      tops.push((await drawn.page.getByRole('heading', { level: 1 }).boundingBox())?.y ?? 0);
    }
    // A header with a button is a little higher.
    assert.ok(Math.max(...tops) - Math.min(...tops) < 4, `all titles are at one height: ${tops}`);
  });

  it('refuse a cursor and a limit that are none', async (t) => {
    const { openAs } = await startDeliverPortal(t);
    const { open } = await openAs('viewer', '/', { isBrowserless: true, expecting: [400] });
    for (const path of ['/endpoints', '/webhooks', '/keys', '/users', '/applications', '/audit', '/deliveries']) {
      assert.equal(await open(`${path}?cursor=none`), 400, path);
      assert.equal(await open(`${path}?limit=0`), 400, path);
    }
  });
});

describe('the search of a list', () => {
  it('is where it was, and as high, after the script has started', async (t) => {
    const portal = await startPortal(t);
    await makeEventType(portal.service.admin, 'order.created');
    const box = async ({ page, open }: Visitor, path: string) => {
      assert.equal(await open(path), 200, path);
      return page.locator('form.filters, form.search-line').boundingBox();
    };
    for (const width of [1280, 390]) {
      const plain = await portal.signIn('viewer', { isScriptless: true, width });
      const scripted = await portal.signIn('viewer', { width });
      for (const path of ['/event-catalogue', '/deliveries', '/users', '/audit'])
        assert.deepEqual(await box(scripted, path), await box(plain, path), `${path} at ${width}`);
    }
  });
});

describe('the filters of the lists', () => {
  it('show webhooks, endpoints and customers with problems, and the webhooks of an event type', async (t) => {
    const { service, ids, sessions } = await startHistory(t);
    const { operator, customer } = sessions;
    const rows = async (path: string, token = operator): Promise<string[]> => {
      const { status, text } = await request(`${service.url}${path}`, { token });
      assert.equal(status, 200, path);
      const [table = ''] = /<tbody>.*?<\/tbody>/s.exec(text) ?? [];
      return [...table.matchAll(/<th scope="row".*?<a href="[^"]*">([^<]*)</gs)].map(([, name = '']) => name);
    };
    assert.deepEqual(await rows('/webhooks?state=problems'), ['Webhook of acme', 'Webhook of operator']);
    assert.deepEqual(await rows('/webhooks?state=problems&customer=Acme'), ['Webhook of acme']);
    assert.deepEqual(await rows('/webhooks?state=problems', customer), ['Webhook of acme']);
    const open = { name: 'To verify', url: 'https://127.0.0.1:1/in', tokenChallenge: true };
    await succeeded(service.admin.post('endpoints', open));
    // A failed webhook first, then a disabled endpoint, then a brief failure.
    const troubled = ['Endpoint of operator', 'To verify', 'Endpoint of acme'];
    assert.deepEqual(await rows('/endpoints?state=problems'), troubled);
    assert.deepEqual(await rows('/endpoints?state=problems', customer), ['Endpoint of acme']);
    assert.deepEqual(await rows('/endpoints?state=enabled&q=OAuth'), []);
    assert.deepEqual(await rows('/endpoints?state=disabled'), ['To verify', 'With OAuth']);
    await succeeded(service.admin.post('customers', { name: 'Aardvark' }));
    assert.deepEqual(await rows('/customers?state=problems'), ['Acme']);
    assert.deepEqual(await rows('/customers'), ['Acme', 'Aardvark'], 'the one with problems first');
    // As the page of the customer counts, and with the hour where it is known.
    const whole = (await request(`${service.url}/customers`, { token: operator })).text;
    const customers = /<th scope="row"(?:(?!<\/th>).)*>Acme<.*?<\/tr>/s.exec(whole)?.[0] ?? '';
    assert.match(customers, /\d+ attempts?\D.*(last hour|hours? ago)/s);
    const list = (await request(`${service.url}/webhooks`, { token: operator })).text;
    assert.match(list, /value="problems">with problems \(2\)</);

    assert.deepEqual(await rows('/webhooks?event=order.shipped'), ['Webhook of acme']);
    assert.deepEqual(await rows('/webhooks?event=order.placed', customer), []);
    for (const eventTypes of [['*'], ['order.*'], ['order.placed']])
      await succeeded(
        service.admin.post('webhooks', {
          name: `All ${eventTypes}`,
          endpointId: ids.operator.endpoints,
          eventTypes,
          encryptionKeyName: 'key-of-operator',
        }),
      );
    const counted = async (query: string): Promise<string | undefined> => {
      const { text } = await request(`${service.url}/deliveries${query}`, { token: operator });
      return /<p class="list-count">([^<]*)</.exec(text)?.[1];
    };
    const newest = await counted('?limit=1');
    assert.deepEqual([await counted('?state=dead'), newest], ['2 deliveries', 'The newest 1 delivery']);
    const placed = ['Webhook of operator', 'All *', 'All order.*', 'All order.placed'];
    assert.deepEqual(await rows('/webhooks?event=order.placed'), placed);
    for (const [path, label] of [
      ['/event-types', '4 webhooks'],
      [`/event-types/${ids.operator['event-types']}`, 'and 1 more'],
    ])
      assert.ok(
        (await request(`${service.url}${path}`, { token: operator })).text.includes(
          `<a href="/webhooks?event=order.placed">${label}</a>`,
        ),
      );
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
    const { portal } = await startDeliverPortal(t);
    const { token } = await newSession(portal.service, 'administrator');
    for (const path of paths) {
      const reply = await request(portal.url + path, { token, form: {} });
      assert.equal(reply.status, 404, path);
      assert.match(reply.text, /There is nothing here/, path);
    }
  });
});

describe('the times of a page', () => {
  it('are all local, also below one that is due within a second', async (t) => {
    const { openAs } = await startDeliverPortal(t);
    const { page } = await openAs('viewer', '/webhooks');
    await page.evaluate(`(() => {
      const at = new Date(Date.now() + 500).toISOString();
      const time = (local, text) => '<time datetime="' + at + '" data-local="' + local + '">' + text + '</time>';
      const target = document.querySelector('.lead');
      htmx.swap({ sourceElement: target, target, swap: 'innerHTML', text: time('brief', 'in 0 s') + time('short', 'UTC') });
    })()`);
    const times = page.locator('.lead time');
    await times.filter({ hasText: 'due now' }).waitFor();
    assert.match((await times.nth(1).textContent()) ?? '', /^\d\d:\d\d:\d\d/);
  });
});
