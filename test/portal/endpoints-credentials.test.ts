import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EndpointView } from '../../src/webhooks/endpoint-schema.ts';
import { createAuthorizationServer } from '../support/authorization-server.ts';
import { succeeded } from '../support/client.ts';
import { MARKUP, startDeliverPortal } from '../support/deliver-portal.ts';
import { makeEndpoint, makeEventType, makeWebhook, publish, startWebhook } from '../support/journey.ts';

describe('a new secret', () => {
  it('is shown once, waits as long as was chosen, and then signs', async (t) => {
    const { portal, openAs, receiver, admin } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    const at = receiver.endpoint('/in');
    const endpoint = await makeEndpoint(admin, at, { name: 'Shop' });
    await startWebhook(admin, await makeWebhook(admin, endpoint, ['order.created']));
    const { page, open } = await openAs('administrator', `/endpoints/${endpoint.id}/settings`, { isBrowserless: true });
    await page.getByRole('link', { name: 'New secret' }).click();
    assert.equal(await page.locator('[name=overlapSeconds]').count(), 0, 'only for Standard Webhooks');
    await page.getByLabel('In an hour').check();
    await page.getByRole('button', { name: 'Create the new secret' }).click();
    const secret = await page.getByRole('group', { name: 'New secret' }).locator('code').innerText();
    await page.getByText('Give it to the receiver before then, beside the old one.').waitFor();
    const line = await page.getByRole('group', { name: 'For the environment of the program' }).innerText();
    assert.equal(line.trim(), `export WEBHOOK_SECRETS="$WEBHOOK_SECRETS\n${secret}"`);
    await page.getByRole('link', { name: 'I have stored the secret: go to Shop' }).click();
    await page.getByText(/signs from .* UTC/).waitFor();
    assert.ok(!(await page.content()).includes(secret));
    await open(`/endpoints/${endpoint.id}/rotate-secret`);
    await page.getByText('Another new secret is already scheduled.').waitFor();

    await publish(admin, 'order.created', { n: 1 });
    await at.next();
    portal.service.advance(3_600_000);
    const renewed = receiver.endpoint('/in', { secret, apiKey: at.apiKey });
    await publish(await portal.service.signIn(), 'order.created', { n: 2 });
    assert.deepEqual((await renewed.next()).records[0]?.data, { n: 2 });
  });

  it('is used immediately if it is scheduled, after a question', async (t) => {
    const { openAs, receiver, admin } = await startDeliverPortal(t);
    const { id } = await makeEndpoint(admin, receiver.endpoint('/in'), { name: 'Shop' });
    await succeeded(admin.post(`endpoints/${id}/rotate-secret`, { activateAfterSeconds: 3600 }));
    const { page } = await openAs('administrator', `/endpoints/${id}/settings`, { isBrowserless: true });
    await page.getByRole('link', { name: 'Use it now' }).click();
    await page.getByRole('heading', { name: 'Use the new secret of Shop now?' }).waitFor();
    await page.getByRole('button', { name: 'Use the new secret' }).click();
    await page.getByText('The new secret signs from now on.').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Use it now' }).count(), 0);
    const { secretActivatesAt } = await succeeded<EndpointView>(admin.get(`endpoints/${id}`));
    assert.equal(secretActivatesAt, null);
    const viewer = await openAs('viewer', `/endpoints/${id}/settings`, { isBrowserless: true });
    assert.equal(await viewer.page.getByRole('link', { name: 'Use it now' }).count(), 0);
  });

  it('can be one that was agreed on, used immediately: it is not shown, and no other is made', async (t) => {
    const { openAs, receiver, admin } = await startDeliverPortal(t);
    const at = receiver.endpoint('/in', { secret: 'the one after' });
    const { id } = await makeEndpoint(admin, { ...at, secret: 'the one before' }, { name: 'Shop' });
    const { page, open } = await openAs('administrator', `/endpoints/${id}/rotate-secret`, { isBrowserless: true });
    await page.getByLabel('Immediately').check();
    await page.getByText('Use an existing secret').click();
    await page.locator('#field-secret').fill('the one after');
    await page.getByRole('button', { name: 'Create the new secret' }).click();
    await page.getByText('The new secret signs from now on.').waitFor();
    assert.ok(!(await page.content()).includes('the one after'));
    await open(`/endpoints/${id}/settings`);
    await page.getByRole('button', { name: 'Verify now: the endpoint Shop' }).click();
    await page.getByText('Shop passed the challenge and is enabled.').waitFor();
  });

  it('may be sent beside the old one, if a webhook of the endpoint signs as Standard Webhooks', async (t) => {
    const { openAs, receiver, admin } = await startDeliverPortal(t);
    const { id } = await makeEndpoint(admin, receiver.endpoint('/in'), { name: 'Shop' });
    const body = { name: 'Orders', endpointId: id, eventTypes: ['webhook.test'], format: 'standard' };
    await succeeded(admin.post('webhooks', body));
    const { page } = await openAs('administrator', `/endpoints/${id}/rotate-secret`, { isBrowserless: true });
    assert.equal(await page.locator('[name=overlapSeconds]').count(), 1);
  });

  it('is refused beside its field', async (t) => {
    const { openAs, receiver, admin } = await startDeliverPortal(t);
    const { id } = await makeEndpoint(admin, receiver.endpoint('/in'));
    const { page, open } = await openAs('administrator', `/endpoints/${id}/rotate-api-key`, {
      isBrowserless: true,
      expecting: [400, 404],
    });
    await page.getByText('Use an existing API key').click();
    await page.locator('#field-apiKey').fill('short');
    await page.getByRole('button', { name: 'Create the new API key' }).click();
    await page.locator('#field-apiKey-problem').getByText('must be 32 hexadecimal digits').waitFor();
    assert.equal(await open('/endpoints/none/rotate-secret'), 404);
  });
});

