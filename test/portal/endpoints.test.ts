import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EndpointView } from '../../src/webhooks/endpoint-schema.ts';
import type { WebhookView } from '../../src/webhooks/webhook-schema.ts';
import { createAuthorizationServer } from '../support/authorization-server.ts';
import { type ApiClient, succeeded } from '../support/client.ts';
import { MARKUP, startDeliverPortal } from '../support/deliver-portal.ts';
import { until } from '../support/dispatching.ts';
import { makeEndpoint, makeEventType, makeWebhook, only, publish, startWebhook } from '../support/journey.ts';
import { sharedCertificates } from '../support/tls.ts';

async function allWebhooks(admin: ApiClient): Promise<WebhookView[]> {
  return (await succeeded<{ items: WebhookView[] }>(admin.get('webhooks'))).items;
}

describe('the list of endpoints', () => {
  it('explains the first step while it is empty, to roles that may take it', async (t) => {
    const { openAs } = await startDeliverPortal(t);
    const administrator = await openAs('administrator', '/endpoints', { isBrowserless: true });
    await administrator.page.getByRole('heading', { name: 'Create your first endpoint' }).waitFor();
    assert.equal(await administrator.page.getByRole('link', { name: 'New endpoint' }).count(), 1);
    const viewer = await openAs('viewer', '/endpoints', { isBrowserless: true });
    await viewer.page.getByText('An administrator can create one.').waitFor();
    assert.equal(await viewer.page.getByRole('link', { name: 'New endpoint' }).count(), 0);
  });

  it('shows the state of each, its webhooks and its problems, and filters by name and address', async (t) => {
    const { portal, openAs, admin, receiver } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    const shop = await makeEndpoint(admin, receiver.endpoint('/shop'), { name: 'Shop', tokenChallenge: true });
    const erp = { ...receiver.endpoint('/erp'), secret: 'another' };
    const clientCertificate = sharedCertificates().issue({ names: ['us.example'], days: 20 });
    const late = await makeEndpoint(admin, erp, { name: 'ERP', tokenChallenge: true, clientCertificate });
    for (const name of ['one', 'two', 'three', 'four']) await makeWebhook(admin, shop, ['order.created'], { name });
    await makeWebhook(admin, late, ['order.created'], { name: 'five' });
    // The challenge of its creation is no failure of the receiver.
    portal.service.advance(2000);
    await admin.post(`endpoints/${late.id}/verify`);
    await succeeded(admin.post(`endpoints/${shop.id}/rotate-secret`, { activateAfterSeconds: 3600 }));
    await succeeded(admin.post(`endpoints/${shop.id}/rotate-api-key`, { activateAfterSeconds: 3600 }));
    const { page } = await openAs('viewer', '/endpoints');
    const textOf = async (name: string): Promise<string> =>
      (await page.getByRole('row').filter({ hasText: name }).innerText()).replace(/\s+/g, ' ');
    assert.match(
      await textOf('Shop'),
      /A new secret signs from .* enabled verified no attempts in 24 h never none recently one two three and 1 more/,
    );
    assert.match(await textOf('Shop'), /A new API key is sent from/);
    assert.match(
      await textOf('ERP'),
      /The last challenge failed\.\s?One webhook sends here, but the endpoint is not verified\..* disabled unverified no attempts in 24 h/,
    );
    assert.match(await textOf('ERP'), /unverified no attempts in 24 h never none recently five/);
    assert.match(await textOf('ERP'), /The client certificate expires in 20 days\./);
    await page.getByLabel('Name or address').fill('/ERP');
    await page.getByRole('link', { name: 'Shop', exact: true }).waitFor({ state: 'detached' });
    assert.match(page.url(), /\?q=%2FERP$/);
    await page.getByLabel('Name or address').fill('nowhere');
    await page.getByText('No endpoints fit these filters.').waitFor();
  });
});

