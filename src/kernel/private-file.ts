/** Files that only their owner may read. */
import {
  closeSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

const PRIVATE_MODE = 0o600;
const OTHERS = 0o077;

/**
 * The file or folder whose owner gets a file that root makes, so that the service's own user can use what root made in its folder;
 * null: root keeps it.
 */
export type Heir = string | null;

/**
 * Makes an empty file if there is none. One that exists is not even opened: closing any descriptor of a file drops all
 * locks that SQLite holds on it in this process.
 */
export function makePrivateFile(path: string, heir: Heir = dirname(path)): void {
  try {
    const descriptor = openSync(path, 'wx', PRIVATE_MODE);
    try {
      bequeath(descriptor, heir);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Writes a file that is there whole, durable and under its name, or not at all. */
export function writePrivateFile(path: string, text: string, heir: Heir = dirname(path)): void {
  const unfinished = `${path}.new`;
  rmSync(unfinished, { force: true });
  const descriptor = openSync(unfinished, 'wx', PRIVATE_MODE);
  try {
    bequeath(descriptor, heir);
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

/**
 * For the message of something that cannot be opened: whose the first of these is that belongs to another, and who asks, as
 * ` (/x/sallyport.db belongs to root, and this is uid 1000)`. Empty where they belong to whoever asks, who asks is root, which can
 * open all of them, or nobody can say.
 */
export function strangerText(paths: readonly string[]): string {
  const self = currentUid();
  if (self === null || self === 0) return '';
  for (const path of paths) {
    const uid: number = ownerOf(path)?.uid ?? self;
    if (uid !== self) return ` (${path} belongs to ${userText(uid)}, and this is ${userText(self)})`;
  }
  return '';
}

/** Null where there is nothing, or nothing to be seen from here. */
export function ownerOf(path: string): Pick<Stats, 'uid' | 'gid'> | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}

export function userText(uid: number): string {
  return uid === 0 ? 'root' : `uid ${uid}`;
}

function currentUid(): number | null {
  try {
    return process.geteuid?.() ?? null;
  } catch {
    // Deno asks for a permission that the service needs for nothing else.
    return null;
  }
}

/** Gives a file that root has just made to its heir. Who made it, the file says. On Windows everything is of uid 0. */
function bequeath(descriptor: number, heir: Heir): void {
  if (heir === null || fstatSync(descriptor).uid !== 0) return;
  const { uid, gid } = statSync(heir);
  if (uid === 0) return;
  try {
    fchownSync(descriptor, uid, gid);
  } catch {
    // Root of a container may not have the right to. It goes on with what is its own; the doctor says whose that is.
  }
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
