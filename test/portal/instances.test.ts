/** The page of the instances on a PostgreSQL database, in a real browser. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startPortal } from '../support/browser.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { onPostgres, onSqlite } from '../support/store.ts';

repeatsInSlowTier('postgres');

describe('the page of the instances', () => {
  onSqlite('does not exist for an SQLite file, which one process uses', async (t) => {
    const portal = await startPortal(t);
    const { page, open } = await portal.signIn('administrator', { isBrowserless: true, expecting: [404] });
    assert.equal(await open('/instances'), 404);
    assert.equal(await page.getByRole('link', { name: 'Instances' }).count(), 0);
  });

  if (onPostgres) {
    it('shows who is alive, what each holds and does for all, and the state of the database', async (t) => {
      const portal = await startPortal(t);
      const { page, open, isAccessible } = await portal.signIn('administrator');
      assert.equal(await open('/instances'), 200);
      const row = page.getByRole('region', { name: 'Instances' }).getByRole('row').nth(1);
      const text = await row.innerText();
      assert.match(text, /alive/);
      assert.match(text, /housekeeping/);
      assert.ok(text.includes(portal.url.replace(/\/$/, '')), text);
      const main = await page.locator('main').innerText();
      assert.match(main, /Round trip to the database\s+[\d.]+ ms/);
      assert.match(main, /Standbys\s+none\s+Commits wait for no standby/);
      assert.match(main, /Partitions\s+for \d+ more days/);
      await isAccessible();
    });
  }
});
