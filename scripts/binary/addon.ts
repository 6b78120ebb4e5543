/**
 * Takes the place of better-sqlite3's own search for its addon in the single binary, where the addon is an asset. The system
 * loads code from files alone, so it is written to one without a name, which is gone when the process ends: the threads load the same
 * file. With files of their own they would have SQLite twice in one process, and the locks of one would be lost to the other.
 */
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { constants as systemConstants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRawAsset } from 'node:sea';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

export const ADDON_ASSET = 'better-sqlite3.node';
/** Linux's flag for a file without a name (__O_TMPFILE | O_DIRECTORY), which Node does not know. */
const O_TMPFILE = 0o20200000;
/** /tmp may be mounted so that nothing in it can be run. */
const FOLDERS = [tmpdir(), '/dev/shm', '/var/tmp', '/run'];

let addon: unknown;

/** What better-sqlite3 calls. */
export function getBinding(): unknown {
  const loaded = getEnvironmentData(ADDON_ASSET);
  addon ??= typeof loaded === 'number' ? open(loaded) : loadAddon(Buffer.from(getRawAsset(ADDON_ASSET)));
  return addon;
}

function loadAddon(code: Buffer): unknown {
  const failures: string[] = [];
  for (const folder of FOLDERS) {
    for (const openFile of [openUnnamed, openRemoved]) {
      try {
        return load(code, openFile(folder));
      } catch (error) {
        failures.push(`${folder}: ${(error as Error).message}`);
      }
    }
  }
  throw new Error(`SQLite cannot be loaded from any folder for temporary files (${failures.join('; ')})`);
}

/** The descriptor stays open, for the threads that begin later. */
function load(code: Buffer, descriptor: number): unknown {
  try {
    for (let written = 0; written < code.length; ) written += writeSync(descriptor, code, written);
    const exports = open(descriptor);
    setEnvironmentData(ADDON_ASSET, descriptor);
    return exports;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

function openUnnamed(folder: string): number {
  return openSync(folder, O_TMPFILE | constants.O_RDWR, 0o700);
}

/** For file systems that have no files without a name. */
function openRemoved(folder: string): number {
  const own = mkdtempSync(join(folder, 'sallyport-'));
  try {
    return openSync(join(own, ADDON_ASSET), 'wx+', 0o700);
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

function open(descriptor: number): unknown {
  const module: { exports: unknown } = { exports: {} };
  process.dlopen(module, `/proc/self/fd/${descriptor}`, systemConstants.dlopen.RTLD_NOW);
  return module.exports;
}
