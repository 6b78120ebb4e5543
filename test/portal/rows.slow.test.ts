/** Rows of a form that are added and taken away, as far as there may be more. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CUSTOM_HEADERS_MAX } from '../../src/domain/limits.ts';
import { startPortal } from '../support/browser.ts';

describe('rows of a form', () => {
  for (const [isScriptless, count] of [
    [false, 2],
    [true, 7],
  ] as const) {
    it(`are ${count} in an empty form ${isScriptless ? 'without' : 'with'} JavaScript`, async (t) => {
      const portal = await startPortal(t);
      const { page, open } = await portal.signIn('administrator', { isBrowserless: isScriptless });
      await open('/products/new');
      assert.equal(await page.getByRole('textbox').count(), isScriptless ? 1 + 3 * 2 + 4 * 4 : 1 + 2 + 4);
      assert.equal(await page.locator('[data-row]').count(), count);
      assert.doesNotMatch(await page.locator('.form').innerText(), /data-row/, 'the spare rows are no text');
    });
  }

  it('are added up to as many as there may be, which is said', async (t) => {
    const portal = await startPortal(t);
    const { page, open } = await portal.signIn('administrator');
    await open('/webhooks/new');
    const headers = page.getByRole('group', { name: /^Custom headers/ });
    for (const fold of ['Advanced', 'Custom headers and Standard Webhooks']) await page.getByText(fold).click();
    const add = headers.getByRole('button', { name: 'Add another' });
    const word = headers.getByText(`At most ${CUSTOM_HEADERS_MAX} rows are possible.`);
    const rows = headers.locator('[data-row]');
    assert.equal(await word.isVisible(), false);
    for (let count = await rows.count(); count < CUSTOM_HEADERS_MAX; count += 1) await add.click();
    assert.equal(await rows.count(), CUSTOM_HEADERS_MAX);
    assert.equal(await add.isDisabled(), true);
    await word.waitFor();
    await headers.getByRole('button', { name: 'Remove this row' }).first().click();
    assert.equal(await add.isDisabled(), false);
    assert.equal(await word.isVisible(), false);
    assert.equal(await add.evaluate((element) => element.matches(':focus')), true);
  });
});