describe('the health of an endpoint', () => {
  it('is in the list and on its page: success rate, last delivery, last error, and its failing webhooks', async (t) => {
    const { portal, openAs, admin, receiver } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    const at = receiver.endpoint('/shop');
    const shop = await makeEndpoint(admin, at, { name: 'Shop' });
    const retry = { policy: 'linear', maxAttempts: 1 };
    const fields = { name: 'Orders', maxBatchRecords: 1, ordered: true, retry };
    const webhook = await makeWebhook(admin, shop, ['order.created'], fields);
    await startWebhook(admin, webhook);
    for (const answer of [undefined, undefined, undefined, { status: 503 }]) {
      at.answer(() => answer ?? { status: 200 });
      await publish(admin, 'order.created', {});
      await portal.service.log.nextAttempt(webhook.id);
    }
    const { page, open, isAccessible } = await openAs('viewer', '/endpoints');
    assert.equal(await page.getByText('failing').count(), 0, 'it mostly delivers, and fails briefly');
    portal.service.advance(300_000);
    await page.reload();
    const row = (await page.getByRole('row').filter({ hasText: 'Shop' }).innerText()).replace(/\s+/g, ' ');
    assert.match(row, /failing 75\.0 % 4 attempts, 1 failed (now|\d).* answered 503 .* Orders$/);
    await isAccessible();
    // A browser whose clock is behind does not put what has happened ahead.
    await page.clock.setFixedTime(portal.service.clock() - 3_600_000);
    await open(`/endpoints/${shop.id}`);
    await page
      .locator('.page-header')
      .getByText(/^Deliveries have failed since /)
      .waitFor();
    await page.getByText(/^Latest error: the receiver answered 503\./).waitFor();
    await page.getByRole('row', { name: /^Orders failing order\.created 75/ }).waitFor();
    const figures = (await page.locator('.figures').innerText()).replace(/\s+/g, ' ');
    assert.match(
      figures,
      /Succeeded, 24 h 75\.0 % 4 attempts, 1 failed Pending 0 .* Dead 1 .* Last success now .* Last error now .*answered 503/,
    );
    await isAccessible();
  });

  it('is not asked of the figures without a webhook', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    const { id } = await makeEndpoint(admin, receiver.endpoint('/shop'), { name: 'Shop' });
    const { page } = await openAs('viewer', `/endpoints/${id}`, { isBrowserless: true });
    await page.getByText('Nothing is sent here yet').waitFor();
    assert.equal(await page.locator('.figures').count(), 0);
  });
});

describe('the way from an endpoint to its webhook', () => {
  it('has numbered steps, and a refused start names the button to press', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    const { page } = await openAs('administrator', '/endpoints/new', { isBrowserless: true });
    await page.getByLabel('Name').fill('Shop');
    await page.getByLabel('Address').fill(`${receiver.origin}/in`);
    await page.getByLabel('Verify ownership before anything is sent').check();
    await page.getByRole('button', { name: 'Create the endpoint' }).click();
    await page.getByRole('heading', { name: 'Shop is created' }).waitFor();
    const steps = await page.getByRole('heading', { level: 2 }).allInnerTexts();
    assert.deepEqual(steps.slice(0, 3), [
      '1. Hand over the secret and the address',
      '2. Verify ownership',
      '3. Create a webhook',
    ]);
    await page.getByRole('link', { name: 'Create a webhook' }).click();
    await page.getByLabel('Name', { exact: true }).first().fill('Orders');
    await page.getByLabel('order.created').check();
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    await page.getByText('open the endpoint Shop and press “Verify now”').waitFor();
    const notice = await page.locator('.notice-negative').first().innerText();
    assert.doesNotMatch(notice, /POST|PATCH|sallyport endpoint/);
  });
});

