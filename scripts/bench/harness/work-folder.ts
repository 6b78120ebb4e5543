/** The folder of the benchmarks' data, on a disk, because memory says nothing about durability. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const PREFIX = 'sallyport-bench-';
/** Of `statfs`, for what Linux keeps in memory. */
const TMPFS = 0x0102_1994;
const RAMFS = 0x8584_58f6;

/** A folder of this process's below `parent`, which outlives a restart by convention (`/var/tmp`). Throws where that is in memory. */
export function makeWorkFolder(parent: string): string {
  const { type } = statfsSync(parent);
  if (type === TMPFS || type === RAMFS)
    throw new Error(`${parent} is in memory; name a folder on a disk with --folder`);
  removeLeftBehind(parent);
  const folder = mkdtempSync(join(parent, `${PREFIX}${process.pid}-`));
  // PostgreSQL runs as a user of its own below it.
  chmodSync(folder, 0o755);
  return folder;
}

/** A new folder inside it. */
export function subfolder(folder: string, name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

/** Folders of runs that were killed. */
function removeLeftBehind(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : 0;
    if (pid > 0 && !isAlive(pid)) removeFolder(join(parent, name));
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
