import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WebhookView } from '../../src/webhooks/webhook-schema.ts';
import { type ApiClient, succeeded } from '../support/client.ts';
import { MARKUP, startDeliverPortal } from '../support/deliver-portal.ts';
import { until } from '../support/dispatching.ts';
import { importKey, makeEndpoint, makeEventType, makeWebhook, publish, startWebhook } from '../support/journey.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';
import { pgpVector } from '../support/vectors.ts';

async function allWebhooks(admin: ApiClient): Promise<WebhookView[]> {
  return (await succeeded<{ items: WebhookView[] }>(admin.get('webhooks'))).items;
}

describe('the form of a webhook', () => {
  it('offers event types of categories with any name', async (t) => {
    const service = await startService(t);
    const categories = ['constructor', 'valueof', 'order'];
    for (const category of categories) await makeEventType(service.admin, `${category}.changed`);
    const { token } = await newSession(service, 'administrator');
    const { status, text } = await request(`${service.url}/webhooks/new`, { token });
    assert.equal(status, 200);
    for (const category of categories) {
      assert.match(text, new RegExp(`value="${category}\\.\\*"`));
      assert.match(text, new RegExp(`value="${category}\\.changed"`));
    }
  });

  it('that was refused says what must be encrypted of the events that it would have saved', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'administrator');
    for (const morePatterns of ['order.*,employee.created', 'order.* employee.created', ' employee.created, ']) {
      const { status, text } = await request(`${service.url}/webhooks/new`, {
        token,
        form: { name: '', morePatterns },
      });
      assert.equal(status, 400, morePatterns);
      assert.match(text, /Employee events must be encrypted: choose a key/, morePatterns);
    }
  });
});

describe('the list of webhooks', () => {
  it('leads an administrator through the first steps while it is empty', async (t) => {
    const { openAs, admin } = await startDeliverPortal(t);
    const { page, isAccessible, open } = await openAs('administrator', '/webhooks');
    await page.getByRole('heading', { name: 'Nothing is sent yet' }).waitFor();
    await page.getByRole('link', { name: 'New endpoint' }).waitFor();
    await isAccessible();
    await open('/webhooks/new');
    await page.getByRole('link', { name: 'Create an endpoint' }).waitFor();
    assert.equal(
      await page.locator('#encryption-rule').innerText(),
      'Employee events, event types marked “encrypted only” and * need a key.',
    );
    await page.getByRole('link', { name: 'Import the receiver’s key' }).waitFor();
    const viewer = await openAs('viewer', '/webhooks', { isBrowserless: true });
    await viewer.page.getByText('An administrator can create one.').waitFor();
    assert.deepEqual(await allWebhooks(admin), []);
  });

  it('shows state and reason, endpoint, events, waiting records and the last attempt, and is filtered', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    await importKey(admin, 'hr', pgpVector('curve25519'));
    const good = receiver.endpoint('/good');
    const bad = receiver.endpoint('/bad');
    bad.answer(() => ({ status: 503 }));
    const shop = await makeEndpoint(admin, good, { name: 'Shop' });
    const erp = await makeEndpoint(admin, bad, { name: 'ERP' });
    const off = await makeEndpoint(admin, receiver.endpoint('/off'), { name: 'Off', enabled: false });
    await startWebhook(admin, await makeWebhook(admin, shop, ['order.created'], { name: 'Orders' }));
    await startWebhook(admin, await makeWebhook(admin, erp, ['order.*'], { name: 'Stock' }));
    const patterns = ['employee.created', 'employee.updated', 'order.created', 'order.*'];
    await makeWebhook(admin, off, patterns, { name: MARKUP, encryptionKeyName: 'hr' });
    await publish(admin, 'order.created', { n: 1 });
    // Written shortly after the receivers have answered.
    const states = async () => (await allWebhooks(admin)).map(({ state }) => state).join(' ');
    await until('all of them to have been tried', async () => (await states()) === 'running failing stopped');
    const { page, open } = await openAs('viewer', '/webhooks');
    const textOf = async (name: string): Promise<string> =>
      (await page.getByRole('row').filter({ hasText: name }).innerText()).replace(/\s+/g, ' ');
    assert.match(
      await textOf('Orders'),
      /^Orders to Shop running 100 % 1 attempt order\.created 0 (now|\d+ seconds? ago)$/,
    );
    assert.match(
      await textOf('Stock'),
      /^Stock to ERP failing 503 Service Unavailable 0 % \d attempts?, \d failed order\.\* 1 /,
    );
    assert.match(
      await textOf(MARKUP.slice(0, 8)),
      /to Off stopped endpoint disabled no attempts in 24 h employee\.created .* \+1 1 never$/,
    );
    await page.getByLabel('State').selectOption('failing (1)');
    await page.getByRole('link', { name: 'Orders' }).waitFor({ state: 'detached' });
    assert.match(page.url(), /\?state=failing$/);
    await open(`/webhooks?endpoint=${shop.id}`);
    assert.deepEqual(await page.locator('tbody th a:not(.plain-link)').allInnerTexts(), ['Orders']);
    await page.getByLabel('Name').fill('zzz');
    await page.getByText('No webhooks fit these filters.').waitFor();
    assert.match(page.url(), /endpoint=/, 'the filter by endpoint is kept');
    // The way to the problems keeps the other filters, and so does the way back.
    await open(`/webhooks?endpoint=${erp.id}&q=sto`);
    await page.locator('.quick-filter').getByRole('link', { name: '1 with problems' }).click();
    await page.waitForURL((url) => url.searchParams.get('state') === 'problems');
    await page.locator('.quick-filter').getByRole('link', { name: 'Show all webhooks' }).click();
    await page.waitForURL((url) => url.search === `?endpoint=${erp.id}&q=sto`);
    await open('/webhooks?key=hr');
    assert.deepEqual(await page.locator('tbody th a:not(.plain-link)').allInnerTexts(), [MARKUP]);
  });
});