describe('the events of a new endpoint', () => {
  it('make a webhook in the same form, and the page of the endpoint shows its deliveries', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    await succeeded(admin.post('event-types', { name: 'order.secret', encryptionRequired: true }));
    const { page, open, isAccessible } = await openAs('administrator', '/endpoints/new', { expecting: [400] });
    assert.equal(await page.getByLabel('Verify ownership before anything is sent').isChecked(), true);
    assert.equal(await page.getByLabel('order.secret').count(), 0, 'it needs a key');
    await isAccessible();
    await page.getByLabel('Name').fill('Shop');
    await page.getByLabel('Address').fill(`${receiver.origin}/in`);
    await page.getByLabel('Do not verify').check();
    await page.getByLabel('order.*').check();
    await page.getByRole('button', { name: 'Create the endpoint' }).click();
    await page
      .locator('#field-eventTypes-problem')
      .getByText('events of type order.secret must be encrypted')
      .waitFor();
    await page.getByLabel('order.*').uncheck();
    await page.getByLabel('order.created').check();
    await page.getByRole('button', { name: 'Create the endpoint' }).click();
    await page.getByRole('heading', { name: '2. Send a test event' }).waitFor();
    const [webhook, ...others] = await allWebhooks(admin);
    assert.deepEqual([webhook?.name, webhook?.eventTypes, webhook?.state], ['Shop', ['order.created'], 'started']);
    assert.deepEqual(others, []);

    receiver.endpoint('/in').answer(() => ({ status: 500 }));
    await publish(admin, 'order.created', { n: 1 });
    await until('an attempt', async () => (await allWebhooks(admin))[0]?.state === 'failing');
    await open(`/endpoints/${webhook?.endpointId}`);
    await page.locator('#throughput canvas').first().waitFor();
    await page
      .locator('#deliveries')
      .getByRole('row', { name: /^pending order\.created #0 .*400/ })
      .waitFor();
    await succeeded(admin.post(`webhooks/${webhook?.id}/stop`));
    await page.getByRole('button', { name: 'Start the webhook Shop' }).waitFor();
    await isAccessible();
  });
});

describe('creating an endpoint', () => {
  it('shows each problem beside its field, keeps the typed values, and repeats no secret', async (t) => {
    const { openAs, admin } = await startDeliverPortal(t);
    const { page, isAccessible } = await openAs('administrator', '/endpoints/new', { expecting: [400] });
    await page.getByLabel('Name').fill(MARKUP);
    await page.getByLabel('Address').fill('http://shop.example/');
    await page.getByText('Use an existing secret or API key').click();
    await page.locator('#field-secret').fill('a secret of ours');
    await page.locator('#field-apiKey').fill('not hexadecimal');
    await page.locator('.advanced > summary').click();
    await page.getByText('OAuth: a bearer token').click();
    await page.getByLabel('Client secret').fill('a client secret');
    await page.getByText('Client certificate: for mutual TLS').click();
    await page.getByLabel('Private key').fill('-----BEGIN PRIVATE KEY-----');
    await page.getByRole('button', { name: 'Create the endpoint' }).click();
    await page.getByText('API key must be 32 hexadecimal digits.').waitFor();
    await page.getByRole('alert').getByText('Client id must be 1 to 512 visible ASCII characters').waitFor();
    assert.equal(await page.getByLabel('Name').inputValue(), MARKUP);
    const markup = await page.content();
    for (const secret of ['a secret of ours', 'a client secret']) assert.ok(!markup.includes(secret), secret);
    assert.equal(await page.getByLabel('Private key').inputValue(), '', 'a private key was put back');
    await isAccessible();
    await page.getByRole('link', { name: /^API key/ }).click();
    assert.equal(await page.evaluate('document.activeElement.id'), 'field-apiKey');
    assert.deepEqual((await admin.get<{ items: unknown[] }>('endpoints')).body.items, []);
  });

  it('refuses an address that is not sent to, beside its field', async (t) => {
    const { openAs } = await startDeliverPortal(t);
    const { page } = await openAs('administrator', '/endpoints/new', { expecting: [400], isBrowserless: true });
    await page.getByLabel('Name').fill('Metadata');
    await page.getByLabel('Address').fill('https://169.254.169.254/latest');
    await page.getByRole('button', { name: 'Create the endpoint' }).click();
    const problem = page.locator('#field-url-problem');
    assert.match(
      await problem.innerText(),
      /^Address cannot be used: 169\.254\.169\.254 is .*, and events go to public addresses only/,
    );
    assert.equal(await page.getByLabel('Address').getAttribute('aria-invalid'), 'true');
    assert.match((await page.getByLabel('Address').getAttribute('aria-describedby')) ?? '', /field-url-problem/);
  });

  it('shows the secret once, with code in seven languages, and no way back to it', async (t) => {
    const { openAs, receiver, admin } = await startDeliverPortal(t);
    const { page, isAccessible } = await openAs('administrator', '/endpoints/new');
    await page.getByLabel('Name').fill('Shop');
    await page.getByLabel('Address').fill(`${receiver.origin}/in`);
    await page.getByText('Recommended. The receiver must sign a challenge').waitFor();
    await page.getByLabel('Do not verify').check();
    await page.getByRole('button', { name: 'Create the endpoint' }).click();
    await page.getByText('Hand over the secret, then choose the events.').waitFor();
    await page.getByRole('heading', { name: '2. Create a webhook' }).waitFor();
    const secret = await page.getByRole('group', { name: 'Secret' }).locator('code').innerText();
    const line = await page.getByRole('group', { name: 'For the environment of the program' }).innerText();
    assert.match(line, /^export WEBHOOK_SECRETS='[^']+' WEBHOOK_API_KEYS='[0-9a-f]{32}'\s*$/);
    assert.ok(line.includes(`'${secret}'`));
    assert.ok((await page.locator('a[href^="/downloads/"]').count()) >= 6);
    await page.getByRole('button', { name: 'Copy the secret' }).click();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), secret);
    for (const language of ['TypeScript', 'Python', 'Go', 'Java', 'C#', 'PHP', 'Ruby']) {
      await page.getByRole('tab', { name: language, exact: true }).click();
      await page
        .getByRole('tabpanel', { name: language, exact: true })
        .getByText(/verify|isAuthentic|createReceiver/i)
        .first()
        .waitFor();
    }
    await isAccessible();
    await page.reload();
    await page.getByText('The secret was shown once, and is not shown again.').waitFor();
    assert.ok(!(await page.content()).includes(secret));
    await page.getByRole('link', { name: 'Go to the endpoint' }).click();
    await page.getByRole('heading', { name: 'Shop', exact: true }).waitFor();
    const { items } = (await admin.get<{ items: EndpointView[] }>('endpoints')).body;
    assert.equal(items.length, 1, 'loading the page again creates no other');
    const { id } = only(items);
    const later = await openAs('administrator', '/endpoints', { isBrowserless: true });
    for (const path of ['', '/receiver', '/edit', '/rotate-secret']) {
      await later.open(`/endpoints/${id}${path}`);
      assert.ok(!(await later.page.content()).includes(secret), path);
    }
    assert.equal(receiver.requests.length, 0, 'nothing had to be proved');
  });

  it('shows no typed secret, and the state of the challenge', async (t) => {
    const { openAs, receiver } = await startDeliverPortal(t);
    const { page } = await openAs('administrator', '/endpoints/new', { isBrowserless: true });
    await page.getByLabel('Name').fill('Shop');
    await page.getByLabel('Address').fill(`${receiver.origin}/nobody`);
    await page.getByText('Use an existing secret or API key').click();
    await page.locator('#field-secret').fill('as it was agreed on');
    await page.getByLabel('Verify ownership before anything is sent').check();
    await page.getByRole('button', { name: 'Create the endpoint' }).click();
    await page.getByText('The first challenge failed').waitFor();
    assert.ok(!(await page.content()).includes('as it was agreed on'));
    await page.getByRole('link', { name: 'See the response' }).click();
    await page.getByText("Check the path of the endpoint's URL").waitFor();
    await page.getByText('Not verified yet. The endpoint answered 404 instead of 200. Correct that').waitFor();
  });
});

