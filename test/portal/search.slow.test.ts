/** The search over everything, and the keyboard shortcuts, in a real browser. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { AcceptedView } from '../../src/events/publish.ts';
import { navigationOf } from '../../src/portal/frame/navigation.ts';
import { ACTIONS, actionsIn, CREATIONS, creationsIn, STARTS } from '../../src/portal/search/search-actions.ts';
import { SEARCH_PER_KIND } from '../../src/portal/search/search-pages.ts';
import { OTHER_WORDS, pathOf } from '../../src/portal/search/search-words.ts';
import { succeeded } from '../support/client.ts';
import { makeCustomer, sessionOf } from '../support/customers.ts';
import { MARKUP, startDeliverPortal } from '../support/deliver-portal.ts';
import { until } from '../support/dispatching.ts';
import { deliveriesOf, makeEndpoint, makeEventType, makeWebhook, publish, startWebhook } from '../support/journey.ts';
import { portalPages } from '../support/portal-pages.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

/** The background of an element without one. */
const NONE = 'rgba(0, 0, 0, 0)';

/** Without the marks of the words. */
/** The row with which a customer's search ends. */
function searchOf(text: string): string {
  return `Search deliveries for “${text}” /deliveries?${new URLSearchParams({ q: text })}`;
}

function hitsIn(page: string): string {
  const [, found = ''] = /<div class="search-hits"(.*?)<\/main>/s.exec(page) ?? [];
  return found.replaceAll(/<\/?mark>/g, '');
}

