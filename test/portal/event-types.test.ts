import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EventTypeView } from '../../src/events/event-types.ts';
import type { ApiClient } from '../support/client.ts';
import { succeeded } from '../support/client.ts';
import { MARKUP, startDeliverPortal } from '../support/deliver-portal.ts';
import { importKey, makeEndpoint, makeEventType, makeWebhook, publish } from '../support/journey.ts';
import { pgpVector } from '../support/vectors.ts';

async function ownTypes(admin: ApiClient): Promise<EventTypeView[]> {
  const { items } = await succeeded<{ items: EventTypeView[] }>(admin.get('event-types?limit=200'));
  return items.filter(({ builtIn }) => !builtIn);
}

describe('the list of event types', () => {
  it('lists the company’s own first, with their rules and all webhooks that get them, by any pattern', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    const empty = await openAs('administrator', '/event-types', { isBrowserless: true });
    await empty.page.getByText('Create your first event type').waitFor();
    await makeEventType(admin, 'order.created');
    await succeeded(
      admin.post('event-types', {
        name: 'invoice.paid',
        description: MARKUP,
        encryptionRequired: true,
        dataSchema: {},
      }),
    );
    await importKey(admin, 'hr', pgpVector('curve25519'));
    const endpoint = await makeEndpoint(admin, receiver.endpoint('/in'));
    await makeWebhook(admin, endpoint, ['order.*'], { name: 'Orders' });
    await makeWebhook(admin, endpoint, ['*'], { name: 'Everything', encryptionKeyName: 'hr' });
    await publish(admin, 'order.created', { n: 1 }, { n: 2 });
    const { page } = await openAs('viewer', '/event-types');
    const rows = (await page.getByRole('row').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
    assert.deepEqual(rows.slice(1), [
      `invoice.paid encrypted only ${MARKUP.replace(/\s+/g, ' ')} 0 Everything`,
      'order.created 2 Orders Everything',
    ]);
    await page.getByText('Built-in event types').first().click();
    const builtIn = await page.getByRole('row').filter({ hasText: 'employee.created' }).innerText();
    assert.equal(
      builtIn.replace(/\s+/g, ' ').trim(),
      'employee.created encrypted only An employee was created. 0 Everything',
    );
    assert.equal(await page.getByRole('link', { name: 'New event type' }).count(), 0);
    await page.getByLabel('Name or description').fill('OVER');
    await page.getByText('No event types fit these filters.').waitFor();
    await page.getByLabel('Name or description').fill('ORDER');
    await page.getByRole('link', { name: 'order.created' }).click();
    await page.getByRole('heading', { name: 'order.created' }).waitFor();
    await page.getByText('"orderCreated": { … }').waitFor();
  });
});

describe('the sample of an event type', () => {
  it('is the data of its latest event, and none for a type that requires encryption', async (t) => {
    const { openAs, admin } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    await publish(admin, 'order.created', { n: 1 }, { n: 2, note: MARKUP });
    const [type] = await ownTypes(admin);
    const { page, isAccessible } = await openAs('viewer', `/event-types/${type?.id}`);
    await page.getByText('2 events').waitFor();
    assert.equal(await page.getByText('checked against its schema').count(), 0);
    assert.deepEqual(JSON.parse(await page.getByLabel('Data of the latest event', { exact: true }).innerText()), {
      n: 2,
      note: MARKUP,
    });
    await isAccessible();
    await succeeded(admin.patch(`event-types/${type?.id}`, { encryptionRequired: true }));
    const later = await openAs('viewer', `/event-types/${type?.id}`, { isBrowserless: true });
    await later.page.getByText('Its events must be encrypted, so no data is shown here.').waitFor();
    assert.ok(!(await later.page.content()).includes('&quot;n&quot;'));
  });
});

