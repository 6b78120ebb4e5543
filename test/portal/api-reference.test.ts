/** The API reference for the developers of customers: only calls that their programs may make, and no link that leads nowhere. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CUSTOMER_SCOPES } from '../../src/access/built-in.ts';
import { succeeded } from '../support/client.ts';
import { makeCustomer, sessionOf } from '../support/customers.ts';
import { OPERATORS_WORDS } from '../support/operators-words.ts';
import { request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

const VERBS =
  'Acknowledge Change Create Delete Download Get Give Invite List Publish Read Replace Revoke Send Start Stop Try Verify';
const VERB_FIRST = new RegExp(`^(${VERBS.replaceAll(' ', '|')}) [^,;.]{3,50}$`);

it('the API reference of a customer', async (t) => {
  const service = await startService(t);
  const product = {
    name: 'Shop',
    scopes: [
      { name: 'orders:view', description: 'See orders.', offered: true },
      { name: 'orders:margin', description: 'See margins.' },
    ],
    rules: [
      { methods: ['GET'], path: '/shop/orders', scope: 'orders:view' },
      { methods: ['GET'], path: '/shop/margins', scope: 'orders:margin' },
    ],
  };
  await succeeded(service.admin.post('products', product));
  const token = await sessionOf(service, await makeCustomer(service), 'user');
  const open = (path: string) => request(service.url + path, { token });
  const { status, text } = await open('/api-reference');
  const main = /<main[\s\S]*<\/main>/.exec(text)?.[0] ?? '';
  const ids = new Set(Array.from(text.matchAll(/ id="([^"]+)"/g), ([, id = '']) => id));

  await t.test('has what customers may call, and nothing else', () => {
    assert.equal(status, 200);
    for (const id of ['listWebhooks', 'publishEvents', 'issueToken', 'readWebhookRecords']) assert.ok(ids.has(id), id);
    for (const id of ['listCustomers', 'createEventType', 'eraseEvents', 'listProducts', 'getMetrics'])
      assert.ok(!ids.has(id), id);
    for (const scope of CUSTOMER_SCOPES) assert.ok(ids.has(`scope-${scope.replace(':', '-')}`), scope);
    for (const no of ['customers:view', 'events:erase', 'orders:margin', '/shop/margins'])
      assert.ok(!main.includes(no), no);
    assert.match(main.replaceAll('<wbr>', ''), /orders:view[\s\S]*\/shop\/orders/);
  });

  await t.test('has no word of the operator', () => {
    const told = main.replaceAll(/<code>operator<\/code>/g, '');
    assert.deepEqual(told.match(/customer|operator|Sallyport|employee/gi), null);
    assert.deepEqual(OPERATORS_WORDS.exec(told), null);
  });

  await t.test('has only links that lead somewhere', async () => {
    const links = new Set(Array.from(main.matchAll(/href="([^"]+)"/g), ([, href = '']) => href));
    assert.ok(links.size > 100);
    for (const link of links) {
      const [path = '', anchor] = link.split('#');
      if (path === '' || path === '/api-reference') assert.ok(ids.has(anchor ?? ''), link);
      else assert.equal((await open(path)).status, 200, link);
    }
  });

  await t.test('has each id once, and a page of a moderate size', () => {
    const all = Array.from(main.matchAll(/ id="([^"]+)"/g), ([, id]) => id);
    assert.equal(new Set(all).size, all.length);
    assert.ok(text.length < 350_000, String(text.length));
  });

  await t.test('finds calls by all words of their name, path and scope, and has their scopes', async () => {
    const found = async (q: string) => {
      const { text } = await open(`/api-reference?${new URLSearchParams({ q })}`);
      const calls = Array.from(text.matchAll(/<details class="api-call"( open)?>[\s\S]*?<h3>([^<]+)</g));
      return { text, names: calls.map(([, isOpen, name]) => `${name}${isOpen ?? ''}`) };
    };
    const one = await found('CREATE webhook');
    assert.deepEqual(one.names, ['Create a webhook open']);
    assert.match(one.text, /id="scope-webhooks-manage"/);
    assert.doesNotMatch(one.text, /id="scope-webhooks-view"|id="token"/);
    const { names } = await found('deliveries:view');
    assert.deepEqual(names, [
      'List the ordering keys that wait open',
      'List deliveries open',
      'Read a delivery and its attempts open',
    ]);
    assert.match((await found('orders:view')).text, /Further APIs|Your own APIs/);
    assert.match((await found('no such call')).text, /Nothing found/);
  });

  await t.test('has true samples, and names that are short and begin with a verb', () => {
    const call = (id: string) =>
      main
        .slice(main.indexOf(`id="${id}"`))
        .split('</details>\n')
        .at(0) ?? '';
    const stateOf = (id: string) => /&quot;state&quot;: &quot;(\w+)&quot;/.exec(call(id))?.[1];
    assert.deepEqual(['createWebhook', 'startWebhook', 'stopWebhook'].map(stateOf), ['stopped', 'started', 'stopped']);
    for (const [, name = ''] of main.matchAll(/<h3>([^<]+)</g)) assert.match(name, VERB_FIRST);
    assert.ok(!main.includes('[^\\'), 'no pattern of texts');
  });

  await t.test('offers the same as an OpenAPI document', async () => {
    const { status, headers, text } = await open('/downloads/openapi.json');
    assert.deepEqual([status, headers.get('content-type')], [200, 'application/json']);
    const { servers, paths } = JSON.parse(text) as { servers: unknown; paths: Record<string, unknown> };
    assert.deepEqual(servers, [{ url: service.url }]);
    assert.ok('/services/api/x/edge/v1/webhooks' in paths && !('/services/api/x/edge/v1/customers' in paths));
  });

  await t.test('is linked from the applications and their form, which say what scopes open', async () => {
    assert.match((await open('/applications')).text, /href="\/api-reference"/);
    const form = (await open('/applications/new')).text;
    assert.match(form, /href="\/api-reference\?q=deliveries%3Aview">Opens 3 calls/);
    assert.doesNotMatch(form, /<input[^>]* checked/);
    const preset = (await open('/applications/new?preset=deliveries')).text;
    const ticked = Array.from(preset.matchAll(/value="([^"]+)" checked/g), ([, scope]) => scope);
    assert.deepEqual(ticked, ['endpoints:view', 'webhooks:view', 'deliveries:view']);
    assert.doesNotMatch(form, /It acts as your default account/);
    const typed = { name: 'Sync', scopes: 'deliveries:view', accessTokenValiditySeconds: '3600' };
    await request(`${service.url}/applications/new`, { token, form: typed });
    const id = /href="\/applications\/([0-9a-f-]{36})"/.exec((await open('/applications')).text)?.[1];
    const { text } = await open(`/applications/${id}`);
    assert.match(text, /href="\/api-reference#listDeliveries"/);
    assert.match(text, /grant_type=client_credentials/);
  });
});