describe('the search', () => {
  it('opens by Ctrl K, finds by name and id, and works with the keyboard only', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    const endpoint = await makeEndpoint(admin, receiver.endpoint('/shop'), { name: 'Corner shop' });
    const webhook = await makeWebhook(admin, endpoint, ['order.*'], { name: `Orders ${MARKUP}` });
    await publish(admin, 'order.created', {});
    const { page, isAccessible } = await openAs('viewer', '/');
    await page.keyboard.press('Control+k');
    const field = page.getByRole('searchbox', { name: 'Find anything' });
    // Before anything is typed: what people often do, the first one marked.
    const first = page.locator('#search-results a').first().filter({ hasText: 'Failures by cause' });
    await first.waitFor();
    assert.notEqual(
      await first.evaluate('getComputedStyle(document.querySelector("#search-results a")).backgroundColor'),
      NONE,
    );
    await isAccessible();
    await field.pressSequentially('ORDER');
    const hits = page.locator('#search-results a');
    // Not the hits of the first letters, which would be replaced under the arrow keys.
    await page.locator('#search-results [data-searched="ORDER"]').waitFor();
    await hits.filter({ hasText: 'order.created' }).waitFor();
    const groups = (await page.locator('.search-group-name').allInnerTexts()).filter(
      (name) => name !== 'Documentation',
    );
    assert.deepEqual(groups, ['Webhooks', 'Event types']);
    assert.deepEqual(await hits.first().locator('mark').allInnerTexts(), ['Order', 'order']);
    await isAccessible();
    const active = async (): Promise<string> => String(await page.evaluate('document.activeElement.textContent'));
    // The first one is marked already.
    await page.keyboard.press('ArrowDown');
    assert.match(await active(), /order\.created/);
    await page.keyboard.press('Home');
    assert.match(await active(), /Orders/);
    // Typing goes on in the field, and the arrow up from there leads to the last one.
    await page.keyboard.press('S');
    assert.equal(await field.inputValue(), 'ORDERS');
    await page.keyboard.press('Backspace');
    await page.locator('#search-results [data-searched="ORDER"]').waitFor();
    await page.keyboard.press('ArrowUp');
    assert.equal(await active(), await hits.last().textContent());
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/webhooks/${webhook.id}$`));

    await page.keyboard.press('/');
    await field.fill(endpoint.id.toUpperCase());
    await hits.filter({ hasText: 'Corner shop' }).waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await field.isVisible(), false);

    const [delivery] = await deliveriesOf(admin, webhook);
    await page.keyboard.press('Control+k');
    await field.fill(delivery?.id ?? '');
    await hits.filter({ hasText: delivery?.id ?? '' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/deliveries/${delivery?.id}$`));

    // Enter before the hits are there waits for them.
    await page.keyboard.press('Control+k');
    await page.locator('#search-results [data-searched=""]').waitFor();
    const dialog = page.locator('#search-dialog');
    assert.equal(await dialog.getAttribute('data-stale'), null);
    await page.route('**/search?*q=settings*', async (route) => {
      // Until then the hits of the earlier text are not marked as those that Enter opens.
      assert.equal(await dialog.getAttribute('data-stale'), '');
      await route.continue();
    });
    await field.fill('settings');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/settings$/);
    await page.unroute('**/search?*q=settings*');
  });

  it('is a page without JavaScript, says when nothing was found, and finds pages', async (t) => {
    const { openAs } = await startDeliverPortal(t);
    const { page, open } = await openAs('viewer', '/', { isBrowserless: true });
    await page.getByRole('link', { name: 'Search' }).click();
    await page.getByRole('searchbox').first().fill('settings');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.locator('.search-hits').getByRole('link', { name: 'Settings', exact: true }).click();
    await page.waitForURL(/settings$/);
    await open(`/search?q=${encodeURIComponent(MARKUP)}`);
    await page.getByText(`Nothing found for “${MARKUP}”.`).waitFor();
  });

  it('shows a few of each kind', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    const at = receiver.endpoint('/in');
    for (let count = 0; count <= SEARCH_PER_KIND; count += 1) await makeEndpoint(admin, at, { name: `Shop ${count}` });
    const { page } = await openAs('viewer', '/search?q=shop', { isBrowserless: true });
    assert.equal(await page.locator('.page .search-hits a[href^="/endpoints/"]').count(), SEARCH_PER_KIND);
  });

  it('finds deliveries by values of their data, actions by what they do, and the documentation', async (t) => {
    const service = await startService(t);
    const { admin } = service;
    await succeeded(admin.post('event-types', { name: 'order.created', searchPaths: ['data.orderId'] }));
    const [mine, other] = [await makeCustomer(service), await makeCustomer(service)];
    const { id } = await succeeded<{ id: string }>(
      mine.api.post('endpoints', { name: 'Production', url: 'https://127.0.0.1:1/in' }),
    );
    await succeeded(mine.api.post('webhooks', { name: 'Orders', endpointId: id, eventTypes: ['order.created'] }));
    const published = { type: 'order.created', data: { orderId: 4711 }, customerId: mine.id };
    const { events } = await succeeded<AcceptedView>(admin.post('events', { events: [published] }));
    service.advance(60_000);
    const { token } = await newSession(service, 'administrator');
    const viewer = (await newSession(service, 'viewer')).token;
    const hits = async (text: string, as = token): Promise<string[]> => {
      const page = await request(`${service.url}/search?${new URLSearchParams({ q: text })}`, { token: as });
      return [...hitsIn(page.text).matchAll(/<li>\s*<a href="([^"]*)"/g)].map(([, href = '']) => href);
    };
    await until('the value to be kept', async () => (await hits('4711')).length > 0);
    assert.deepEqual(await hits('4711'), ['/deliveries?q=4711', `/events/${events[0]?.id}`]);
    assert.deepEqual(await hits('4711', await sessionOf(service, mine, 'user')), ['/deliveries?q=4711']);
    const ofOther = await request(`${service.url}/search?q=4711`, { token: await sessionOf(service, other, 'user') });
    assert.doesNotMatch(ofOther.text, /Deliveries with/);
    const list = await request(`${service.url}/deliveries?q=4711`, { token: await sessionOf(service, mine, 'user') });
    assert.match(list.text, /order\.created/);
    // The event has deliveries, but none in this state.
    const dead = '/deliveries?q=4711+state%3Adead';
    const none = await request(service.url + dead, { token });
    assert.match(none.text, new RegExp(`<a [^>]*href="/events/${events[0]?.id}"[^>]*>.*See why`, 's'));
    const theirs = await request(service.url + dead, { token: await sessionOf(service, mine, 'user') });
    assert.doesNotMatch(theirs.text, /See why|\/events\//);

    const rotate = `/endpoints/${id}/rotate-secret`;
    assert.equal((await hits('rotate secret of Production'))[0], rotate);
    assert.deepEqual(
      (await hits('rotate secret of Production', viewer)).filter((href) => href === rotate),
      [],
    );
    assert.ok(!(await hits('rotate secret production', await sessionOf(service, other, 'user'))).includes(rotate));
    assert.ok((await hits('rotate', await sessionOf(service, mine, 'user'))).includes(rotate));
    assert.ok(!(await hits('rotate', await sessionOf(service, other, 'user'))).includes(rotate));
    assert.equal((await hits('new webhook'))[0], '/webhooks/new');
    assert.ok((await hits('rotate secrets')).some((href) => href.startsWith('/docs/')));
  });

  it('offers an action in its first line only on the page, and to people who may do it', async (t) => {
    const service = await startService(t);
    const { admin } = service;
    await makeEventType(admin, 'order.created');
    const { id } = await succeeded<{ id: string }>(
      admin.post('endpoints', { name: 'Shop', url: 'https://127.0.0.1:1/in' }),
    );
    await makeWebhook(admin, { id }, ['order.*'], { name: 'Orders' });
    const read = async (role: 'viewer' | 'operator', headers: Readonly<Record<string, string>> = {}) => {
      const { token } = await newSession(service, role);
      return (await request(`${service.url}/search`, { token, headers })).text;
    };
    assert.match(
      await read('operator'),
      /Finds pages, names, ids and values of events\. Actions work too: “start Orders”\./,
    );
    const viewers = await read('viewer');
    assert.match(viewers, /Finds pages, names, ids and values of events\./);
    assert.doesNotMatch(viewers, /Actions work too/);
    assert.doesNotMatch(await read('operator', { 'hx-request': 'true' }), /Finds pages/);
  });

  it('leads to the button of an action, and only while it is possible', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    const endpoint = await makeEndpoint(admin, receiver.endpoint('/shop'), { name: 'Corner shop' });
    const webhook = await makeWebhook(admin, endpoint, ['order.*'], { name: 'Orders' });
    await startWebhook(admin, webhook);
    const { page } = await openAs('operator', '/');
    const field = page.getByRole('searchbox', { name: 'Find anything' });
    const choose = async (text: string, label: string): Promise<void> => {
      await page.keyboard.press('Control+k');
      await field.fill(text);
      await page.locator('#search-results a').first().filter({ hasText: label }).waitFor();
      await page.keyboard.press('Enter');
    };
    await choose('stop Orders', 'Stop Orders');
    await page.waitForURL(new RegExp(`/webhooks/${webhook.id}#stop-button$`));
    assert.equal(await page.evaluate('document.activeElement.id'), 'stop-button');
    await page.keyboard.press('Enter');
    await page.getByText('The webhook is stopped.').waitFor();
    // On the page itself, the dialog makes way.
    await choose('resume orders', 'Start Orders');
    await page.waitForURL(/#start-button$/);
    assert.equal(await field.isVisible(), false);
    assert.equal(await page.evaluate('document.activeElement.id'), 'start-button');
    await page.keyboard.press('Control+k');
    await field.fill('stop orders');
    await page.getByText('Nothing found for “stop orders”.').waitFor();
  });

  it('finds deliveries by subject, and whose the object of an action is', async (t) => {
    const service = await startService(t);
    const { admin } = service;
    await makeEventType(admin, 'order.created');
    const mine = await makeCustomer(service);
    const other = await makeCustomer(service);
    const { id } = await succeeded<{ id: string }>(
      mine.api.post('endpoints', { name: 'Shop', url: 'https://127.0.0.1:1/in' }),
    );
    const webhook = await succeeded<{ id: string }>(
      mine.api.post('webhooks', { name: 'Parcels', endpointId: id, eventTypes: ['order.created'] }),
    );
    const of = (subject: string) => ({ type: 'order.created', subject, data: {}, customerId: mine.id });
    await succeeded(admin.post('events', { events: [of('order-42'), of('Ada 500')] }));
    const { token } = await newSession(service, 'operator');
    const search = async (text: string, as: string): Promise<string> => {
      const { text: page } = await request(`${service.url}/search?${new URLSearchParams({ q: text })}`, { token: as });
      return hitsIn(page);
    };
    const theirs = await sessionOf(service, mine, 'user');
    assert.match(await search('order-42', token), /href="\/deliveries\?q=order-42".*by subject/s);
    const found = /href="(\/deliveries[^"]*)"/.exec(await search('Ada 500', token))?.[1] ?? assert.fail();
    assert.match((await request(service.url + found, { token })).text, /class="[^"]*"[^>]*>\s*Ada 500/);
    assert.equal(await search('order-43', token), '');
    // A customer's search has no index for subjects, and leads to the list.
    assert.match(
      await search('order-42', theirs),
      /href="\/deliveries\?q=order-42".*Search deliveries for “order-42”/s,
    );

    const start = new RegExp(`href="/webhooks/${webhook.id}#start-button".*Start Parcels · customer-`, 's');
    assert.match(await search('start Parcels', token), start);
    assert.match(await search('send test to Parcels', token), /#test-button".*Send a test event through Parcels/s);
    assert.match(await search('start parcels', theirs), /#start-button".*Start Parcels</s);
    const viewer = (await newSession(service, 'viewer')).token;
    for (const as of [viewer, await sessionOf(service, other, 'user')]) {
      for (const text of ['start Parcels', 'send test to Parcels', 'disable Shop']) {
        assert.doesNotMatch(await search(text, as), /-button/, text);
      }
    }
    assert.doesNotMatch(await search('stop Parcels', token), /-button/);
    assert.doesNotMatch(await search('disable Shop', token), /-button/, 'only administrators switch endpoints');
  });

  it('finds the resources of a customer by its name, and begins with problems and actions', async (t) => {
    const service = await startService(t);
    await makeEventType(service.admin, 'order.created');
    const [mine, other] = [await makeCustomer(service, 'Bolt Hardware'), await makeCustomer(service, 'Acme')];
    const made = async (path: string, body: object) => (await succeeded<{ id: string }>(mine.api.post(path, body))).id;
    const endpointId = await made('endpoints', { name: 'Shop backend', url: 'https://127.0.0.1:1/in' });
    const id = await made('webhooks', { name: 'Orders', endpointId, eventTypes: ['order.created'] });
    const { token } = await newSession(service, 'administrator');
    const labels = async (text: string, as = token): Promise<string[]> => {
      const page = await request(`${service.url}/search?${new URLSearchParams({ q: text })}`, { token: as });
      return [...hitsIn(page.text).matchAll(/<a href="([^"]*)">.*?class="search-name">([^<]*)</gs)].map(
        ([, href = '', label = '']) => `${label} ${href}`,
      );
    };
    const [orders, shop] = [
      `Orders · Bolt Hardware /webhooks/${id}`,
      `Shop backend · Bolt Hardware /endpoints/${endpointId}`,
    ];
    const bolt = await labels('bolt');
    assert.deepEqual(bolt.slice(0, 3), [`Bolt Hardware /customers/${mine.id}`, orders, shop]);
    assert.deepEqual(await labels('orders bolt'), [orders]);
    assert.equal((await labels('publish'))[0], 'Publish an event /publish');
    const firsts = [
      ['portal link for bolt hardware', `Create a portal link for Bolt Hardware /customers/${mine.id}/portal-link`],
      ['open as bolt', `Open as Bolt Hardware /customers/${mine.id}#open-button`],
      ['new endpoint for bolt', `New endpoint for Bolt Hardware /endpoints/new?customer=${mine.id}`],
      ['publish for bolt', `Publish an event for Bolt Hardware /publish?customer=${mine.id}`],
      ['delete bolt', `Delete Bolt Hardware /customers/${mine.id}/delete`],
      [`rotate secret shop bolt`, `New secret for Shop backend · Bolt Hardware /endpoints/${endpointId}/rotate-secret`],
    ] as const;
    for (const [text, first] of firsts) assert.equal((await labels(text))[0], first);
    const page = await request(`${service.url}/customers/${mine.id}`, { token });
    assert.match(page.text, /id="open-button"/);
    const start = await labels('');
    assert.deepEqual(start.slice(0, 2), ['Failures by cause /deliveries/failures', 'Publish an event /publish']);

    // Customers are not found by their names in their own portals, and are offered nothing that is the operator's.
    for (const customer of [mine, other]) {
      const theirs = await sessionOf(service, customer, 'user');
      for (const text of ['bolt', 'open as bolt', 'new endpoint for bolt', 'publish']) {
        assert.deepEqual(
          (await labels(text, theirs)).filter((label) => /Bolt|customer|publish/i.test(label)),
          [searchOf(text)],
          text,
        );
      }
      const starts = (await labels('', theirs)).join();
      assert.doesNotMatch(starts, /customer|publish/i);
      assert.match(starts, /Register an application \/applications\/new,Guide \/guide/);
      // Pages have the names that the navigation of this portal shows.
      assert.deepEqual((await labels('event cat', theirs))[0], 'Event catalogue /event-types');
      assert.ok((await labels('guide', theirs)).includes('Guide /guide'));
      const api = await request(`${service.url}/search?q=api`, { token: theirs });
      assert.doesNotMatch(api.text, /API Management/);
    }
  });

  it('recognises what an action is done to', () => {
    const cases: readonly (readonly [text: string, ...found: string[]])[] = [
      ['stop Orders', 'webhook orders'],
      ['start the webhook Orders', 'webhook orders'],
      ['send test to Orders', 'webhook orders'],
      ['send a test event to Test shop', 'webhook test shop'],
      ['revoke tokens of Stock sync', 'application stock sync'],
      ['rotate secret of Production', 'endpoint production', 'application production'],
      ['Production rot sec', 'endpoint production', 'application production'],
      ['suspend Bolt Hardware', 'customer bolt hardware'],
      ['publish order.created', 'event-type order.created', 'customer order.created'],
      ['publish for Bolt', 'event-type bolt', 'customer bolt'],
      ['portal link for Bolt Hardware', 'customer bolt hardware'],
      ['invite Bolt', 'customer bolt'],
      ['open as Bolt', 'customer bolt'],
      ['new endpoint for Bolt', 'customer bolt'],
      ['link for Acme', 'customer acme'],
      // Without a name, of any.
      ['rotate secret', 'endpoint ', 'application '],
      ['rotate', 'endpoint ', 'endpoint ', 'application '],
      ['stop a webhook', 'webhook '],
      ['stop user'],
      ['secret'],
      ['Production'],
      ['of the secret'],
    ];
    for (const [text, ...found] of cases) {
      assert.deepEqual(
        actionsIn(text).map(({ action, name }) => `${action.kind} ${name}`),
        found,
        text,
      );
    }
    const created = (text: string): string[] => creationsIn(text).map(({ page }) => page);
    assert.deepEqual(created('add customer'), ['/customers/new']);
    assert.deepEqual(created('new event type'), ['/event-types/new']);
    assert.deepEqual([created('pub'), created('invite')], [['/publish'], ['/users/new']]);
    assert.deepEqual(
      created('new'),
      CREATIONS.map(({ page }) => page),
    );
    assert.deepEqual([created('customer'), created('new thing'), created('new webhook shop')], [[], [], []]);
  });

  it('has actions only with pages', () => {
    const paths = new Set(portalPages().map(({ path }) => path));
    for (const { page } of [...ACTIONS, ...CREATIONS, ...STARTS]) assert.ok(paths.has(page), page);
  });
});

