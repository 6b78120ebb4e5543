import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WebhookView } from '../../src/webhooks/webhook-schema.ts';
import { succeeded } from '../support/client.ts';
import { type DeliverPortal, MARKUP, startDeliverPortal } from '../support/deliver-portal.ts';
import { until } from '../support/dispatching.ts';
import {
  deliveriesOf,
  importKey,
  makeEndpoint,
  makeEventType,
  makeWebhook,
  publish,
  readWebhook,
  startWebhook,
} from '../support/journey.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import type { ReceivingEndpoint } from '../support/receiver.ts';

type Fields = Readonly<Record<string, unknown>>;

/** An endpoint named Shop, and a webhook named Orders for `order.*`. */
async function makeOrders(
  { admin, receiver }: DeliverPortal,
  fields: Fields = {},
): Promise<{ at: ReceivingEndpoint; webhook: WebhookView }> {
  await makeEventType(admin, 'order.created');
  const at = receiver.endpoint('/in');
  const endpoint = await makeEndpoint(admin, at, { name: 'Shop' });
  return { at, webhook: await makeWebhook(admin, endpoint, ['order.*'], { name: 'Orders', ...fields }) };
}

describe('a webhook', () => {
  it('shows the result of a test: secrets masked, the response unchanged, and advice', async (t) => {
    const deliver = await startDeliverPortal(t);
    const { at, webhook } = await makeOrders(deliver);
    at.answer(() => ({ status: 503, headers: { 'x-reason': 'maintenance' }, body: MARKUP }));
    const { page, isAccessible } = await deliver.openAs('operator', `/webhooks/${webhook.id}`);
    for (const round of [1, 2]) {
      await page.getByRole('button', { name: 'Send a test event through Orders' }).click();
      await at.next();
      await page.locator('#test').getByText('The receiver answered 503.').waitFor();
      assert.equal(at.deliveries.length, round);
      at.answer(round === 1 ? () => ({ status: 410, body: MARKUP }) : () => ({}));
      if (round === 1) {
        await page.locator('#test .attempt-headers > summary').click();
        const shown = await page.locator('#test').innerText();
        assert.match(shown, /x-api-key: \[secret\]/);
        assert.match(shown, /x-reason: maintenance/);
        assert.ok(shown.includes(MARKUP));
        assert.match(shown, /Look into the receiver's log/);
        await isAccessible();
        at.answer(() => ({ status: 503 }));
      }
    }
    assert.notEqual(await page.title(), 'broken');
    assert.equal((await readWebhook(deliver.admin, webhook)).state, 'stopped', 'a test changes no state');
    assert.deepEqual(await deliveriesOf(deliver.admin, webhook), [], 'and is in no log');
  });

  it('shows a test to those with its address, and no attempt of another webhook', async (t) => {
    const deliver = await startDeliverPortal(t);
    const { webhook } = await makeOrders(deliver);
    const other = await makeWebhook(deliver.admin, { id: webhook.endpointId as string }, ['order.*'], {
      name: 'Other',
    });
    const { id } = await succeeded<{ id: string }>(deliver.admin.post(`webhooks/${webhook.id}/test`));
    const { page, open } = await deliver.openAs('viewer', `/webhooks/${webhook.id}?test=${id}`, {
      isBrowserless: true,
    });
    await page.getByText(/It arrived after/).waitFor();
    await open(`/webhooks/${other.id}?test=${id}`);
    assert.equal(await page.getByText(/It arrived after/).count(), 0);
    await open(`/webhooks/${webhook.id}?test=nonsense`);
    await page.getByRole('heading', { name: 'Orders' }).waitFor();
  });

  it('shows why it fails, its waiting and dead records, and its history', async (t) => {
    const deliver = await startDeliverPortal(t);
    const { admin } = deliver;
    const { at, webhook } = await makeOrders(deliver, { retry: { maxAttempts: 1 }, ordered: true, maxBatchRecords: 1 });
    at.answer(() => ({ status: 500, body: 'broken' }));
    await startWebhook(admin, webhook);
    await publish(admin, 'order.created', { n: 1 }, { n: 2 });
    const settled = async () =>
      (await deliveriesOf(admin, webhook)).filter(({ state }) => state === 'dead').length === 2;
    await until('both to be dead', settled);
    await succeeded(admin.post(`webhooks/${webhook.id}/stop`));
    await publish(admin, 'order.created', { n: 3 });
    const { page, open } = await deliver.openAs('operator', `/webhooks/${webhook.id}`, { isBrowserless: true });
    const figures = (await page.locator('.figures').innerText()).replace(/\s+/g, ' ');
    assert.match(
      figures,
      /Succeeded, 24 h 0 % 2 attempts, 2 failed Pending 1 oldest (now|\d+ seconds? ago) Dead 2 kept for 90 days Events matched 3/,
    );
    await page.getByRole('link', { name: 'Start, and send 2 again: Orders' }).waitFor();
    await page.getByRole('link', { name: 'History' }).click();
    await page.waitForURL(`**/webhooks/${webhook.id}/history`);
    const story = (await page.locator('.timeline').innerText()).replace(/\s+/g, ' ');
    assert.match(
      story,
      /^Stopped .* by .* Deliveries began to fail .* The receiver answered 500\. Started: nothing sent/,
    );
    assert.match(story, / Started: nothing sent yet .* by .* Created the webhook .* by /);
    await page.getByRole('button', { name: 'Start the webhook Orders' }).click();
    await page.getByText('The webhook is started.').waitFor();
    await until('it to fail', async () => (await readWebhook(admin, webhook)).state === 'failing');
    await open(`/webhooks/${webhook.id}`);
    await page.getByText(/^Deliveries have failed since .* Latest error: the receiver answered 500\./).waitFor();
    await page.getByText(/the webhook stops in 1 day/).waitFor();
  });

  it('is changed, with each problem beside its field', async (t) => {
    const deliver = await startDeliverPortal(t);
    const { webhook } = await makeOrders(deliver, {
      customHeaders: [{ name: 'x-tenant', value: 'acme' }],
      eventTypes: ['order.created', 'stock.*', 'webhook.failed'],
      maxRecordsPerSecond: 0.5,
      standardWebhooks: true,
    });
    const { page } = await deliver.openAs('administrator', `/webhooks/${webhook.id}`, {
      isBrowserless: true,
      expecting: [400],
    });
    await page.getByRole('link', { name: 'Change' }).click();
    assert.equal(await page.getByLabel('Patterns').inputValue(), 'stock.*');
    assert.equal(await page.getByLabel('webhook.failed').isChecked(), true);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Orders is saved.').waitFor();
    const { updatedAt, eventTypes, ...saved } = await readWebhook(deliver.admin, webhook);
    const { updatedAt: _, eventTypes: typed, ...before } = webhook;
    assert.deepEqual(saved, before, 'saved as it was');
    assert.deepEqual(eventTypes.toSorted(), typed.toSorted());

    await page.getByRole('link', { name: 'Change' }).click();
    // What is set is open; the rest is collapsed.
    assert.equal(await page.getByLabel('Events per second').isVisible(), true);
    assert.equal(await page.getByLabel('Also sign with Standard Webhooks').isVisible(), true);
    assert.equal(await page.locator('#field-filter').isVisible(), false);
    await page.getByLabel('Events per batch').fill('5000');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('#field-maxBatchRecords-problem').getByText('must be at most 1000').waitFor();
    await page.getByLabel('Events per batch').fill('');
    await page.getByLabel('Events per second').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Orders is saved.').waitFor();
    const { maxBatchRecords, maxRecordsPerSecond } = await readWebhook(deliver.admin, webhook);
    assert.deepEqual([maxBatchRecords, maxRecordsPerSecond], [100, null]);
  });

  it('that the service stopped says so, and what to do', async (t) => {
    const deliver = await startDeliverPortal(t);
    const { admin, portal } = deliver;
    const { publicKey } = await pgpKeyPair({ lastsDays: 2 });
    const key = await importKey(admin, 'hr', publicKey);
    const { at, webhook } = await makeOrders(deliver, { encryptionKeyName: 'hr' });
    await startWebhook(admin, webhook);
    portal.service.advance(3 * 86_400_000);
    const later = await portal.service.signIn();
    await publish(later, 'order.created', { n: 1 });
    await until('it to stop', async () => (await readWebhook(later, webhook)).state === 'stopped');
    const { page } = await deliver.openAs('viewer', `/webhooks/${webhook.id}`, { isBrowserless: true });
    await page.getByText(/^It was stopped automatically /).waitFor();
    await page.getByText('Give it an unexpired key, then start the webhook again.').first().waitFor();
    await page.getByRole('link', { name: 'Settings', exact: true }).last().click();
    await page.getByRole('link', { name: 'hr', exact: true }).click();
    await page.waitForURL(new RegExp(key.id));
    assert.equal(at.deliveries.length, 0, 'nothing was sent with the expired key');
  });

  it('lists before a deletion everything that it deletes and everything that stays', async (t) => {
    const deliver = await startDeliverPortal(t);
    const { webhook } = await makeOrders(deliver);
    await publish(deliver.admin, 'order.created', { n: 1 }, { n: 2 });
    const { page } = await deliver.openAs('administrator', `/webhooks/${webhook.id}/delete`, { isBrowserless: true });
    await page.getByText('2 pending deliveries, which will not be sent').waitFor();
    await page.getByText('Its endpoint, the event types').waitFor();
    await page.getByRole('button', { name: 'Delete the webhook' }).click();
    await page.getByText('The webhook Orders is deleted.').waitFor();
    assert.equal((await deliver.admin.get(`webhooks/${webhook.id}`)).status, 404);
    assert.equal((await deliver.admin.get(`endpoints/${webhook.endpointId}`)).status, 200);
  });

  it('offers to viewers nothing, and to operators to start, stop and test it', async (t) => {
    const deliver = await startDeliverPortal(t);
    const { webhook } = await makeOrders(deliver);
    for (const [role, offered] of [
      ['viewer', []],
      ['operator', ['Start the webhook Orders']],
    ] as const) {
      const { page, open } = await deliver.openAs(role, `/webhooks/${webhook.id}`, { isBrowserless: true });
      for (const tab of ['', '/settings', '/history']) {
        await open(`/webhooks/${webhook.id}${tab}`);
        const buttons = await page.locator('main form button').evaluateAll((all) => all.map((one) => one.ariaLabel));
        const hasTest = role === 'operator' && tab === '';
        assert.deepEqual(buttons, [...offered, ...(hasTest ? ['Send a test event through Orders'] : [])]);
        assert.equal(await page.locator('main a[href$="/edit"], main a[href$="/delete"]').count(), 0);
      }
    }
  });
});