describe('the events of a webhook', () => {
  it('are filtered by name and description, and a category ticks its types', async (t) => {
    const { openAs, admin } = await startDeliverPortal(t);
    for (const [name, description] of [
      ['order.created', 'A customer ordered.'],
      ['order.shipped', 'A parcel left the warehouse.'],
      ['invoice.paid', 'Money arrived.'],
    ])
      await succeeded(admin.post('event-types', { name, description }));
    const { page, isAccessible } = await openAs('administrator', '/webhooks/new');
    const box = (name: string) => page.getByRole('checkbox', { name, exact: true });
    await page.getByPlaceholder('Filter by name or description').fill('PARCEL');
    await box('order.shipped').waitFor();
    for (const hidden of ['order.created', 'invoice.*', 'employee.created'])
      assert.equal(await box(hidden).isVisible(), false, hidden);
    await page.getByPlaceholder('Filter by name or description').fill('nothing like it');
    await page.getByText('No event fits the filter.').waitFor();
    await page.getByPlaceholder('Filter by name or description').fill('');

    await box('order.created').check();
    await box('order.*').check();
    assert.deepEqual([await box('order.shipped').isChecked(), await box('order.shipped').isDisabled()], [true, true]);
    assert.equal(await box('invoice.paid').isChecked(), false);
    await isAccessible();
    await box('order.*').uncheck();
    assert.deepEqual([await box('order.created').isChecked(), await box('order.shipped').isChecked()], [true, false]);
    await box('order.*').check();
    const sent = await page.evaluate("new FormData(document.querySelector('main form.form')).getAll('eventTypes')");
    assert.deepEqual(sent, ['order.*']);
  });
});

