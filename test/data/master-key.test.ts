import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { makeMasterKey } from '../../src/data/master-key.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { createPrivateFile, writePrivateFile } from '../../src/kernel/private-file.ts';
import { unusedFolder } from '../support/command.ts';
import { modeOf } from '../support/data-folder.ts';

function newFolder(t: TestContext): string {
  const folder = unusedFolder(t);
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

it('a master key is never replaced by another new one', (t) => {
  const folder = newFolder(t);
  const path = join(folder, 'master.key');
  const first = makeMasterKey(path, randomBytes);
  assert.equal(first.isNew, true);
  assert.deepEqual(makeMasterKey(path, randomBytes), { key: Buffer.from(first.key), isNew: false });
  assert.equal(readFileSync(path, 'utf8'), `${Buffer.from(first.key).toString('base64')}\n`);
  assert.deepEqual([readdirSync(folder), modeOf(path)], [['master.key'], '600']);
  writeFileSync(path, 'no key');
  assert.throws(() => makeMasterKey(path, randomBytes), /is not 32 bytes as Base64 text/);
});

it('a private file is created once, also on a file system without hard links', (t) => {
  const folder = newFolder(t);
  const path = join(folder, 'a');
  const refusing = (code: string) => () => {
    throw Object.assign(new Error(code), { code });
  };
  assert.throws(() => createPrivateFile(path, 'text', folder, refusing('EIO')), /EIO/);
  assert.deepEqual(readdirSync(folder), []);
  assert.equal(createPrivateFile(path, 'first', folder, refusing('EPERM')), true);
  assert.equal(createPrivateFile(path, 'second', folder, refusing('EPERM')), false);
  assert.equal(createPrivateFile(path, 'third'), false);
  assert.deepEqual([readFileSync(path, 'utf8'), readdirSync(folder), modeOf(path)], ['first', ['a'], '600']);
});

it('a private file is written beside another process that writes the same one', (t) => {
  const folder = newFolder(t);
  const path = join(folder, 'a');
  // As another process has begun it.
  const others = ['a.new', `a.${randomUUID()}.new`];
  for (const name of others) writeFileSync(join(folder, name), 'unfinished');
  writePrivateFile(path, 'text');
  writePrivateFile(path, 'newer');
  assert.deepEqual([readFileSync(path, 'utf8'), readdirSync(folder).sort()], ['newer', ['a', ...others].sort()]);
});
