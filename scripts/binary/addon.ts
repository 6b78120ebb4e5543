/**
 * Loads better-sqlite3's addon in the single binary, where it is an asset. The system loads code only from files, so the addon is written
 * to an unnamed file, which disappears with the process. All threads load that one file: with several files the process would contain
 * SQLite several times, and each copy would lose the POSIX locks of the others.
 */
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { constants as systemConstants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRawAsset } from 'node:sea';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

export const ADDON_ASSET = 'better-sqlite3.node';
/** Linux's flag for an unnamed file (__O_TMPFILE | O_DIRECTORY). Node has no constant for it. */
const O_TMPFILE = 0o20200000;
/** Several folders, because /tmp may be mounted with noexec. */
const FOLDERS = [tmpdir(), '/dev/shm', '/var/tmp', '/run'];

let addon: unknown;

/** better-sqlite3 calls this. */
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
  throw new Error(`SQLite cannot be loaded from any temporary folder (${failures.join('; ')})`);
}

/** Keeps the descriptor open for threads that start later. */
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

/** For file systems without unnamed files. */
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
