/** Files that only their owner can read. */

import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

const PRIVATE_MODE = 0o600;
const OTHERS = 0o077;
/** As in libpq: a group may read a file of root, as it is mounted from a secret of Kubernetes, for a process of another user. */
const OTHERS_BUT_READING_GROUP = 0o037;

/**
 * The file or folder whose owner gets a file that root creates, so that the user of the service can use it. Null: root keeps it.
 */
export type OwnerLike = string | null;

/**
 * Creates an empty file if it does not exist, and returns whether it did. Never opens an existing file: closing any descriptor of it
 * releases all locks that SQLite holds on it in this process.
 */
export function makePrivateFile(path: string, owner: OwnerLike = dirname(path)): boolean {
  try {
    const descriptor = openSync(path, 'wx', PRIVATE_MODE);
    try {
      matchOwner(descriptor, owner);
    } finally {
      closeSync(descriptor);
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

/** Writes a file atomically and durably, and replaces an existing one: afterwards it is complete, or it does not exist. */
export function writePrivateFile(path: string, text: string, owner: OwnerLike = dirname(path)): void {
  writeBeside(path, text, owner, (unfinished) => renameSync(unfinished, path));
}

/**
 * Creates a file atomically and durably. Of several processes that create it at the same time, also on other machines, one gets true. The
 * others get false, and the file is then complete.
 */
export function createPrivateFile(
  path: string,
  text: string,
  owner: OwnerLike = dirname(path),
  link: typeof linkSync = linkSync,
): boolean {
  return writeBeside(path, text, owner, (unfinished) => {
    try {
      link(unfinished, path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') return false;
      if (!WITHOUT_LINKS.includes(code ?? '')) throw error;
      // An empty file reserves the name. Until it is replaced, others find that file.
      if (!makePrivateFile(path, owner)) return false;
      renameSync(unfinished, path);
    }
    return true;
  });
}

/** The errors of link(2) on file systems without hard links, such as FAT, SMB and some of FUSE. */
const WITHOUT_LINKS: readonly string[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/** A write takes some milliseconds. A temporary file that is older than this is from a process that died. */
const ABANDONED_MS = 60_000;

/**
 * Writes a temporary file in the same folder, which no other process uses, and lets `place` give it its name. Also removes temporary files
 * of processes that died.
 */
function writeBeside<T>(path: string, text: string, owner: OwnerLike, place: (unfinished: string) => T): T {
  const unfinished = `${path}.${randomUUID()}.new`;
  let placed: T;
  try {
    const descriptor = openSync(unfinished, 'wx', PRIVATE_MODE);
    try {
      matchOwner(descriptor, owner);
      writeSync(descriptor, text);
      fsyncSync(descriptor);
      // By the clock of the file system, which other machines may use too.
      removeAbandoned(path, fstatSync(descriptor).mtimeMs - ABANDONED_MS);
    } finally {
      closeSync(descriptor);
    }
    placed = place(unfinished);
  } finally {
    rmSync(unfinished, { force: true });
  }
  syncFolder(dirname(path));
  return placed;
}

function removeAbandoned(path: string, before: number): void {
  const [folder, start] = [dirname(path), `${basename(path)}.`];
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(start) || !UNFINISHED.test(name.slice(start.length))) continue;
    const stat = statSync(join(folder, name), { throwIfNoEntry: false });
    if (stat !== undefined && stat.mtimeMs < before) rmSync(join(folder, name), { force: true });
  }
}

const UNFINISHED = /^[0-9a-f-]{36}\.new$/;

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
