/** Publishing an event by hand, sending a sample through one webhook, and the catalogue that receivers read. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { DeliveryView } from '../../src/webhooks/deliveries.ts';
import { succeeded } from '../support/client.ts';
import { created } from '../support/customers.ts';
import { MARKUP, startDeliverPortal } from '../support/deliver-portal.ts';
import { connect, makeEndpoint, makeWebhook } from '../support/journey.ts';
import { startHistory } from '../support/portal-history.ts';
import { request } from '../support/portal-requests.ts';

const SAMPLE = { orderId: 17, total: 129.5, note: MARKUP };
const SCHEMA = {
  type: 'object',
  required: ['orderId'],
  properties: { orderId: { type: 'integer' }, total: { type: 'number' }, note: { type: 'string' } },
};

async function start(t: TestContext) {
  const portal = await startDeliverPortal(t);
  const { admin } = portal;
  const type = { name: 'order.placed', description: 'An order was placed.', group: 'Orders' };
  const { id } = await succeeded<{ id: string }>(
    admin.post('event-types', { ...type, sample: SAMPLE, dataSchema: SCHEMA }),
  );
  const journey = { service: portal.portal.service, admin, receiver: portal.receiver };
  return { ...portal, typeId: id, journey };
}

type Body = {
  readonly test?: boolean;
  readonly records: readonly { readonly offset: number; readonly value: Readonly<Record<string, unknown>> }[];
};

describe('publishing in the portal', () => {
  it('fills in the sample, shows problems at their place, and leads to the deliveries', async (t) => {
    const { openAs, admin, journey, typeId } = await start(t);
    const { at, webhook } = await connect(journey, ['order.*'], { webhook: { name: 'Orders' } });
    const { page, isAccessible } = await openAs('operator', `/event-types/${typeId}`, { expecting: [400] });
    await page.getByRole('link', { name: 'Publish an event' }).click();
    const data = page.locator('textarea[name="data"]');
    assert.deepEqual(JSON.parse(await data.inputValue()), SAMPLE);
    await page.getByText('It must satisfy the schema of order.placed.').waitFor();
    // Beside the choice that it depends on.
    const groups = page.locator('.form-summary, fieldset');
    assert.match((await groups.first().innerText()).replace(/\s+/g, ' '), /^Who gets it Goes to Orders\.$/);
    await isAccessible();
    const publish = page.getByRole('button', { name: 'Publish the event' });
    await data.fill('{"orderId": "17"}');
    await publish.click();
    await page.locator('#field-data-problem').getByText('orderId must be an integer').waitFor();
    await data.fill('{"orderId": 17,\n "total": }');
    await publish.click();
    await page
      .locator('#field-data-problem')
      .getByText('Data is not JSON: unexpected "}" at line 2, column 11')
      .waitFor();
    assert.deepEqual((await succeeded<{ items: unknown[] }>(admin.get('deliveries'))).items, []);
    await data.fill('{"orderId": 18}');
    await page.getByText('Goes to Orders.').waitFor();
    await page.getByText('Subject, ordering key and correlation id').click();
    await page.getByLabel('Subject', { exact: false }).fill('person-7');
    await page.getByLabel('Correlation id').fill('by-hand');
    await publish.click();
    await page.getByText('order.placed is published.').waitFor();
    await isAccessible();
    await journey.service.log.nextAttempt(webhook.id);
    const [record] = at.deliveries.flatMap(({ records }) => records);
    assert.deepEqual(
      [record?.eventType, record?.data, record?.correlationId],
      ['order.placed', { orderId: 18 }, 'by-hand'],
    );
    // The page follows the deliveries.
    await page.getByRole('heading', { name: '1 delivered' }).waitFor();
    await page.getByRole('link', { name: 'Orders', exact: true }).click();
    await page.waitForURL('**/deliveries/*');
    const { items } = await succeeded<{ items: DeliveryView[] }>(admin.get('deliveries'));
    assert.equal(items.length, 1);
  });

  it('works without the script, once even if the form is sent twice, and says if no webhook got the event', async (t) => {
    const { openAs, admin } = await start(t);
    const { page, context } = await openAs('operator', '/publish', { isScriptless: true });
    await page.getByLabel('Event type').selectOption('order.placed');
    await page.getByRole('button', { name: 'Load its sample' }).click();
    await page.getByText('Nobody would get it: no webhook subscribes to its type.').waitFor();
    const fields = await page
      .locator('form[method="post"]')
      .last()
      .locator('[name]')
      .evaluateAll((all) => all.map((one) => [one.getAttribute('name'), (one as unknown as { value: string }).value]));
    await page.getByRole('button', { name: 'Publish the event' }).click();
    await page.getByText('Nobody got it').waitFor();
    const again = await context.request.post(new URL('/publish', page.url()).href, {
      form: Object.fromEntries(fields) as Record<string, string>,
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    assert.equal(again.url(), page.url());
    // Events are not audited, regardless of their publisher.
    const { items } = await succeeded<{ items: { action: string }[] }>(admin.get('audit?limit=200'));
    assert.ok(!items.some(({ action }) => action.startsWith('event.')));
  });

  it('offers no types that only the service publishes, and is not for viewers', async (t) => {
    const { openAs, typeId } = await start(t);
    const { page, open } = await openAs('operator', '/publish', { isBrowserless: true, expecting: [403, 400] });
    const offered = await page
      .getByLabel('Event type')
      .locator('option')
      .evaluateAll((all) => all.map((one) => one.getAttribute('value')));
    assert.deepEqual(offered, ['', 'employee.created', 'employee.updated', 'order.placed']);
    await open('/publish?type=webhook.started');
    assert.equal(await page.getByRole('button', { name: 'Publish the event' }).count(), 0);
    const viewer = await openAs('viewer', `/event-types/${typeId}`, { isBrowserless: true, expecting: [403] });
    assert.equal(await viewer.page.getByRole('link', { name: 'Publish an event' }).count(), 0);
    assert.equal(await viewer.page.getByRole('button', { name: 'Send the test event' }).count(), 0);
    assert.equal(await viewer.open('/publish'), 403);
  });
});

describe('an event for someone', () => {
  it('goes to whom the form says, and its page tells every subscribed webhook that did not get it why', async (t) => {
    const { service, sessions, ids } = await startHistory(t);
    const { admin } = service;
    const acme = ids.operator.customers ?? '';
    const bolt = await created(admin, 'customers', { name: 'Bolt', externalId: 'bolt-1' });
    const webhook = async (name: string, customerId: string | null, more = {}) => {
      const at = { name: `at ${name}`, url: 'https://in.example/', enabled: false, customerId };
      const endpoint = await created(admin, 'endpoints', at);
      const body = { name, customerId, endpointId: endpoint.id, eventTypes: ['order.shipped'], ...more };
      return created(admin, 'webhooks', body);
    };
    await webhook('Large orders', null, { filter: { 'data.total': { $gte: 100 } } });
    await webhook('Of Bolt', bolt.id);
    const send = async (fields: Readonly<Record<string, string>>) => {
      const form = { type: 'order.shipped', data: '{"total": 50}', idempotencyKey: crypto.randomUUID(), ...fields };
      const reply = await request(`${service.url}/publish`, { token: sessions.operator, form });
      if (reply.status !== 303) return reply;
      return request(`${service.url}${reply.headers.get('location')}`, { token: sessions.operator });
    };
    const textOf = ({ text }: { readonly text: string }) =>
      text
        .slice(text.indexOf('<main'))
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ');

    const form = await request(`${service.url}/publish?type=order.shipped`, { token: sessions.operator });
    assert.match(textOf(form), /Any JSON object: order\.shipped has no schema\./);
    const foretell = async (fields: Readonly<Record<string, string>>) => {
      const sent = { type: 'order.shipped', data: '{"total": 50}', ...fields };
      return textOf(await request(`${service.url}/publish/preview`, { token: sessions.operator, form: sent }));
    };
    assert.match(
      await foretell({ for: 'own' }),
      /Nobody would get it\. \d other subscribed webhooks do not\. Why.* acme · Acme ?[,:].*: The event names no customer\./,
    );
    const forAcme = { for: 'customer', customer: 'acme', data: '{"of": "acme", "total": 500}' };
    assert.match(
      await foretell(forAcme),
      /Waits at Webhook of acme · Acme, which is failing; waits at Large orders · Your company, until started\./,
    );
    assert.match(await foretell({ for: 'customer' }), /Choose a customer/);
    assert.match(await foretell({ data: '{' }), /The data is not JSON yet\./);
    const own = textOf(await send({ for: 'own' }));
    assert.match(own, /For Only your company/);
    assert.match(own, /Nobody got it\./);
    assert.match(own, /Of Bolt Bolt The event names no customer\./);
    assert.match(own, /Large orders Your company Its filter stops the event: data\.total is 50, not at least 100\./);

    for (const name of ['acme', 'acme-1', acme, 'cme']) {
      const theirs = textOf(await send({ for: 'customer', customer: name, data: '{"of": "acme", "total": 500}' }));
      assert.match(theirs, /For Acme .*Pending at 2 webhooks: 1 is failing, 1 is not running.*total&quot;: 500/, name);
      assert.match(
        theirs,
        /Large orders Your company pending – webhook stopped It waits until the webhook is started\./,
      );
      assert.match(theirs, /Of Bolt Bolt The event is for another customer\./);
      assert.doesNotMatch(theirs, /Type –|Published –/);
    }
    assert.match(
      textOf(await send({ for: 'everyone', data: '{"of": "acme"}' })),
      /For Everyone.*Pending at 2 webhooks/,
    );

    service.advance(1000);
    await webhook('Later', bolt.id);
    const { items } = await succeeded<{ items: { eventId: string }[] }>(
      admin.get('deliveries?eventType=order.shipped&limit=1'),
    );
    const later = await request(`${service.url}/events/${items[0]?.eventId}`, { token: sessions.operator });
    assert.match(textOf(later), /Later Bolt The webhook was created after the event\./);

    const count = async () => (await succeeded<{ items: unknown[] }>(admin.get('deliveries?limit=200'))).items.length;
    const before = await count();
    for (const customer of ['Nobody', '', 'own']) {
      const refused = await send({ for: 'customer', customer });
      assert.equal(refused.status, 200);
      assert.match(textOf(refused), /Customer (is required|“\w+” does not exist)/);
      // The form is shown again with the focus in the field, and without the summary.
      assert.match(refused.text, /name="customer"[^>]* data-focus/);
      assert.doesNotMatch(refused.text, /error-summary/);
    }
    const both = await send({ for: 'customer', customer: 'Nobody', data: '[' });
    assert.match(textOf(both), /Customer “Nobody” does not exist/);
    assert.equal(await count(), before);
    assert.equal((await request(`${service.url}/events/none`, { token: sessions.operator })).status, 404);
    assert.equal((await request(`${service.url}/publish`, { token: sessions.customer })).status, 404);
  });
});

describe('a sample', () => {
  it('is sent through one webhook, marked as a test, from the page of the webhook and of the event type', async (t) => {
    const { openAs, admin, journey, typeId } = await start(t);
    const { webhook } = await connect(journey, ['order.*'], {
      webhook: { name: 'Orders', filter: { 'data.total': { $gt: 1000 } } },
    });
    const bodies = () => journey.receiver.requests.map(({ body }) => JSON.parse(body.toString()) as Body);
    const before = journey.receiver.requests.length;
    const { page, open, isAccessible } = await openAs('operator', `/webhooks/${webhook.id}`);
    await page.getByLabel('Event type').selectOption('order.placed');
    await page.getByRole('button', { name: 'Send a test event through Orders' }).click();
    await page.getByText('The receiver accepted the test event.').waitFor();
    await isAccessible();
    await open(`/event-types/${typeId}`);
    await page.getByRole('combobox', { name: 'Webhook' }).fill('Orders');
    await page.getByRole('button', { name: 'Send the test event' }).click();
    await page.getByText('The receiver accepted the test event.').waitFor();
    const sent = bodies().slice(before);
    assert.equal(sent.length, 2);
    for (const { test, records } of sent) {
      assert.equal(test, true);
      assert.equal(records.length, 1);
      const { headers, ...value } = records[0]?.value ?? {};
      assert.deepEqual(value, { orderPlaced: SAMPLE });
      assert.equal((headers as { eventType?: string }).eventType, 'order.placed');
    }
    assert.deepEqual((await succeeded<{ items: unknown[] }>(admin.get('deliveries'))).items, []);
  });

  it('is refused with the reason if the endpoint is off', async (t) => {
    const { openAs, admin, receiver, typeId } = await start(t);
    const endpoint = await makeEndpoint(admin, receiver.endpoint('/in'), { enabled: false });
    await makeWebhook(admin, endpoint, ['order.placed'], { name: 'Orders' });
    const { page } = await openAs('operator', `/event-types/${typeId}`, { isBrowserless: true });
    await page.getByRole('button', { name: 'Send the test event' }).click();
    await page.getByText(/No test can be sent/).waitFor();
    assert.equal(receiver.requests.length, 0);
  });
});

describe('the public catalogue', () => {
  it('shows public event types to anyone, with sample, schema, type and code, and no internal ones', async (t) => {
    const { admin, portal } = await start(t);
    await succeeded(admin.post('event-types', { name: 'order.audited', group: 'Orders', public: false }));
    await succeeded(admin.post('event-types', { name: 'order.booked', description: MARKUP, deprecated: true }));
    const { page, open, isAccessible } = await portal.visit();
    await open('/event-catalogue');
    assert.deepEqual(await page.locator('section h2').allInnerTexts(), [
      'Orders',
      'Other events',
      'For tools',
      'Receive events',
    ]);
    // The last group is folded, unless something of it is looked for.
    const folded = page.locator('details', { hasText: 'Events about webhooks themselves' });
    assert.equal(await folded.getByRole('link', { name: 'webhook.started' }).isVisible(), false);
    await page.getByLabel('Name or description').fill('webhook.st');
    await folded.getByRole('link', { name: 'webhook.started' }).waitFor();
    assert.equal(await page.getByText('order.audited').count(), 0);
    await isAccessible();
    await page.getByLabel('Name or description').fill('placed');
    await page.getByRole('link', { name: 'order.booked' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'order.placed' }).click();
    await page.getByRole('heading', { name: 'order.placed', level: 1 }).waitFor();
    const code = (label: string) => page.getByRole('group', { name: label, exact: true });
    assert.deepEqual(JSON.parse(await code('Sample of order.placed: Data').innerText()), SAMPLE);
    await page.getByRole('tab', { name: 'Standard Webhooks' }).click();
    const standard: unknown = JSON.parse(await code('Sample of order.placed: Standard Webhooks').innerText());
    assert.deepEqual(standard, { type: 'order.placed', timestamp: '2026-11-21T05:00:00.000Z', data: SAMPLE });
    await page.getByRole('tab', { name: 'CloudEvents in headers' }).click();
    assert.match(
      await code('Sample of order.placed: CloudEvents in headers').innerText(),
      /^ce-\w+: \S+\n[\s\S]*ce-type: order\.placed\n[\s\S]*\n\n\{\s+"orderId": 17,/,
    );
    const rows = page.getByRole('table', { name: 'Fields of order.placed' }).getByRole('row');
    assert.deepEqual(
      (await rows.allInnerTexts()).slice(1).map((text) => text.replace(/\s+/g, ' ').trim()),
      ['orderId required number 17', 'total number 129.5', `note string ${JSON.stringify(MARKUP)}`],
    );
    assert.match(await code('Type of order.placed: TypeScript').innerText(), /export type OrderPlaced = \{/);
    await page.getByRole('tab', { name: 'JSON Schema' }).click();
    assert.deepEqual(JSON.parse(await code('Type of order.placed: JSON Schema').innerText()), SCHEMA);
    // With the package of the receiver there are two more, and the first one is TypeScript.
    const python = page.getByRole('tab', { name: 'Python' });
    if ((await python.count()) > 0) await python.click();
    await page.getByRole('group', { name: 'Receive order.placed: Python' }).getByText('order.placed').first().waitFor();
    await isAccessible();
    const plain = await portal.visit({ isBrowserless: true, expecting: [404] });
    assert.equal(await plain.open('/event-catalogue/order.audited'), 404);
    assert.equal(await plain.open('/event-catalogue/order.none'), 404);
    const headers = (await page.request.get(new URL('/event-catalogue', page.url()).href)).headers();
    assert.match(headers['content-security-policy'] ?? '', /script-src 'self'/);
  });

  it('has no internal type for someone who is signed in either, and works without the script', async (t) => {
    const { admin, openAs } = await start(t);
    await succeeded(admin.post('event-types', { name: 'order.audited', public: false }));
    const { page } = await openAs('administrator', '/event-catalogue?q=order', { isBrowserless: true });
    await page.getByRole('link', { name: 'order.placed' }).waitFor();
    assert.equal(await page.getByText('order.audited').count(), 0);
  });
});
