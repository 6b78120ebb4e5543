/** Folders that only their owner can access. */
import { mkdirSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder that only its owner can access, and its missing parents. Throws the error of the system. Checks parents only if one is
 * missing, because Deno may permit access only to the folder. Creates one folder at a time, because Node's `recursive` never returns in an
 * existing folder that accepts no entries, such as /proc.
 */
export function makePrivateFolder(path: string): void {
  if (isFolder(path)) return;
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it first.
    if (isFolder(path)) return;
    const above = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path || find(above) !== undefined) throw error;
    makePrivateFolder(above);
    makePrivateFolder(path);
  }
}

function isFolder(path: string): boolean {
  return find(path)?.isDirectory() === true;
}

function find(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}
