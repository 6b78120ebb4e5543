/** Folders next to a data folder, for tests of backup and restore. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sallyport } from './command.ts';
import type { Folder } from './command-folder.ts';

/** The path of a folder with this name next to the data folder. */
export function beside({ dataDir }: Folder, name: string): string {
  return join(dirname(dataDir), name);
}

/** Makes a folder that contains only the master key of the first one, as if the disk with the database was lost. */
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
