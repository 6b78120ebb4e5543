import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { randomBytes } from '../../src/kernel/random.ts';
import { createVault } from '../../src/kernel/vault.ts';
import { settingStore } from '../../src/store/sqlite/settings.ts';
import { holdLock } from '../support/lock-holder.ts';
import { contents, leavingNothing, openTestDatabase } from '../support/store.ts';

describe('the settings', () => {
  it('remember the master key of a new database without keeping it, and take the same one again', async (t) => {
    const { database } = openTestDatabase(t);
    const key = randomBytes(32);
    await settingStore(database, createVault(key, randomBytes)).checkMasterKey();
    const { setting } = contents(database);
    assert.equal(setting?.length, 1);
    assert.ok(!JSON.stringify(setting).includes(JSON.stringify([...key]).slice(1, -1)));
    await leavingNothing({ database }, () => settingStore(database, createVault(key, randomBytes)).checkMasterKey());
  });

  it('refuse another master key, and change nothing', async (t) => {
    const { database } = openTestDatabase(t);
    await settingStore(database, createVault(randomBytes(32), randomBytes)).checkMasterKey();
    const other = settingStore(database, createVault(randomBytes(32), randomBytes));
    await leavingNothing({ database }, () =>
      assert.rejects(other.checkMasterKey(), {
        message: 'the master key is not the one that this database was made with',
      }),
    );
  });

  it('prove that the database can be written, and that it cannot', async (t) => {
    const { database, path } = openTestDatabase(t);
    const settings = settingStore(database, createVault(randomBytes(32), randomBytes));
    await settings.proveWritable(1);
    await settings.proveWritable(2);
    assert.deepEqual(database.all("SELECT CAST(value AS TEXT) AS at FROM setting WHERE name = 'written_at'", {}), [
      { at: '2' },
    ]);
    const holder = await holdLock(t, path);
    let proved = false;
    const proof = settings.proveWritable(3).then(() => {
      proved = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(proved, false);
    await holder.release();
    await proof;
    await database.close();
    await assert.rejects(settings.proveWritable(4), /not open/);
  });
});
