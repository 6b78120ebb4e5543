/** Files that only their owner can read. */
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
/** As in libpq: a group may read a file of root, as it is mounted from a secret of Kubernetes, for a process of another user. */
const OTHERS_BUT_READING_GROUP = 0o037;

/**
 * The file or folder whose owner gets a file that root creates, so that the user of the service can use it. Null: root keeps it.
 */
export type OwnerLike = string | null;

/**
 * Creates an empty file if it does not exist. Never opens an existing file: closing any descriptor of it releases all locks that SQLite
 * holds on it in this process.
 */
export function makePrivateFile(path: string, owner: OwnerLike = dirname(path)): void {
  try {
    const descriptor = openSync(path, 'wx', PRIVATE_MODE);
    try {
      matchOwner(descriptor, owner);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Writes a file atomically and durably: afterwards it is complete, or it does not exist. */
export function writePrivateFile(path: string, text: string, owner: OwnerLike = dirname(path)): void {
  const unfinished = `${path}.new`;
  rmSync(unfinished, { force: true });
  const descriptor = openSync(unfinished, 'wx', PRIVATE_MODE);
  try {
    matchOwner(descriptor, owner);
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  moveFile(unfinished, path);
}

/** Replaces a file by another, durably. */
export function moveFile(from: string, to: string): void {
  renameSync(from, to);
  syncFolder(dirname(to));
}

/** The octal mode of a file or folder, such as `0644`, if others have permissions that they must not have; else null. */
export function exposedMode(path: string): string | null {
  // Windows has no such bits.
  if (process.platform === 'win32') return null;
  const stat = statSync(path);
  const isOfRoot = stat.isFile() && stat.uid === 0 && (currentUid() ?? 0) !== 0;
  const others = isOfRoot ? OTHERS_BUT_READING_GROUP : OTHERS;
  return (stat.mode & others) === 0 ? null : (stat.mode & 0o777).toString(8).padStart(4, '0');
}

/**
 * Explains why a file cannot be opened: names the first of these paths that belongs to another user, as
 * ` (/x/sallyport.db belongs to root, and this is uid 1000)`. Empty if all belong to the current user, if that is root, or if it is
 * unknown.
 */
export function strangerText(paths: readonly string[]): string {
  const self = currentUid();
  if (self === null || self === 0) return '';
  for (const path of paths) {
    const uid: number = fileOwner(path)?.uid ?? self;
    if (uid !== self) return ` (${path} belongs to ${userText(uid)}, and this is ${userText(self)})`;
  }
  return '';
}

/** Null if the path does not exist or cannot be examined. */
export function fileOwner(path: string): Pick<Stats, 'uid' | 'gid'> | null {
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
    // Deno requires a permission that the service does not need otherwise.
    return null;
  }
}

/** Changes the owner of a file that root has just created. On Windows, every file has uid 0. */
function matchOwner(descriptor: number, owner: OwnerLike): void {
  if (owner === null || fstatSync(descriptor).uid !== 0) return;
  const { uid, gid } = statSync(owner);
  if (uid === 0) return;
  try {
    fchownSync(descriptor, uid, gid);
  } catch {
    // Root in a container may lack the permission. The file then belongs to root, which `sallyport doctor` reports.
  }
}

/** Without this, the name of a file may be lost in a power failure although its content is on the disk. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
