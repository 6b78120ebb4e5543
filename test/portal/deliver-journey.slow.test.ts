/** From nothing to a delivered event, by mouse and keyboard alone: endpoint, challenge, key, event type, webhook, start, test. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { type Portal, startPortal } from '../support/browser.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { type Receiver, type ReceivingEndpoint, startReceiver } from '../support/receiver.ts';
import { ACTOR } from '../support/services.ts';
import { sharedCertificates } from '../support/tls.ts';

type Journey = { readonly portal: Portal; readonly receiver: Receiver };

async function startJourney(t: TestContext): Promise<Journey> {
  const { ca, server } = sharedCertificates();
  const portal = await startPortal(t, { ca });
  return { portal, receiver: await startReceiver(t, server, { clock: portal.service.clock }) };
}

/** Creates an endpoint. Returns what the page shows for the receiver. */
async function createEndpoint(page: Page, url: string): Promise<{ secret: string; apiKey: string }> {
  await page.getByRole('link', { name: 'Endpoints', exact: true }).click();
  await page.getByRole('link', { name: 'New endpoint' }).click();
  await page.getByLabel('Name').fill('Corner shop');
  await page.getByLabel('Address').fill(url);
  await page.getByLabel('Verify ownership before anything is sent').check();
  await page.getByRole('button', { name: 'Create the endpoint' }).click();
  await page.getByRole('heading', { name: 'Corner shop is created' }).waitFor();
  const secret = await page.getByRole('group', { name: 'Secret' }).locator('code').innerText();
  const apiKey = (await page.locator('dd', { hasText: 'In the header x-api-key' }).locator('code').textContent()) ?? '';
  return { secret, apiKey };
}

async function arrives({ at, type }: { at: ReceivingEndpoint; type: string }): Promise<unknown> {
  const [record] = (await at.next()).records;
  assert.equal(record?.eventType, type);
  return record?.data;
}

for (const isScriptless of [false, true]) {
  const how = isScriptless ? 'without JavaScript' : 'with JavaScript';
  describe(`the way to the first delivery (${how})`, () => {
    it('works without a command: an endpoint is verified, and an event encrypted, sent and received', async (t) => {
      const { portal, receiver } = await startJourney(t);
      const { page, open } = await portal.signIn('administrator', { isScriptless });
      const { publicKey, privateKey } = await pgpKeyPair();
      await open('/endpoints');

      const { secret, apiKey } = await createEndpoint(page, `${receiver.origin}/hooks/shop?tenant=A`);
      assert.equal(Buffer.from(secret, 'base64').length, 32);
      await page.getByText('The endpoint is disabled until ownership is verified').waitFor();
      assert.equal(receiver.requests.length, 1, 'the challenge that the receiver could not answer');
      // Now the receiver gets the secret.
      const at = receiver.endpoint('/hooks/shop?tenant=A', {
        secret,
        apiKey,
        privateKeys: { 'shop-2026': privateKey },
      });
      await page.getByRole('button', { name: 'Verify now: the endpoint Corner shop' }).click();
      await page.getByText('Corner shop passed the challenge and is enabled.').waitFor();
      assert.equal(at.challenges.length, 1);

      await page.getByRole('link', { name: 'PGP keys' }).click();
      await page.getByRole('link', { name: 'Import a key' }).click();
      await page.getByLabel('Name').fill('shop-2026');
      await page.getByLabel('Public key').fill(publicKey);
      await page.getByRole('button', { name: 'Import the key' }).click();
      await page.getByText('The key shop-2026 is imported.').waitFor();

      await page.getByRole('link', { name: 'Event types' }).click();
      await page.getByRole('link', { name: 'New event type' }).first().click();
      await page.getByLabel('Name').fill('order.created');
      await page.getByLabel('Require encryption').check();
      await page.getByRole('button', { name: 'Create the event type' }).click();
      await page.getByText('order.created is created.').waitFor();

      await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
      await page.getByRole('link', { name: /New webhook|Create a webhook/ }).click();
      await page.getByLabel('Name', { exact: true }).first().fill('Orders');
      await page.getByRole('combobox', { name: 'Endpoint' }).selectOption('Corner shop');
      await page.getByLabel('order.*').check();
      if (!isScriptless) await page.getByText('must be encrypted: choose a key').waitFor();
      await page.getByRole('combobox', { name: 'Key' }).selectOption('shop-2026');
      if (!isScriptless) await page.getByText('must be encrypted. They will be.').waitFor();
      await page.getByLabel('Start it immediately').uncheck();
      await page.getByRole('button', { name: 'Create the webhook' }).click();
      await page.getByText('Orders was created. Start it when the receiver is ready.').waitFor();
      assert.equal(at.deliveries.length, 0);

      await page.getByRole('button', { name: 'Send a test event through Orders' }).click();
      await page.getByText(/It arrived after/).waitFor();
      assert.equal(((await arrives({ at, type: 'webhook.test' })) as { webhookName: string }).webhookName, 'Orders');

      await page.getByRole('button', { name: 'Start the webhook Orders' }).click();
      await page.getByText('The webhook is started.').waitFor();
      await portal.service.services.publish({ type: 'order.created', data: { orderId: 42 } }, ACTOR);
      assert.deepEqual(await arrives({ at, type: 'order.created' }), { orderId: 42 });
      if (!isScriptless) {
        // The page goes on by itself.
        await page.locator('#deliveries').getByText('#0').waitFor();
        await page.locator('#state').getByText('running').waitFor();
        await page.getByText('The last attempt succeeded').waitFor();
        assert.match(await page.locator('.figures').innerText(), /Events matched\s+1/);
      }

      await page.getByRole('button', { name: 'Stop the webhook Orders' }).click();
      await page.getByText('The webhook is stopped. New deliveries stay pending.').waitFor();
      await portal.service.services.publish({ type: 'order.created', data: { orderId: 43 } }, ACTOR);
      await page.getByRole('link', { name: 'Webhooks', exact: true }).first().click();
      const row = page.getByRole('row').filter({ hasText: 'Orders' });
      await row.getByText('by an administrator').waitFor();
      assert.equal(await row.getByRole('cell').nth(3).innerText(), '1');
      assert.equal(at.deliveries.length, 2, 'what happened after the stop waits');
    });
  });
}
