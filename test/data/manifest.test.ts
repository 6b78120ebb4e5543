import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { masterKeyOf, verifyBackup, writeBackup } from '../../src/data/backup.ts';
import { checkManifest, isAuthentic } from '../../src/data/manifest.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { createVault, MASTER_KEY_BYTES } from '../../src/kernel/vault.ts';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';
import { NOW, openTestStore, temporaryFolder } from '../support/store.ts';

type Written = {
  readonly bytes: Buffer;
  readonly databaseBytes: number;
  readonly key: Uint8Array;
  readonly path: string;
};

/** A backup that contains its master key. */
async function backUp(t: TestContext): Promise<Written> {
  const { sqlite: database } = await openTestStore(t);
  const path = join(temporaryFolder(t), 'backup.db');
  const key = randomBytes(MASTER_KEY_BYTES);
  await writeBackup(database, path, { now: NOW, masterKey: key, key: createVault(key, randomBytes) });
  const verdict = checkManifest(path);
  assert.ok(verdict.ok, 'it is whole');
  return { bytes: readFileSync(path), databaseBytes: verdict.manifest.databaseBytes, key, path };
}

/** Whether the backup is accepted as complete. */
function accepts({ path }: Written, bytes: Uint8Array): boolean {
  const changed = `${path}.changed`;
  writeFileSync(changed, bytes);
  return checkManifest(changed).ok;
}

function flipped(bytes: Buffer, at: number, bit: number): Buffer {
  const changed = Buffer.from(bytes);
  changed.writeUInt8(changed.readUInt8(at) ^ (1 << bit), at);
  return changed;
}

describe('a backup', () => {
  it('is refused with any one bit of its manifest flipped', async (t) => {
    const backup = await backUp(t);
    const { bytes, databaseBytes } = backup;
    for (let at = databaseBytes; at < bytes.length; at += 1) {
      for (const bit of [0, 5, 7]) assert.equal(accepts(backup, flipped(bytes, at, bit)), false, `byte ${at}`);
    }
  });

  it('is refused with any one bit of its database flipped, in the master key too', async (t) => {
    const backup = await backUp(t);
    const { bytes, databaseBytes, key } = backup;
    const keyAt = bytes.indexOf(key);
    assert.ok(keyAt > 0);
    const anywhere = fc.nat(databaseBytes - 1);
    const inKey = fc.nat(key.length - 1).map((at) => keyAt + at);
    const inHeader = fc.nat(99);
    fc.assert(
      fc.property(fc.oneof(anywhere, inKey, inHeader), fc.nat(7), (at, bit) => {
        assert.equal(accepts(backup, flipped(bytes, at, bit)), false);
      }),
      { numRuns: 200 },
    );
  });

  it('is refused if it is truncated or extended, or if a piece is removed or repeated', async (t) => {
    const backup = await backUp(t);
    const { bytes, databaseBytes } = backup;
    assert.equal(accepts(backup, bytes), true);
    const inside = fc.nat(bytes.length - 1);
    fc.assert(
      fc.property(inside, inside, fc.uint8Array({ minLength: 1, maxLength: 600 }), (one, other, more) => {
        const [from, to] = [Math.min(one, other), Math.max(one, other) + 1];
        for (const changed of [
          bytes.subarray(0, from),
          Buffer.concat([bytes, more]),
          Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]),
          Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)]),
        ]) {
          assert.equal(accepts(backup, changed), false);
        }
      }),
      { numRuns: 50 },
    );
    const manifest = bytes.subarray(databaseBytes);
    assert.equal(accepts(backup, Buffer.concat([bytes, manifest])), false, 'the manifest twice');
    assert.equal(accepts(backup, manifest), false, 'the manifest alone');
    assert.equal(accepts(backup, Buffer.alloc(0)), false);
  });

  it('is refused with the manifest or the database of another backup', async (t) => {
    const [one, other] = [await backUp(t), await backUp(t)];
    const parts = (backup: Written): Buffer[] => [
      backup.bytes.subarray(0, backup.databaseBytes),
      backup.bytes.subarray(backup.databaseBytes),
    ];
    const [database = assert.fail(), manifest = assert.fail()] = parts(one);
    const [otherDatabase = assert.fail(), otherManifest = assert.fail()] = parts(other);
    assert.equal(accepts(one, Buffer.concat([database, otherManifest])), false);
    assert.equal(accepts(one, Buffer.concat([otherDatabase, manifest])), false);
  });

  it('is authentic only with the key that it was written with, and SQLite opens it as a database', async (t) => {
    const { path, key } = await backUp(t);
    const verdict = await verifyBackup(path);
    assert.ok(verdict.ok);
    assert.equal(isAuthentic(verdict.manifest, createVault(key, randomBytes)), true);
    assert.equal(isAuthentic(verdict.manifest, createVault(randomBytes(MASTER_KEY_BYTES), randomBytes)), false);
    const { manifest } = verdict;
    assert.equal(isAuthentic({ ...manifest, takenAt: NOW + 1 }, createVault(key, randomBytes)), false);
    assert.equal(isAuthentic({ ...manifest, hmacSha256: null }, createVault(key, randomBytes)), false);
    const db = openSqlite(path, { readOnly: true });
    t.after(() => db.close());
    assert.equal(db.connection.pragma('integrity_check', { simple: true }), 'ok');
    assert.deepEqual(masterKeyOf(db), Buffer.from(key));
  });
});
