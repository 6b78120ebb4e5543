/** The filter in the form of a webhook: completion, preview, and both without a script or a mouse. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { filterProblem } from '../../src/domain/filter.ts';
import { COMPARISONS } from '../../src/domain/filter-text.ts';
import type { WebhookView } from '../../src/webhooks/webhook-schema.ts';
import { succeeded } from '../support/client.ts';
import { MARKUP, startDeliverPortal } from '../support/deliver-portal.ts';
import { makeEndpoint, makeWebhook, publish } from '../support/journey.ts';

async function start(t: TestContext) {
  const portal = await startDeliverPortal(t);
  const { admin, receiver } = portal;
  await succeeded(
    admin.post('event-types', {
      name: 'order.placed',
      sample: { total: 40, country: 'DE', note: MARKUP },
      dataSchema: {
        type: 'object',
        properties: { country: { enum: ['DE', 'FR', 'IT'] }, total: { type: 'number', description: 'With tax.' } },
      },
    }),
  );
  await succeeded(admin.post('event-types', { name: 'stock.moved' }));
  await publish(admin, 'stock.moved', { warehouse: { code: 'north' } });
  await publish(admin, 'order.placed', { total: 150, country: 'DE' }, { total: 7, country: 'IT', note: MARKUP });
  const endpoint = await makeEndpoint(admin, receiver.endpoint('/in'), { name: 'Shop' });
  return { ...portal, endpoint };
}

const suggestions = (page: Page) => page.getByRole('listbox', { name: 'Suggestions' }).getByRole('option');
const texts = async (page: Page): Promise<string[]> => suggestions(page).locator('code').allInnerTexts();

describe('the editor of a filter', () => {
  it('completes paths, operators and values by keyboard, for the events that are chosen', async (t) => {
    const { openAs, admin } = await start(t);
    const { page, isAccessible } = await openAs('administrator', '/webhooks/new');
    await page.locator('#field-name').fill('Large orders');
    await page.getByLabel('Endpoint').selectOption({ label: 'Shop' });
    const loaded = page.waitForResponse((reply) => reply.url().includes('order.placed'));
    await page.getByLabel('order.placed').check();
    await loaded;
    await page.getByText('Filter: only events that meet conditions').click();
    await page.getByText('As JSON', { exact: true }).click();
    const filter = page.getByLabel('Filter', { exact: false }).and(page.locator('textarea'));
    await filter.focus();
    await page.keyboard.type('{');
    await suggestions(page).filter({ hasText: 'data.country' }).waitFor();
    assert.deepEqual(await texts(page), [
      'type',
      'subject',
      'data.country',
      'data.note',
      'data.total',
      '$and',
      '$or',
      '$not',
    ]);
    await isAccessible();
    await page.keyboard.type('"tot');
    assert.deepEqual(await texts(page), ['data.total']);
    await page.keyboard.press('ArrowDown');
    const active = await filter.getAttribute('aria-activedescendant');
    assert.equal(await page.locator(`#${active}`).getAttribute('aria-selected'), 'true');
    await page.keyboard.press('Enter');
    assert.equal(await filter.inputValue(), '{"data.total": ');
    assert.deepEqual(await texts(page), ['40', '7', '150', '{']);
    await page.keyboard.type('{"$g');
    assert.deepEqual(await texts(page), ['$gt', '$gte']);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.keyboard.type('100}, "cou');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.type('{"$in": ["');
    assert.deepEqual(await texts(page), ['"DE"', '"FR"', '"IT"']);
    await page.keyboard.press('Escape');
    assert.equal(await suggestions(page).count(), 0);
    await page.keyboard.press('Control+Space');
    await suggestions(page).filter({ hasText: '"DE"' }).click();
    await page.keyboard.type(']}}');
    assert.equal(await filter.inputValue(), '{"data.total": {"$gte": 100}, "data.country": {"$in": ["DE"]}}');
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    await page.getByText('Large orders was created').waitFor();
    const [made] = (await succeeded<{ items: WebhookView[] }>(admin.get('webhooks'))).items;
    assert.deepEqual(made?.filter, { 'data.total': { $gte: 100 }, 'data.country': { $in: ['DE'] } });
    await page.getByRole('link', { name: 'Settings', exact: true }).last().click();
    await page.getByText('only if data.total is at least 100 and data.country is one of "DE"').waitFor();
  });

  it('offers the paths of other events as soon as these are chosen, and those of their latest events', async (t) => {
    const { openAs } = await start(t);
    const { page } = await openAs('administrator', '/webhooks/new');
    await page.getByText('Filter: only events that meet conditions').click();
    await page.getByText('What a filter of these events can look at').click();
    await page.getByRole('row', { name: 'subject' }).waitFor();
    assert.equal(await page.getByRole('row', { name: 'data.' }).count(), 0);
    await page.getByLabel('stock.moved').check();
    await page.locator('[data-path="data.warehouse.code"]').waitFor({ state: 'attached' });
    assert.deepEqual(
      await page.locator('[data-path]').evaluateAll((all) => all.map((one) => one.getAttribute('data-path'))),
      ['type', 'subject', 'data.warehouse', 'data.warehouse.code'],
    );
  });

  it('tries the filter on the latest events: which pass, and why the others do not; nothing is saved', async (t) => {
    const { openAs, admin, endpoint } = await start(t);
    const { id } = await makeWebhook(admin, endpoint, ['order.*'], { name: 'Orders' });
    const { page, isAccessible } = await openAs('administrator', `/webhooks/${id}/edit`);
    await page.getByText('Filter: only events that meet conditions').click();
    const filter = page.locator('textarea[name="filter"]');
    await page.getByText('As JSON', { exact: true }).click();
    const preview = page.locator('#filter-preview');
    const attempt = page.getByRole('button', { name: 'Try the filter' });
    await filter.fill('{"data.total": {"$gte": 100}, "data.country": {"$in": ["DE", "FR"]}}');
    await attempt.click();
    await preview.getByText('1 of the latest 2 events would pass').waitFor();
    await preview.getByText('Only if data.total is at least 100 and data.country is one of "DE", "FR".').waitFor();
    await preview.getByText('data.total is 7, not at least 100').waitFor();
    await preview.getByText('data.country is "IT", not one of "DE", "FR"').waitFor();
    // The bar above covers a part of what is scrolled under it.
    await page.evaluate('scrollTo(0, 0)');
    await isAccessible();
    await filter.fill('{"data.total": {"$above": 100}}');
    await attempt.click();
    await preview.getByText(/data\.total\.\$above is not an operator: use \$eq/).waitFor();
    await filter.fill('{"data.note": ');
    await filter.press('Escape');
    await attempt.click();
    await preview.getByText('The filter is not JSON').waitFor();
    await filter.fill('');
    await attempt.click();
    await preview.getByText('2 of the latest 2 events would pass').waitFor();
    assert.equal((await succeeded<WebhookView>(admin.get(`webhooks/${id}`))).filter, null);
  });

  it('has its conditions as rows too, in step with the JSON in both directions, and ends with what will happen', async (t) => {
    const { openAs, admin, endpoint } = await start(t);
    const { id } = await makeWebhook(admin, endpoint, ['order.placed'], { name: 'Orders' });
    const { page, isAccessible } = await openAs('administrator', `/webhooks/${id}/edit`);
    await page.getByText('Filter: only events that meet conditions').click();
    const filter = page.locator('textarea[name="filter"]');
    // The rows show everything, so the JSON is folded.
    assert.equal(await filter.isVisible(), false);
    const json = async (): Promise<unknown> => JSON.parse(await filter.inputValue());
    const rows = page.getByRole('group', { name: /^Condition \d+$/ });
    const fill = async (at: number, path: string, comparison: string, value: string): Promise<void> => {
      const row = rows.nth(at);
      await row.getByLabel('path').fill(path);
      await row.getByLabel('comparison').selectOption({ label: comparison });
      await row.getByLabel('value').fill(value);
    };
    const add = page.getByRole('button', { name: 'Add a condition' });
    await add.click();
    await fill(0, 'data.total', 'is at least', '100');
    assert.deepEqual(await json(), { 'data.total': { $gte: 100 } });
    await page.locator('.form-summary').getByText('It sends an event only if data.total is at least 100.').waitFor();
    await add.click();
    await fill(1, 'data.total', 'is less than', '500');
    await add.click();
    await fill(2, 'data.country', 'is one of', 'DE, 7, "a, b"');
    // Of a path with texts only, digits are a text.
    assert.deepEqual(await json(), {
      'data.total': { $gte: 100, $lt: 500 },
      'data.country': { $in: ['DE', '7', 'a, b'] },
    });
    await page.evaluate('scrollTo(0, 0)');
    await isAccessible();
    await page.getByLabel('An event passes if').selectOption('any');
    assert.deepEqual(Object.keys((await json()) as object), ['$or']);
    await rows.nth(1).getByRole('button', { name: 'Remove condition 2' }).click();
    assert.deepEqual(await json(), {
      $or: [{ 'data.total': { $gte: 100 } }, { 'data.country': { $in: ['DE', '7', 'a, b'] } }],
    });

    const shown = async (): Promise<string[]> =>
      await rows
        .locator('input, select')
        .evaluateAll((all) => all.map((one) => (one as { value?: string }).value ?? ''));
    await page.getByText('As JSON', { exact: true }).click();
    await filter.fill(
      '{"data.country": "FR", "$and": [{"data.country": {"$neq": "7"}}, {"subject": {"$exist": false}}]}',
    );
    assert.deepEqual(await shown(), [
      'data.country',
      '$eq',
      'FR',
      'data.country',
      '$neq',
      '"7"',
      'subject',
      '$exist',
      'false',
    ]);
    await filter.fill('{"$not": {"data.total": 1}}');
    await page.getByText('has more than rows can show').waitFor();
    assert.equal(await rows.first().isVisible(), false);
    await filter.fill('');
    assert.equal(await rows.count(), 0);
  });

  it('offers the comparisons that filters have, in rows and in suggestions with the same words', async (t) => {
    const names = Object.keys(COMPARISONS);
    for (const name of names) {
      const operand = { $in: [1], $nin: [1], $startsWith: 'a', $endsWith: 'a', $exist: true }[name] ?? 1;
      assert.equal(filterProblem({ 'data.a': { [name]: operand } }), null, name);
    }
    const combining = ['$and', '$or', '$not'];
    const problem = filterProblem({ 'data.a': { $none: 1 } })?.problem ?? '';
    for (const [name] of problem.matchAll(/\$\w+/g)) assert.ok([...names, ...combining].includes(name), name);

    const { openAs } = await start(t);
    const { page } = await openAs('administrator', '/webhooks/new');
    await page.getByText('Filter: only events that meet conditions').click();
    const options = page.getByLabel('Condition 1: comparison').locator('option');
    assert.deepEqual(await options.allInnerTexts(), Object.values(COMPARISONS));
    await page.getByText('As JSON', { exact: true }).click();
    await page.locator('textarea[name="filter"]').fill('{"data.a": {"$');
    assert.deepEqual(
      await suggestions(page).allInnerTexts(),
      Object.entries(COMPARISONS)
        .slice(0, 10)
        .map((words) => words.join('\n')),
    );
  });

  it('begins with a condition where the caret is, and completes its path', async (t) => {
    const { openAs } = await start(t);
    const { page } = await openAs('administrator', '/webhooks/new');
    const loaded = page.waitForResponse((reply) => reply.url().includes('order.placed'));
    await page.getByLabel('order.placed').check();
    await loaded;
    const fold = page.getByText('Filter: only events that meet conditions');
    await fold.click();
    const path = page.getByLabel('Condition 1: path');
    await path.and(page.locator(':focus')).waitFor();
    await page.keyboard.type('total');
    await page.keyboard.press('Tab');
    assert.equal(await path.inputValue(), 'data.total');
    await page.keyboard.type('is at l');
    await page.keyboard.press('Tab');
    await page.keyboard.type('100');
    const filter = page.locator('textarea[name="filter"]');
    assert.deepEqual(JSON.parse(await filter.inputValue()), { 'data.total': { $gte: 100 } });
    await fold.click();
    await fold.click();
    assert.equal(await page.getByRole('group', { name: /^Condition/ }).count(), 1);
    await path.fill('elsewhere');
    await path.blur();
    assert.equal(await path.inputValue(), 'elsewhere');
  });

  it('is a plain field without the script: the paths are below it, and the preview is a page of its own', async (t) => {
    const { openAs, admin, endpoint } = await start(t);
    const { id } = await makeWebhook(admin, endpoint, ['order.*'], { name: 'Orders' });
    const { page, open } = await openAs('administrator', `/webhooks/${id}/edit`, { isScriptless: true });
    await page.getByText('Filter: only events that meet conditions').click();
    await page.getByText('What a filter of these events can look at').click();
    await page.getByRole('row', { name: 'data.country' }).getByText('"FR"').waitFor();
    assert.equal(await page.getByRole('listbox').count(), 0);
    await page.locator('textarea[name="filter"]').fill('{"data.note": {"$exist": false}}');
    await page.getByRole('button', { name: 'Try the filter' }).click();
    await page.getByRole('heading', { name: 'Preview of the filter' }).waitFor();
    await page.getByText('1 of the latest 2 events would pass').waitFor();
    await page.getByText('data.note is there, and must be missing').waitFor();
    await page.goBack();
    assert.equal(await page.locator('textarea[name="filter"]').inputValue(), '{"data.note": {"$exist": false}}');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('only if data.note is missing').waitFor();
    await open(`/webhooks/${id}/edit`);
    await page.locator('#filter-preview').getByText('Only if data.note is missing.').waitFor();
  });
});
