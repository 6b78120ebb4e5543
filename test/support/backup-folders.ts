/** Folders beside a data folder, as backups are made into and restored from. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sallyport } from './command.ts';
import type { Folder } from './command-folder.ts';

/** What another folder would be called beside this one. */
export function beside({ dataDir }: Folder, name: string): string {
  return join(dirname(dataDir), name);
}

/** A folder with nothing but the master key of the first in it, as after a disk was lost. */
export function withKeyOf(folder: Folder, name: string): string {
  const dataDir = beside(folder, name);
  mkdirSync(dataDir, { mode: 0o700 });
  copyFileSync(join(folder.dataDir, 'master.key'), join(dataDir, 'master.key'));
  return dataDir;
}

export async function assertHealthy(dataDir: string): Promise<void> {
  const { status, stdout } = await sallyport(['doctor', '--data', dataDir]);
  assert.equal(status, 0, stdout);
  assert.doesNotMatch(stdout, /^(problem|warning)/m);
}
