/** The settings page, and the backup that is downloaded from it. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { SETTINGS } from '../../src/config/names.ts';
import { examineBackup } from '../../src/data/backup.ts';
import { startPortal } from '../support/browser.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { databaseUrlOf } from '../support/service.ts';
import { onPostgres } from '../support/store.ts';

repeatsInSlowTier('postgres');

describe('settings', () => {
  it('shows each setting and its source, changed ones first', async (t) => {
    const portal = await startPortal(t);
    const { page, open } = await portal.signIn('viewer', { isBrowserless: true });
    assert.equal(await open('/settings'), 200);
    const names = await page.locator('.page th code').allTextContents();
    assert.deepEqual(
      names.toSorted(),
      Object.values(SETTINGS)
        .map(({ variable }) => variable)
        .toSorted(),
    );
    const changed = page.getByRole('region', { name: 'Changed settings' }).locator('th code');
    assert.deepEqual(names.slice(0, await changed.count()), await changed.allTextContents());
    assert.ok((await changed.allInnerTexts()).includes('SALLYPORT_DATA'));
    assert.ok(!(await changed.allInnerTexts()).includes('SALLYPORT_RETENTION_DEAD_DAYS'));
    assert.equal(await page.getByRole('button', { name: 'Download a backup' }).count(), 0);
  });

  if (onPostgres) {
    it('shows the host and the name of a PostgreSQL database, and leaves backups to its server', async (t) => {
      const portal = await startPortal(t);
      const { page, open } = await portal.signIn('administrator');
      await open('/settings');
      const [, place = ''] = /@(.*)$/.exec(databaseUrlOf(portal.service.dataDir) ?? '') ?? [];
      const text = await page.locator('main').innerText();
      assert.match(text, /PostgreSQL\s+15/);
      assert.ok(text.includes(`${place}, `), text);
      assert.ok(!text.includes('sallyport@'), text);
      assert.equal(await page.getByRole('button', { name: 'Download a backup' }).count(), 0);
    });
  } else {
    it('gives an administrator a backup that is whole, and leaves nothing of it behind', async (t) => {
      const portal = await startPortal(t);
      const { page, open } = await portal.signIn('administrator');
      await open('/settings');
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download a backup' }).click(),
      ]);
      assert.match(download.suggestedFilename(), /^sallyport-\d{8}T\d{6}Z\.db$/);
      const verdict = await examineBackup(await download.path());
      assert.equal(verdict.ok, true, JSON.stringify(verdict));
      assert.equal(verdict.ok && verdict.facts.withMasterKey, false);
      const { dataDir } = portal.service;
      assert.deepEqual(
        readdirSync(dataDir).filter((name) => name.includes('download')),
        [],
      );
      await open('/audit?action=backup.download');
      await page.getByRole('row').filter({ hasText: 'backup' }).first().waitFor();
    });
  }
});
