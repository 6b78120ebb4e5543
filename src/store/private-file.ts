/** Files that only their owner may read. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

const PRIVATE_MODE = 0o600;
const OTHERS = 0o077;

/**
 * Makes an empty file if there is none. One that exists is not even opened: closing any descriptor of a file drops all
 * locks that SQLite holds on it in this process.
 */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', PRIVATE_MODE));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Writes a file that is there whole, durable and under its name, or not at all. */
export function writePrivateFile(path: string, text: string): void {
  const unfinished = `${path}.new`;
  rmSync(unfinished, { force: true });
  const descriptor = openSync(unfinished, 'wx', PRIVATE_MODE);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  moveFile(unfinished, path);
}

/** Puts a file in the place of another, durable before it returns. */
export function moveFile(from: string, to: string): void {
  renameSync(from, to);
  syncFolder(dirname(to));
}

/** Which permissions a file gives to others than its owner, as an octal mode such as `0644`; null when none. */
export function exposedMode(path: string): string | null {
  // Windows has no such bits: what Node shows there is made up.
  const mode = process.platform === 'win32' ? 0 : statSync(path).mode;
  return (mode & OTHERS) === 0 ? null : (mode & 0o777).toString(8).padStart(4, '0');
}

/** Without this a file's name may be gone after a power loss although its contents are on the disk. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