describe('an endpoint', () => {
  it('shows the response to a failed challenge beside the expected one, with advice', async (t) => {
    const { openAs, receiver, admin } = await startDeliverPortal(t);
    const at = receiver.endpoint('/in');
    at.answerChallenge({ status: 200, headers: { 'x-challenge-sha256': 'mistaken' }, body: MARKUP });
    const { id } = await makeEndpoint(admin, at, { name: MARKUP, tokenChallenge: true });
    const { page, open, isAccessible } = await openAs('operator', `/endpoints/${id}`);
    await page.getByText('The signature has 44 Base64 characters').waitFor();
    const came = page.getByRole('group', { name: 'Received' });
    assert.match(await came.innerText(), /as expected:\s+200\s+not as expected:\s+x-challenge-sha256: mistaken/);
    assert.ok((await came.innerText()).includes(MARKUP));
    const token = String(at.challenges[0]?.headers['x-challenge-sha256']);
    assert.ok((await page.getByRole('group', { name: 'Sent' }).innerText()).includes(token));
    assert.ok((await page.getByRole('group', { name: 'Expected' }).innerText()).includes(`POST/in${token}`));
    assert.notEqual(await page.title(), 'broken');
    await isAccessible();
    // Rightly from now on.
    receiver.endpoint('/in', { secret: at.secret, apiKey: at.apiKey });
    await page.getByRole('button', { name: /^Verify now/ }).click();
    await page.getByText('passed the challenge and is enabled.').waitFor();
    // Where it was before it was verified, the link to the tab with it goes on.
    await open(`/endpoints/${id}#challenge`);
    await page.waitForURL(`**/endpoints/${id}/settings#challenge`);
    assert.match(await came.innerText(), /as expected:\s+200\s+as expected:\s+x-challenge-sha256: [A-Za-z0-9+/]{43}=/);
  });

  it('is changed: secrets stay, a new address must be verified again, settings can be removed', async (t) => {
    const { openAs, receiver, admin } = await startDeliverPortal(t);
    const at = receiver.endpoint('/in');
    const oauth = createAuthorizationServer(receiver, '/token').oauth;
    const { certificate, privateKey } = sharedCertificates().client;
    const made = await makeEndpoint(admin, at, {
      name: 'Shop',
      tokenChallenge: true,
      oauth,
      contentEncoding: 'gzip',
      clientCertificate: { certificate, privateKey },
    });
    const { page, open } = await openAs('administrator', `/endpoints/${made.id}/edit`, {
      isBrowserless: true,
      expecting: [400],
    });
    const read = async (): Promise<EndpointView> => succeeded(admin.get(`endpoints/${made.id}`));
    await page.getByLabel('Name').fill('Corner shop');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Corner shop is saved.').waitFor();
    const { name, updatedAt, ...rest } = await read();
    const { name: _, updatedAt: __, secret: ___, ...before } = made;
    assert.deepEqual([name, rest], ['Corner shop', before], 'nothing else has changed');

    await open(`/endpoints/${made.id}/edit`);
    await page.getByLabel('Token URL').fill('https://elsewhere.example/token');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Client secret is required: the one that is kept is not sent to another server.').waitFor();

    await open(`/endpoints/${made.id}/edit`);
    await page.getByLabel('Send a bearer token').uncheck();
    await page.getByLabel('Present a client certificate').uncheck();
    await page.getByLabel('Address').fill(`${receiver.origin}/elsewhere`);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('It failed the challenge and stays disabled until ownership is verified.').waitFor();
    const moved = await read();
    assert.deepEqual([moved.oauth, moved.clientCertificate, moved.verified, moved.enabled], [null, null, false, false]);
  });

  it('is switched off and on', async (t) => {
    const { openAs, receiver, admin } = await startDeliverPortal(t);
    const { id } = await makeEndpoint(admin, receiver.endpoint('/in'), { name: 'Shop' });
    const { page } = await openAs('administrator', `/endpoints/${id}`, { isBrowserless: true });
    await page.getByRole('button', { name: 'Disable the endpoint Shop' }).click();
    await page.getByText('The endpoint is disabled: nothing is sent here.').waitFor();
    await page.getByText('an administrator disabled the endpoint').waitFor();
    await page.getByRole('button', { name: 'Enable the endpoint Shop' }).click();
    await page.locator('.page-header').getByText('It is enabled. No webhook sends here yet.').waitFor();
    assert.equal((await succeeded<EndpointView>(admin.get(`endpoints/${id}`))).enabled, true);
  });

  it('is not deleted while webhooks send there: it says which', async (t) => {
    const { openAs, receiver, admin } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    const endpoint = await makeEndpoint(admin, receiver.endpoint('/in'), { name: 'Shop' });
    const { id } = await makeWebhook(admin, endpoint, ['order.created'], { name: 'Orders' });
    const { page, open } = await openAs('administrator', `/endpoints/${endpoint.id}/settings`);
    const removal = page.locator('#delete');
    await removal.getByText('A webhook sends here, so the endpoint cannot be deleted.').waitFor();
    assert.deepEqual(await removal.getByRole('link').allInnerTexts(), ['Orders']);
    await open(`/endpoints/${endpoint.id}/delete`);
    await page.getByText('A webhook uses it, so it cannot be deleted.').waitFor();
    await page.getByRole('link', { name: 'Orders' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Delete the endpoint' }).count(), 0);
    await succeeded(admin.delete(`webhooks/${id}`));
    await open(`/endpoints/${endpoint.id}`);
    await page.getByText('Nothing is sent here yet').waitFor();
    await page.getByRole('link', { name: 'Settings', exact: true }).last().click();
    await page.getByRole('link', { name: 'Delete the endpoint' }).click();
    await page.getByRole('button', { name: 'Delete the endpoint' }).click();
    await page.getByText('The endpoint Shop is deleted.').waitFor();
    assert.deepEqual((await admin.get<{ items: unknown[] }>('endpoints')).body.items, []);
  });

  it('offers to viewers nothing, and to operators only the challenge and the test', async (t) => {
    const { openAs, receiver, admin } = await startDeliverPortal(t);
    const { oauth } = createAuthorizationServer(receiver, '/token');
    const { id } = await makeEndpoint(admin, receiver.endpoint('/in'), { name: 'Shop', oauth });
    for (const [role, offered] of [
      ['viewer', []],
      ['operator', ['Request a token with the settings of Shop', 'Verify now: the endpoint Shop']],
    ] as const) {
      const { page } = await openAs(role, `/endpoints/${id}/settings`, { isBrowserless: true });
      const buttons = await page.locator('main form button').evaluateAll((all) => all.map((one) => one.ariaLabel));
      assert.deepEqual(buttons, offered);
      assert.equal(
        await page.locator('main a[href$="/edit"], main a[href$="/delete"], main a[href*="rotate"]').count(),
        0,
      );
    }
  });
});