describe('a new API key', () => {
  it('waits beside the old one, and both are there to be copied', async (t) => {
    const { openAs, receiver, admin } = await startDeliverPortal(t);
    const at = receiver.endpoint('/in');
    const { id } = await makeEndpoint(admin, at, { name: 'Shop' });
    const { page, open } = await openAs('administrator', `/endpoints/${id}/rotate-api-key`, { isBrowserless: true });
    await page.getByRole('button', { name: 'Create the new API key' }).click();
    await page.getByText('The new API key is scheduled. Give it to the receiver.').waitFor();
    const { nextApiKey } = await succeeded<EndpointView>(admin.get(`endpoints/${id}`));
    assert.notEqual(await page.getByText(String(nextApiKey)).count(), 0);
    assert.notEqual(await page.getByText(at.apiKey).count(), 0);
    await open(`/endpoints/${id}/rotate-api-key`);
    await page.getByText('Another new API key is already scheduled.').waitFor();
    await page.getByLabel('Immediately').check();
    await page.getByRole('button', { name: 'Create the new API key' }).click();
    await page.getByText('The new API key is sent from now on.').waitFor();
    assert.equal(await page.getByText(String(nextApiKey)).count(), 0);
    assert.equal(await page.getByText(at.apiKey).count(), 0);
  });
});

describe('the OAuth settings of an endpoint', () => {
  for (const isScriptless of [false, true]) {
    it(`are tried by a button ${isScriptless ? 'without' : 'with'} JavaScript: status and body are shown, and no token`, async (t) => {
      const { openAs, receiver, admin } = await startDeliverPortal(t);
      const server = createAuthorizationServer(receiver, '/token', { expires_in: 600, scope: MARKUP });
      const { id } = await makeEndpoint(admin, receiver.endpoint('/in'), { name: 'Shop', oauth: server.oauth });
      const { page, isAccessible } = await openAs('operator', `/endpoints/${id}/settings`, {
        isBrowserless: isScriptless,
      });
      const oauth = page.locator('#oauth');
      await page.getByRole('button', { name: 'Request a token' }).click();
      await oauth.getByText(/The server issued a token after/).waitFor();
      const shown = await oauth.innerText();
      assert.match(shown, /"access_token":"\[secret\]"/);
      assert.match(shown, /token_type\s+bearer/);
      assert.ok(shown.includes(MARKUP));
      for (const token of server.issued) assert.ok(!(await page.content()).includes(token), 'a token was shown');
      if (!isScriptless) await isAccessible();

      server.answer(() => ({ status: 401, body: '{"error":"invalid_client"}' }));
      await page.getByRole('button', { name: 'Request a token' }).click();
      await oauth.getByText('The token endpoint answered 401.').waitFor();
      await oauth.getByText('{"error":"invalid_client"}').waitFor();
      await oauth.getByText('Check token URL, client id').waitFor();
      assert.equal(server.requests.length, 2);
    });
  }
});
