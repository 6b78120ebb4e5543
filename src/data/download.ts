/** Backups over HTTP: a copy beside the database, unlinked once it is open, and sent piece by piece. */
import { readdirSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { makePrivateFile } from '../kernel/private-file.ts';
import { copyPages } from '../store/sqlite/driver/copy.ts';
import { fileInstant, SCHEMA_VERSION } from '../store/sqlite/driver/schema.ts';
import { openSqlite } from '../store/sqlite/driver/sqlite.ts';
import { type ManifestKey, manifestBytes, withManifest } from './manifest.ts';

export type Download = {
  /** `sallyport-20261121T050000Z.db` */
  readonly name: string;
  readonly bytes: number;
  readonly content: AsyncIterable<Uint8Array>;
};

export type Downloads = {
  /**
   * Copies a snapshot of the database, without the master key. The copy uses disk space until it is read or `signal` is aborted, which
   * ends the copying too and rejects with its reason. Null during another download. Does not check the pages as `sallyport backup` does,
   * because that would block every request; a restore checks them.
   */
  begin(now: number, signal: AbortSignal): Promise<Download | null>;
};

/** 1 MiB of pages of 4 KiB: requests are answered between two steps. */
const PAGES_PER_STEP = 256;

/** For the one server of a database. */
export function createDownloads(databaseFile: string, key: ManifestKey): Downloads {
  const copy = copyPath(databaseFile);
  let isInProgress = false;
  const end = (): void => {
    isInProgress = false;
  };
  return {
    begin: async (now, signal) => {
      if (isInProgress) return null;
      isInProgress = true;
      try {
        const { bytes, database } = await copied(databaseFile, copy, signal);
        const written = { takenAt: now, schemaVersion: SCHEMA_VERSION, databaseBytes: bytes, key };
        const content = Readable.from(withManifest(database, written), { objectMode: false });
        content.once('close', () => {
          database.destroy();
          end();
        });
        const leave = (): void => void content.destroy();
        signal.addEventListener('abort', leave, { once: true });
        if (signal.aborted) leave();
        return {
          name: `sallyport-${fileInstant(now)}.db`,
          bytes: bytes + manifestBytes(written),
          content,
        };
      } catch (error) {
        end();
        throw error;
      } finally {
        removeDownload(databaseFile);
      }
    },
  };
}

/** Removes the copy of a process that died during a download: it holds all data. The caller must hold the lock of the folder. */
export function removeDownload(databaseFile: string): void {
  const folder = dirname(databaseFile);
  const name = basename(copyPath(databaseFile));
  for (const entry of readdirSync(folder)) {
    if (entry.startsWith(name)) rmSync(join(folder, entry), { force: true });
  }
}

/** One download runs at a time. The names of SQLite's other files begin with this one. */
function copyPath(databaseFile: string): string {
  return `${databaseFile}.download`;
}

async function copied(databaseFile: string, copy: string, signal: AbortSignal) {
  makePrivateFile(copy);
  const from = openSqlite(databaseFile, { readOnly: true });
  try {
    await copyPages(from, copy, { pagesPerStep: PAGES_PER_STEP, signal });
  } finally {
    await from.close();
  }
  const file = await open(copy, 'r');
  const { size: bytes } = await file.stat();
  return { bytes, database: file.createReadStream() };
}
