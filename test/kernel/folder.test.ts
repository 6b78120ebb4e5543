import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makePrivateFolder } from '../../src/kernel/folder.ts';
import { temporaryFolder } from '../support/store.ts';

describe('a folder of its own', () => {
  it('is made for its owner alone, with those above it, and once', (t) => {
    const path = join(temporaryFolder(t), 'a', 'b', 'c');
    makePrivateFolder(path);
    makePrivateFolder(path);
    for (const each of [path, join(path, '..'), join(path, '..', '..')])
      assert.equal(statSync(each).mode & 0o777, 0o700);
  });

  it('is not made where a file stands, or above it', (t) => {
    const file = join(temporaryFolder(t), 'file');
    writeFileSync(file, '');
    assert.throws(() => makePrivateFolder(file), /EEXIST|exists/);
    assert.throws(() => makePrivateFolder(join(file, 'a')));
    assert.throws(() => makePrivateFolder(join(file, 'a', 'b')));
  });

  // Node's own way of making those above it goes round for ever there.
  it('is not made where a folder takes none', () => {
    assert.throws(() => makePrivateFolder('/proc/sallyport'));
    assert.throws(() => makePrivateFolder('/proc/sallyport/data'));
  });
});