describe('the words of the specification', () => {
  const wanted: readonly (readonly [word: string, path: string])[] = [
    ['API Management', '/applications'],
    ['Endpoint Management', '/endpoints'],
    ['Key Management (Report Encryption Keys)', '/keys'],
    ['Report Encryption Keys', '/keys'],
    ['Imports and Feeds', '/keys'],
    ['Regenerate', '/applications'],
    ['Access Token Validity Period', '/applications/new#field-accessTokenValiditySeconds'],
    ['Token Expiration', '/endpoints/new#field-oauth-tokenExpirationMinutes'],
    ['OAuth  token expiration', '/endpoints/new#field-oauth-tokenExpirationMinutes'],
    ['callback', '/endpoints'],
    ['callbacks', '/endpoints'],
  ];

  it('lead to pages and fields, in both portals and by Ctrl K', async (t) => {
    const service = await startService(t);
    const customer = await makeCustomer(service);
    const operator = (await newSession(service, 'administrator')).token;
    const viewer = (await newSession(service, 'viewer')).token;
    const table = [...wanted, ...OTHER_WORDS.map((one) => [one.word, pathOf(one, true)] as const)];
    for (const token of [operator, await sessionOf(service, customer, 'link')]) {
      for (const [word, path] of table) {
        const query = new URLSearchParams({ q: word, dialog: '1' });
        const { text } = await request(`${service.url}/search?${query}`, { token, headers: { 'HX-Request': 'true' } });
        assert.ok(text.includes(`<a href="${path}">`), `${word}: ${text}`);
        const [page = '', field] = path.split('#');
        const form = await request(service.url + page, { token });
        assert.equal(form.status, 200);
        if (field !== undefined) assert.ok(form.text.includes(`id="${field}"`), path);
      }
    }
    // A viewer cannot open forms.
    const { text } = await request(`${service.url}/search?q=token+expiration`, { token: viewer });
    assert.ok(text.includes('<a href="/endpoints">'), text);
    assert.ok(!text.includes('/new#'));
  });

  it('have a row in the glossary with the page or field, which the documentation finds', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'viewer');
    const glossary = readFileSync(new URL('../../docs/glossary.md', import.meta.url), 'utf8');
    const pages = navigationOf(() => true).flatMap(({ items }) => items);
    for (const { word, page, field } of OTHER_WORDS) {
      const row = glossary.split('\n').find((line) => line.startsWith(`| **${word}** |`)) ?? assert.fail(word);
      const label = pages.find(({ path }) => path === page)?.label;
      assert.ok(row.includes(`*${field?.label ?? label}*`), row);
      const found = await request(`${service.url}/docs/search?${new URLSearchParams({ q: word })}`, { token });
      assert.match(found.text, /href="\/docs\/glossary\.md/, word);
    }
  });
});

const GROUPS_OF_KEYS = ['Go to', 'Lists', 'Deliveries', 'General'];

describe('keyboard shortcuts', () => {
  it('are listed at “?”, and go to pages, except while someone types', async (t) => {
    const { openAs } = await startDeliverPortal(t);
    const { page, isAccessible } = await openAs('viewer', '/');
    await page.keyboard.press('?');
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await list.getByText('Webhooks').waitFor();
    assert.deepEqual(await list.getByRole('heading', { level: 3 }).allInnerTexts(), GROUPS_OF_KEYS);
    await isAccessible();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('w');
    await page.waitForURL(/webhooks$/);
    await page.keyboard.press('g');
    await page.keyboard.press('e');
    await page.waitForURL(/endpoints$/);
    await page.keyboard.press('g');
    await page.keyboard.press('u');
    await page.waitForURL(/users$/);
    await page.getByLabel('Name').first().pressSequentially('g?/w');
    assert.equal(await list.isVisible(), false);
    await page.waitForURL(/users\?q=/);
  });
});
