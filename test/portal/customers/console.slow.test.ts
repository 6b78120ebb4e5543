/** No page of the customers' portal logs an error or a warning in the browser's console, in a frame of the product and without one. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BrowserContext } from 'playwright-core';
import { succeeded } from '../../support/client.ts';
import { type Surrounded, startSurrounded } from '../../support/customer-frame.ts';
import { created, makeCustomer } from '../../support/customers.ts';
import { customersPages } from '../../support/portal-pages.ts';
import { type SeededIds, seededPath } from '../../support/portal-seed.ts';
import { pgpVector } from '../../support/vectors.ts';

describe('the pages of the customers’ portal', () => {
  it('log neither errors nor warnings, framed or not', async (t) => {
    const around = await startSurrounded(t);
    const { id, ids } = await customerWithEverything(around);
    // Only the dispatch of pages uses the last one.
    const paths = customersPages()
      .filter(({ method, path, isBackground }) => method === 'GET' && !isBackground && path !== '/missing')
      .flatMap(({ path }) => (path.endsWith('.csv') ? [] : (seededPath(path, ids) ?? [])));
    assert.ok(paths.length > 40, String(paths.length));
    const problems = problemsOf(around.context);

    const { page, frame, events } = await around.surround(await around.link(id));
    await frame.getByRole('heading', { name: 'Overview' }).waitFor();
    for (const path of paths) {
      const shown = (await events()).length;
      await frame.goto(around.portalUrl + path);
      // The script of the frame has run.
      await page.waitForFunction(`window.events.slice(${shown}).some((event) => event.startsWith('height'))`);
    }
    await page.close();

    const tab = await around.context.newPage();
    await tab.goto(await around.link(id));
    for (const path of paths) assert.equal((await tab.goto(around.portalUrl + path))?.status(), 200, path);
    assert.deepEqual(problems, []);
  });
});

/** The messages in the console, and requests that failed. */
function problemsOf(context: BrowserContext): string[] {
  const problems: string[] = [];
  context.on('weberror', (error) => problems.push(String(error.error())));
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(`${message.location().url}: ${message.text()}`);
  });
  context.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? '';
    if (reason !== 'net::ERR_ABORTED') problems.push(`${request.url()}: ${reason}`);
  });
  return problems;
}

/** A pull webhook has its delivery without a receiver. */
async function customerWithEverything({ service }: Surrounded): Promise<{ id: string; ids: SeededIds }> {
  const { admin } = service;
  const { id: customerId, userId, applicationId } = await makeCustomer(service);
  const type = await created(admin, 'event-types', { name: 'order.created', group: 'Orders', sample: { orderId: 7 } });
  const key = await created(admin, 'keys', { customerId, name: 'ours', publicKey: pgpVector('curve25519') });
  const endpoint = await created(admin, 'endpoints', { customerId, name: 'Shop', url: 'https://127.0.0.1:1/hooks' });
  const subscribed = { customerId, eventTypes: ['order.created'] };
  const webhook = await created(admin, 'webhooks', { ...subscribed, name: 'Orders', endpointId: endpoint.id });
  const pull = await created(admin, 'webhooks', { ...subscribed, name: 'Read', mode: 'pull' });
  await succeeded(admin.post(`webhooks/${pull.id}/start`));
  await succeeded(admin.post('events', { type: 'order.created', customerId, data: { orderId: 7 } }));
  const { items } = await succeeded<{ items: { id: string }[] }>(admin.get(`deliveries?webhookId=${pull.id}`));
  const ids = {
    '/users': userId,
    '/applications': applicationId,
    '/event-types': type.id,
    '/keys': key.id,
    '/endpoints': endpoint.id,
    '/webhooks': webhook.id,
    '/deliveries': items[0]?.id ?? '',
  };
  return { id: customerId, ids };
}
