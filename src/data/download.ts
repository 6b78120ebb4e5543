/** A backup for somebody who asks for it over HTTP: a copy beside the database that has lost its name, sent piece by piece. */
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
   * Copies the database as it is at one moment, without the master key. The copy takes its space on the disk until it is read or
   * `signal` is aborted, which ends the copying too and rejects with its reason. Null while another one takes its space. Its pages
   * are not read back as `sallyport backup` does, which would hold up everybody; a restore does so before it takes the file.
   */
  begin(now: number, signal: AbortSignal): Promise<Download | null>;
};

/** 1 MiB of the usual pages at a time: requests are answered in between. */
const PAGES_PER_STEP = 256;

/** For the one server of a database. */
export function createDownloads(databaseFile: string, key: ManifestKey): Downloads {
  const copy = copyPath(databaseFile);
  let isUnderWay = false;
  const end = (): void => {
    isUnderWay = false;
  };
  return {
    begin: async (now, signal) => {
      if (isUnderWay) return null;
      isUnderWay = true;
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

/** Removes what a process left that ended while it copied: all of the data. For whoever holds the lock of the folder. */
export function removeDownload(databaseFile: string): void {
  const folder = dirname(databaseFile);
  const name = basename(copyPath(databaseFile));
  for (const entry of readdirSync(folder)) {
    if (entry.startsWith(name)) rmSync(join(folder, entry), { force: true });
  }
}

/** There is one at a time; SQLite has further files beside it, whose names go on. */
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
