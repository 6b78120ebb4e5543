import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makePrivateFolder } from '../../src/kernel/folder.ts';
import { temporaryFolder } from '../support/store.ts';

describe('makePrivateFolder', () => {
  it('creates a private folder and its parents, once', (t) => {
    const path = join(temporaryFolder(t), 'a', 'b', 'c');
    makePrivateFolder(path);
    makePrivateFolder(path);
    for (const each of [path, join(path, '..'), join(path, '..', '..')])
      assert.equal(statSync(each).mode & 0o777, 0o700);
  });

  it('does not create a folder at or below a file', (t) => {
    const file = join(temporaryFolder(t), 'file');
    writeFileSync(file, '');
    assert.throws(() => makePrivateFolder(file), /EEXIST|exists/);
    assert.throws(() => makePrivateFolder(join(file, 'a')));
    assert.throws(() => makePrivateFolder(join(file, 'a', 'b')));
  });

  // Node's recursive mkdir never returns there.
  it('does not create a folder in one that accepts none', () => {
    assert.throws(() => makePrivateFolder('/proc/sallyport'));
    assert.throws(() => makePrivateFolder('/proc/sallyport/data'));
  });
});
