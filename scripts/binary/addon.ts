/**
 * Takes the place of better-sqlite3's own search for its addon in the single binary, where the addon is an asset. The system
 * loads code from files alone, so it is written to one without a name, which is gone when it is closed.
 */
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { constants as systemConstants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRawAsset } from 'node:sea';

export const ADDON_ASSET = 'better-sqlite3.node';
/** Linux's flag for a file without a name (__O_TMPFILE | O_DIRECTORY), which Node does not know. */
const O_TMPFILE = 0o20200000;
/** /tmp may be mounted so that nothing in it can be run. */
const FOLDERS = [tmpdir(), '/dev/shm', '/var/tmp', '/run'];

let addon: unknown;

/** What better-sqlite3 calls. */
export function getBinding(): unknown {
  addon ??= loadAddon(Buffer.from(getRawAsset(ADDON_ASSET)));
  return addon;
}

function loadAddon(code: Buffer): unknown {
  const failures: string[] = [];
  for (const folder of FOLDERS) {
    for (const load of [loadUnnamed, loadRemoved]) {
      try {
        return load(code, folder);
      } catch (error) {
        failures.push(`${folder}: ${(error as Error).message}`);
      }
    }
  }
  throw new Error(`SQLite cannot be loaded from any folder for temporary files (${failures.join('; ')})`);
}

function loadUnnamed(code: Buffer, folder: string): unknown {
  const descriptor = openSync(folder, O_TMPFILE | constants.O_RDWR, 0o700);
  try {
    writeAll(descriptor, code);
    return open(`/proc/self/fd/${descriptor}`);
  } finally {
    closeSync(descriptor);
  }
}

/** For file systems that have no files without a name. */
function loadRemoved(code: Buffer, folder: string): unknown {
  const own = mkdtempSync(join(folder, 'sallyport-'));
  try {
    const path = join(own, ADDON_ASSET);
    const descriptor = openSync(path, 'wx', 0o700);
    try {
      writeAll(descriptor, code);
    } finally {
      closeSync(descriptor);
    }
    return open(path);
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

function writeAll(descriptor: number, code: Buffer): void {
  for (let written = 0; written < code.length; ) written += writeSync(descriptor, code, written);
}

function open(path: string): unknown {
  const module: { exports: unknown } = { exports: {} };
  process.dlopen(module, path, systemConstants.dlopen.RTLD_NOW);
  return module.exports;
}