describe('creating a webhook', () => {
  it('names every missing field in one answer', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'administrator');
    const { status, text } = await request(`${service.url}/webhooks/new`, {
      token,
      form: { name: '', endpointId: '', mode: 'push', 'retry.policy': 'exponential', maxBatchRecords: '100' },
    });
    assert.equal(status, 400);
    for (const told of ['Name is required', 'Endpoint is required', 'Events are required: choose at least one'])
      assert.ok(text.includes(told), told);
  });

  it('shows each problem beside its field, and keeps the typed values', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    await importKey(admin, 'hr', pgpVector('curve25519'));
    await makeEndpoint(admin, receiver.endpoint('/in'), { name: 'Shop' });
    const { page, isAccessible } = await openAs('administrator', '/webhooks/new', { expecting: [400] });
    await page.getByLabel('employee.*').check();
    await page.getByText('Employee events must be encrypted: choose a key.').waitFor();
    await page.getByText('Advanced').click();
    await page.getByText('Custom headers and Standard Webhooks').click();
    await page.getByLabel('Name', { exact: true }).nth(1).fill('tenant');
    await page.getByLabel('Value').first().fill(MARKUP);
    await page.getByText('Retries, time-out and heartbeat').click();
    await page.getByLabel('Attempts').fill('1000');
    const create = page.getByRole('button', { name: 'Create the webhook' });
    await create.click();
    await page.locator('#field-name-problem').getByText('Name is required.').waitFor();
    await page.locator('#field-retry-maxAttempts-problem').getByText('must be at most 100').waitFor();
    await page.locator('[data-row] .problem').waitFor();
    assert.equal(await page.getByLabel('Value').first().inputValue(), MARKUP);
    assert.equal(await page.getByLabel('employee.*').isChecked(), true);
    await isAccessible();

    await page.locator('#field-name').fill('People');
    await page.getByLabel('Attempts').fill('7');
    await page.getByLabel('Name', { exact: true }).nth(1).fill('x-tenant');
    await page.getByLabel('Value').first().fill('acme');
    await page.getByRole('combobox', { name: 'Endpoint' }).selectOption('Shop');
    await create.click();
    await page
      .locator('#field-encryptionKeyName-problem')
      .getByText('is required: employee events must be encrypted')
      .waitFor();
    await page.getByRole('combobox', { name: 'Key' }).selectOption('hr');
    await create.click();
    await page.getByText('People was created and started.').waitFor();
    const [made, ...more] = await allWebhooks(admin);
    assert.deepEqual(more, []);
    assert.deepEqual([made?.eventTypes, made?.customHeaders], [['employee.*'], [{ name: 'x-tenant', value: 'acme' }]]);
    assert.deepEqual([made?.retry.maxAttempts, made?.maxBatchRecords, made?.heartbeatSeconds], [7, 100, 300]);
  });

  it('takes a filter, says which part of it is wrong, and shows it in words', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    const { id } = await makeEndpoint(admin, receiver.endpoint('/in'), { name: 'Shop' });
    const { page } = await openAs('administrator', `/webhooks/new?endpoint=${id}`, { expecting: [400] });
    await page.locator('#field-name').fill('Orders');
    await page.getByLabel('order.created').check();
    await page.getByText('Filter: only events that meet conditions').click();
    await page.getByText('As JSON', { exact: true }).click();
    await page.locator('#field-filter').fill('{"data.total": {"$above": 100}}');
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    await page.locator('#field-filter-problem').getByText('$above is not an operator').waitFor();
    await page.locator('#field-filter').fill('{"data.total": {"$gte": 100}, "data.country": "DE"}');
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    await page.getByRole('link', { name: 'Settings', exact: true }).last().click();
    await page.getByText('only if data.total is at least 100 and data.country is "DE"').waitFor();
    const [made] = await allWebhooks(admin);
    assert.deepEqual(made?.filter, { 'data.total': { $gte: 100 }, 'data.country': 'DE' });
    await page.getByRole('link', { name: 'Change' }).click();
    await page.getByText('As JSON', { exact: true }).click();
    await page.locator('#field-filter').fill('{"data.country": "FR"}');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('only if data.country is "FR"').waitFor();
  });

  it('keeps it where it cannot start, and says why', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    const endpoint = { ...receiver.endpoint('/in'), secret: 'another' };
    const { id } = await makeEndpoint(admin, endpoint, { name: 'Shop', tokenChallenge: true });
    const { page } = await openAs('administrator', `/webhooks/new?endpoint=${id}`, { isBrowserless: true });
    await page.locator('#field-name').fill('Orders');
    await page.getByText('Every event, or a pattern').click();
    await page.getByLabel('Patterns').fill('stock.*');
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    await page.getByText('Orders was created but not started.').waitFor();
    await page.getByText('Its endpoint is not verified.').waitFor();
    const [made] = await allWebhooks(admin);
    assert.deepEqual([made?.endpointId, made?.eventTypes, made?.state], [id, ['stock.*'], 'stopped']);
    // Buttons that could only fail are left out; the one that helps is there.
    assert.equal(await page.getByRole('button', { name: /Start the webhook|Send a test event/ }).count(), 0);
    await page.getByRole('button', { name: 'Verify now: the endpoint Shop' }).click();
    await page.getByText('Shop failed the challenge.').waitFor();
  });
});
