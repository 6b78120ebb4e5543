/** The pages about a webhook's format: the form that asks for it, the preview of the request, and the curl command. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { previewCommand } from '../../src/portal/webhooks/request-preview.ts';
import type { WebhookView } from '../../src/webhooks/webhook-schema.ts';
import { type ApiClient, succeeded } from '../support/client.ts';
import { startDeliverPortal } from '../support/deliver-portal.ts';
import { makeEndpoint, makeEventType } from '../support/journey.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

const TYPE = 'order.placed';

async function onlyWebhook(admin: ApiClient): Promise<WebhookView> {
  const { items } = await succeeded<{ items: WebhookView[] }>(admin.get('webhooks'));
  return items[0] ?? assert.fail('there is no webhook');
}

describe('the form of a webhook', () => {
  it('asks what the receiver expects, shows the request, and creates the webhook in this format', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    await succeeded(admin.post('event-types', { name: TYPE, sample: { orderId: 17 } }));
    await makeEndpoint(admin, receiver.endpoint('/in'));
    const { page, isAccessible } = await openAs('administrator', '/webhooks/new');
    await page.getByRole('group', { name: 'What does your receiver expect?' }).waitFor();
    // Settings that the format or the schedule lacks are out of the way.
    assert.equal(await page.getByText('Order, batches and rate').isVisible(), false, 'experts unfold it');
    await page.getByText('Advanced').click();
    await page.getByText('Order, batches and rate').click();
    await page.getByText('Retries, time-out and heartbeat').click();
    const settings = [
      page.getByLabel('Several CloudEvents in one body'),
      page.getByText('Leave out the data'),
      page.getByLabel('Attempts'),
      page.getByLabel('Delays of a schedule'),
    ];
    const shown = async (): Promise<boolean[]> => Promise.all(settings.map((setting) => setting.isVisible()));
    assert.deepEqual(await shown(), [false, false, true, false]);
    await page.getByLabel('CloudEvents', { exact: true }).check();
    await page.getByLabel('Schedule', { exact: true }).check();
    assert.deepEqual(await shown(), [true, true, false, true]);
    await page.getByLabel('Several CloudEvents in one body').check();
    await page.getByLabel('Exponential').check();
    await page.getByLabel('Standard Webhooks', { exact: true }).check();
    assert.deepEqual(await shown(), [true, true, true, false], 'what is ticked stays in sight');
    await page.getByLabel('Several CloudEvents in one body').uncheck();
    assert.equal((await shown())[0], false);
    await page.locator('input[name="name"]').fill('Orders');
    await page.getByLabel(TYPE).first().check();
    await page.getByRole('button', { name: 'Show the request' }).click();
    const sent = page.getByRole('group', { name: 'Request' });
    await sent.getByText('webhook-signature: v1,').waitFor();
    await sent.getByText('x-api-key: [secret]').waitFor();
    await page.getByRole('group', { name: 'Body' }).getByText('"orderId": 17').waitFor();
    await page.getByRole('button', { name: 'Copy as curl' }).waitFor();
    await isAccessible();
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    await page.getByText('Orders was created').waitFor();
    const { format, maxBatchRecords, heartbeatSeconds } = await onlyWebhook(admin);
    assert.deepEqual([format, maxBatchRecords, heartbeatSeconds], ['standard', 1, 0]);
    await page.getByRole('link', { name: 'Settings', exact: true }).last().click();
    await page.getByText('Standard Webhooks', { exact: true }).first().waitFor();
  });
});

describe('the preview of a request', () => {
  it('names the missing fields, hides secrets, and shows an encoded body in clear', async (t) => {
    const service = await startService(t);
    const { admin } = service;
    await makeEventType(admin, TYPE);
    const { token } = await newSession(service, 'administrator');
    const place = {
      url: 'https://receiver.example/in',
      secret: 'c2VjcmV0IHNlY3JldCBzZWNyZXQ=',
      apiKey: 'ab'.repeat(16),
    };
    const plain = await makeEndpoint(admin, place);
    const zipped = await makeEndpoint(admin, place, { contentEncoding: 'gzip' });
    const preview = async (form: Record<string, string>): Promise<string> => {
      const { status, text } = await request(`${service.url}/webhooks/new/request-preview`, {
        token,
        form: { name: '', eventTypes: TYPE, 'retry.policy': 'exponential', maxBatchRecords: '100', ...form },
      });
      assert.equal(status, 200);
      return text;
    };
    const example = await preview({ endpointId: '' });
    assert.match(example, /No endpoint is chosen yet/);
    assert.match(example, /POST https:\/\/receiver\.example\/webhooks/);
    assert.match(example, /x-api-key: \[secret\]/);
    assert.match(await preview({ endpointId: plain.id, mode: 'pull' }), /nothing is sent/);
    assert.match(await preview({ endpointId: plain.id, encryptionKeyName: 'none' }), /There is no such key/);
    assert.match(await preview({ endpointId: plain.id, maxBatchRecords: 'many' }), /Events per batch must be a number/);
    const event = await preview({ endpointId: plain.id, format: 'cloudevents', heartbeatSeconds: '300' });
    assert.match(event, /content-type: application\/cloudevents\+json/);
    assert.match(event, /x-api-key: \[secret\]/);
    assert.match(event, /curl -X POST &#39;https:\/\/receiver\.example\/in&#39;|curl -X POST 'https/);
    for (const secret of [plain.secret, plain.apiKey]) assert.ok(!event.includes(secret));
    const binary = await preview({ endpointId: zipped.id, format: 'cloudevents-binary', thin: 'on' });
    assert.match(binary, /ce-url: http/);
    assert.match(binary, /The body is empty/);
    const body = await preview({ endpointId: zipped.id, format: 'cloudevents-binary' });
    assert.match(body, /before it is compressed and encrypted to \d+ bytes/);
    assert.match(body, /cannot be part of a curl command/);
  });
});

it('the curl command has every header and the body, whatever they hold, for a POSIX shell', () => {
  const text = fc.string({ unit: fc.constantFrom(...'a\'"$`\\ !;&|\n{}é') });
  fc.assert(
    fc.property(text, text, (value, clear) => {
      const command = previewCommand({ url: "https://receiver.example/it's", headers: { 'x-a': value }, clear });
      // The shell calls a function named curl that prints its arguments, each followed by a mark.
      const script = `curl() { printf '%s\\001' "$@"; }\n${command}\n`;
      const args = execFileSync('sh', { input: script, encoding: 'utf8' }).split('\u0001').slice(0, -1);
      assert.deepEqual(args, [
        '-X',
        'POST',
        "https://receiver.example/it's",
        '-H',
        `x-a: ${value}`,
        '--data-binary',
        clear,
      ]);
    }),
    { numRuns: 30 },
  );
});
