/** Folders that belong to whoever runs the service. */
import { mkdirSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder for its owner alone, and the missing folders above it. Throws the system's error. Folders above are looked at only where
 * one is missing: Deno may permit nothing but the folder itself. One at a time: Node's own `recursive` never ends in a folder that
 * exists and takes no entries, such as /proc.
 */
export function makePrivateFolder(path: string): void {
  if (isFolder(path)) return;
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process was faster.
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
