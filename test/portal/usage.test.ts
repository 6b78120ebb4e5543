/** The pages of usage in the operator's portal and in a customer's, by requests. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { startPortal } from '../support/browser.ts';
import { succeeded } from '../support/client.ts';
import { readCsv } from '../support/csv.ts';
import { makeCustomer, sessionOf } from '../support/customers.ts';
import { makeEventType } from '../support/journey.ts';
import { startService } from '../support/service.ts';

const TYPE = 'order.placed';

async function page(url: string, token: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url, { headers: { cookie: `${SESSION_COOKIE}=${token}`, accept: 'text/html' } });
  return { status: response.status, text: await response.text() };
}

describe('the usage in the portal', () => {
  it('lists all customers, opens one with its limits and days, and can be downloaded', async (t) => {
    const portal = await startPortal(t);
    const { admin } = portal.service;
    await makeEventType(admin, TYPE);
    const customer = await makeCustomer(portal.service);
    await succeeded(admin.patch(`customers/${customer.id}`, { name: 'Acme', limits: { endpoints: 0, webhooks: 4 } }));
    const events = Array.from({ length: 3 }, () => ({ type: TYPE, data: {}, customerId: customer.id }));
    await succeeded(admin.post('events', { events }));
    const { page: shown, open, isAccessible } = await portal.signIn('viewer');
    assert.equal(await open('/usage'), 200);
    await isAccessible();
    assert.match(await shown.locator('.figures').innerText(), /Events\s+3\s+published/);
    const plain = await portal.signIn('viewer', { isBrowserless: true });
    assert.equal(await plain.open('/customers'), 200);
    assert.match(
      await plain.page.getByRole('row', { name: /Acme/ }).innerText(),
      /active\s+no attempts in 24 h\s+0\s+today\s+0\s+0/,
    );
    await shown.getByRole('link', { name: 'Acme' }).click();
    await shown.getByRole('heading', { name: 'Limits' }).waitFor();
    const text = await shown.locator('main').innerText();
    assert.match(text, /0 of 0/);
    assert.match(text, /0 of 4/);
    assert.match(text, /The limit of endpoints is reached/);
    assert.match(text, /Events a second\s+no limit/);
    assert.match(text, /Events per day\s+busiest: 3 on .+/);
    // Every day of the period has its place, of ten units.
    const drawn = shown.locator('.usage-bars').first();
    assert.match((await drawn.locator('svg').getAttribute('viewBox')) ?? '', /^0 0 300 /);
    assert.equal(await drawn.locator('rect').count(), 1);
    assert.match((await drawn.locator('rect title').last().textContent()) ?? '', /^[A-Z\d][^-]+ \d{4}: 3$/);
    await isAccessible();
    const download = shown.waitForEvent('download');
    await shown.getByRole('link', { name: 'Download as CSV' }).click();
    assert.match((await download).suggestedFilename(), /^usage-[\d-]+\.csv$/);
    await shown.getByRole('link', { name: 'Last month' }).click();
    await shown.getByText('Nothing was used').waitFor();
  });

  it('is bounded by limits that the form of the customer sets and removes', async (t) => {
    const portal = await startPortal(t);
    const { admin } = portal.service;
    const { id } = await makeCustomer(portal.service);
    const { page: shown, open } = await portal.signIn('administrator', { isBrowserless: true });
    const limits = async (): Promise<unknown> =>
      (await succeeded<{ limits: unknown }>(admin.get(`customers/${id}`))).limits;
    const save = async (endpoints: string, eventsPerSecond: string): Promise<void> => {
      assert.equal(await open(`/customers/${id}/edit`), 200);
      await shown.getByRole('spinbutton', { name: 'Maximum endpoints' }).fill(endpoints);
      await shown.getByRole('spinbutton', { name: 'Events per second' }).fill(eventsPerSecond);
      await shown.locator('main form .button-primary').click();
      await shown.waitForURL(`**/customers/${id}`);
    };
    await save('5', '70');
    assert.deepEqual(await limits(), { endpoints: 5, webhooks: 100, eventsPerSecond: 70 });
    await shown.getByRole('link', { name: 'Settings', exact: true }).last().click();
    assert.match(await shown.locator('main').innerText(), /Limits\s+5 endpoints, 100 webhooks, 70 events a second/);
    await shown.getByRole('navigation', { name: 'The customer' }).getByRole('link', { name: 'Usage' }).click();
    assert.match(await shown.locator('main').innerText(), /Endpoints\s+0 of 5/);
    await save('', '70');
    assert.deepEqual(await limits(), { endpoints: 50, webhooks: 100, eventsPerSecond: 70 });
  });

  it("shows a customer only its own, and has no page of others'", async (t) => {
    const service = await startService(t);
    const { admin, url } = service;
    await makeEventType(admin, TYPE);
    const [mine, other] = [await makeCustomer(service), await makeCustomer(service)];
    for (const [customerId, count] of [
      [mine.id, 2],
      [other.id, 77],
    ] as const)
      await succeeded(
        admin.post('events', { events: Array.from({ length: count }, () => ({ type: TYPE, data: {}, customerId })) }),
      );
    const token = await sessionOf(service, mine, 'link', 'viewer');
    const own = await page(`${url}/usage`, token);
    assert.equal(own.status, 200);
    assert.match(own.text, /busiest: 2 on <time/);
    assert.doesNotMatch(own.text, /\b77 |>77</);
    const csv = await page(`${url}/usage.csv`, token);
    assert.deepEqual(
      readCsv(csv.text).texts.map(([, , id]) => id),
      ['customerId', mine.id],
    );
    for (const path of [
      `/customers/${other.id}/usage`,
      `/customers/${mine.id}/usage`,
      `/customers/${other.id}/usage.csv`,
    ])
      assert.equal((await page(url + path, token)).status, 404, path);
  });
});