describe('an event type', () => {
  it('is created from the form; each problem is shown beside its field', async (t) => {
    const { openAs, admin } = await startDeliverPortal(t);
    const { page } = await openAs('administrator', '/event-types/new', { isBrowserless: true, expecting: [400] });
    const create = page.getByRole('button', { name: 'Create the event type' });
    await page.getByLabel('Name').fill('Order Created');
    await page.getByLabel('Description').fill(MARKUP);
    await page.getByLabel('JSON Schema of its data').fill('{"type": "order"}');
    await create.click();
    await page.locator('#field-name-problem').getByText('must be of the form <category>.<name>').waitFor();
    await page.getByLabel('Name').fill('order.created');
    await create.click();
    await page.locator('#field-dataSchema-problem').getByText('is not a JSON Schema').waitFor();
    await page.getByLabel('JSON Schema of its data').fill('{"type": ');
    await create.click();
    await page.locator('#field-dataSchema-problem').getByText('is not JSON').waitFor();
    assert.equal(await page.getByLabel('JSON Schema of its data').inputValue(), '{"type": ');
    assert.deepEqual(await ownTypes(admin), []);
    await page.getByLabel('JSON Schema of its data').fill('{"type": "object", "required": ["orderId"]}');
    await create.click();
    await page.getByText('order.created is created.').waitFor();
    const [made] = await ownTypes(admin);
    assert.deepEqual([made?.description, made?.encryptionRequired], [MARKUP, false]);
    assert.deepEqual(made?.dataSchema, { type: 'object', required: ['orderId'] });
  });

  it('is changed: a part removed from its schema is gone, and its name stays', async (t) => {
    const { openAs, admin } = await startDeliverPortal(t);
    const dataSchema = { type: 'object', required: ['orderId'], properties: { a: { type: 'integer' }, b: {} } };
    const { id } = await succeeded<EventTypeView>(admin.post('event-types', { name: 'order.created', dataSchema }));
    const { page } = await openAs('administrator', `/event-types/${id}/edit`, { isBrowserless: true });
    assert.deepEqual(JSON.parse(await page.getByLabel('JSON Schema of its data').inputValue()), dataSchema);
    assert.equal(await page.locator('#field-name').count(), 0);
    await page.getByLabel('JSON Schema of its data').fill('{"properties": {"a": {"type": "string"}}}');
    await page.getByLabel('Require encryption').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('order.created is saved.').waitFor();
    const [changed] = await ownTypes(admin);
    assert.deepEqual(changed?.dataSchema, { properties: { a: { type: 'string' } } });
    assert.equal(changed?.encryptionRequired, true);
  });

  it('cannot be made secret under webhooks that have no key: the form says which', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    const { id } = await succeeded<EventTypeView>(admin.post('event-types', { name: 'order.created' }));
    const webhook = await makeWebhook(admin, await makeEndpoint(admin, receiver.endpoint('/in')), ['order.*'], {
      name: 'Orders',
    });
    const { page, open } = await openAs('administrator', `/event-types/${id}/edit`, {
      isBrowserless: true,
      expecting: [409],
    });
    await page.getByLabel('Require encryption').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page
      .getByRole('alert')
      .getByText(/conflicts with webhook Orders \(.*\), which has no key/)
      .waitFor();
    await open(`/event-types/${id}/delete`);
    await page.getByRole('button', { name: 'Delete the event type' }).click();
    await page.getByText('The event type order.created is deleted.').waitFor();
    assert.deepEqual(await ownTypes(admin), []);
    // Its category goes on: the webhook was subscribed to that.
    assert.deepEqual((await succeeded<{ eventTypes: string[] }>(admin.get(`webhooks/${webhook.id}`))).eventTypes, [
      'order.*',
    ]);
  });

  it('stays while a webhook names it: asking to delete it says which', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    const { id } = await succeeded<EventTypeView>(admin.post('event-types', { name: 'order.created' }));
    const path = `/event-types/${id}/delete`;
    const { page, open } = await openAs('administrator', path, { isBrowserless: true, expecting: [409] });
    // Subscribed after the question was asked.
    await makeWebhook(admin, await makeEndpoint(admin, receiver.endpoint('/in')), ['order.created'], {
      name: 'Orders',
    });
    await page.getByRole('button', { name: 'Delete the event type' }).click();
    assert.match(await page.content(), /The event type is used by webhook Orders/);
    assert.equal((await ownTypes(admin)).length, 1);
    await open(path);
    await page.getByText('A webhook uses it, so it cannot be deleted.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Delete the event type' }).count(), 0);
  });

  it('says how many webhooks name it, and only to people who could delete it', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    const { id } = await succeeded<EventTypeView>(admin.post('event-types', { name: 'order.created' }));
    const endpoint = await makeEndpoint(admin, receiver.endpoint('/in'));
    for (let n = 1; n <= 12; n += 1) await makeWebhook(admin, endpoint, ['order.created'], { name: `Orders ${n}` });
    await makeWebhook(admin, endpoint, ['order.*'], { name: 'All of them' });
    const { page, open } = await openAs('administrator', `/event-types/${id}`, { isBrowserless: true });
    const removal = page.locator('#delete');
    await removal.getByText('12 webhooks name it, so it cannot be deleted.').waitFor();
    assert.deepEqual(await removal.getByRole('link').allInnerTexts(), [
      'Orders 1',
      'Orders 2',
      'Orders 3',
      'and 9 more',
    ]);
    await open(`/event-types/${id}/delete`);
    await page.getByText('12 webhooks use it, so it cannot be deleted.').waitFor();
    const viewer = await openAs('viewer', `/event-types/${id}`, { isBrowserless: true });
    assert.equal(await viewer.page.locator('#delete').count(), 0);
  });

  it('that is built in is shown, and not to be changed', async (t) => {
    const { openAs, admin } = await startDeliverPortal(t);
    const { items } = await succeeded<{ items: EventTypeView[] }>(admin.get('event-types?limit=200'));
    const { id } = items.find(({ name }) => name === 'employee.created') as EventTypeView;
    const { page } = await openAs('administrator', `/event-types/${id}`);
    await page.getByText('built in').waitFor();
    await page.getByRole('tab', { name: 'Records' }).click();
    await page.getByText('"employeeCreated": {').waitFor();
    // A format that cannot be encrypted is not among them.
    assert.equal(await page.getByRole('tab', { name: 'Standard Webhooks' }).count(), 0);
    assert.equal(await page.getByRole('link', { name: 'Change' }).count(), 0);
    await page.getByText('not listed until the first one is published').waitFor();
    const options = { isBrowserless: true, expecting: [409, 404] };
    const plain = await openAs('administrator', `/event-types/${id}`, options);
    await plain.page.getByRole('button', { name: 'Hide from customers' }).click();
    await plain.page.getByText('Customers do not get it any more.').waitFor();
    await plain.page.getByRole('button', { name: 'Show to customers' }).click();
    await plain.page.getByText('Customers get it now.').waitFor();
    assert.equal(await plain.open(`/event-types/${id}/edit`), 409);
    await plain.page.getByText('The event type employee.created is built in and stays as it is.').waitFor();
    assert.equal(await plain.open('/event-types/none'), 404);
  });
});
