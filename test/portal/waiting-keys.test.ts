/** The keys that wait, on the page of a webhook with order by key. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { WaitingKeys } from '../../src/webhooks/waiting-keys.ts';
import { succeeded } from '../support/client.ts';
import { MARKUP, startDeliverPortal } from '../support/deliver-portal.ts';
import { until } from '../support/dispatching.ts';
import { connect, deliveriesOf, makeEventType } from '../support/journey.ts';

const TYPE = 'order.created';
/** The second attempt comes after the test. */
const LATER = { ordered: 'key', heartbeatSeconds: 0, retry: { policy: 'schedule', delaysSeconds: [3600] } };

it('a key that holds others back is shown, given up, and its records are sent again', async (t) => {
  const d = await startDeliverPortal(t);
  const { admin } = d;
  await makeEventType(admin, TYPE);
  const dock = await connect(d, [TYPE], { webhook: { ...LATER, maxBatchRecords: 1 } });
  dock.at.answer(() => ({ status: 503 }));
  const events = ['order-17', 'order-17'].map((orderingKey) => ({ type: TYPE, data: {}, orderingKey }));
  await succeeded(admin.post('events', { events }));
  const waiting = () => succeeded<WaitingKeys>(admin.get(`webhooks/${dock.webhook.id}/waiting-keys`));
  await until('both records of the key', async () => (await waiting()).items[0]?.waitingRecords === 2);

  const viewer = await d.openAs('viewer', `/webhooks/${dock.webhook.id}`, { isBrowserless: true });
  await viewer.page.getByRole('heading', { name: '1 key waits; key order-17 failed once' }).waitFor();
  assert.equal(await viewer.page.getByRole('button', { name: /^Give up/ }).count(), 0);
  await viewer.page.getByRole('link', { name: 'order-17', exact: true }).click();
  await viewer.page.getByRole('link', { name: 'Remove key:order-17' }).waitFor();
  assert.equal(await viewer.page.getByRole('table', { name: 'Deliveries' }).getByRole('row').count(), 3);

  const { page, isAccessible } = await d.openAs('operator', `/webhooks/${dock.webhook.id}`);
  await isAccessible();
  const row = page.getByRole('table', { name: 'Waiting keys' }).getByRole('row').filter({ hasText: 'order-17' });
  await row.getByRole('button', { name: 'Give up the pending deliveries of the key order-17' }).click();
  await page.getByText('The pending deliveries of the key order-17 are given up.').waitFor();
  assert.deepEqual((await waiting()).items, []);
  assert.equal(await page.locator('#waiting-keys').count(), 0);
  const states = (await deliveriesOf(admin, dock.webhook)).map(({ state }) => state);
  assert.deepEqual(states, ['dead', 'dead']);
});

it('a key is text, not markup', async (t) => {
  const d = await startDeliverPortal(t);
  const { admin } = d;
  await makeEventType(admin, TYPE);
  const dock = await connect(d, [TYPE], { webhook: LATER });
  dock.at.answer(() => ({ status: 503 }));
  await succeeded(admin.post('events', { type: TYPE, data: {}, orderingKey: MARKUP }));
  await d.portal.service.log.nextAttempt(dock.webhook.id);
  const { page } = await d.openAs('operator', `/webhooks/${dock.webhook.id}`, { isBrowserless: true });
  const row = page.getByRole('table', { name: 'Waiting keys' }).getByRole('row').filter({ hasText: MARKUP });
  assert.equal(await row.getByRole('link', { name: 'Send dead ones again' }).count(), 1);
});
