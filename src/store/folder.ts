/** Folders that belong to whoever runs the service. */
import { mkdirSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder for its owner alone, and those above it that there are none of. Throws what the system says. One after the other: Node's
 * own `recursive` never ends where a folder is there and takes none, as in /proc.
 */
export function makePrivateFolder(path: string): void {
  if (isFolder(path)) return;
  const above = dirname(path);
  if (above !== path && find(above) === undefined) makePrivateFolder(above);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Somebody else was faster.
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  return find(path)?.isDirectory() === true;
}

function find(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}
