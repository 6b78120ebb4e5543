/** A backup for somebody who asks for it over HTTP: a copy beside the database that has lost its name, sent piece by piece. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { mark } from './backup.ts';
import { copyPages } from './copy.ts';
import { makePrivateFile } from './private-file.ts';
import { fileInstant } from './schema.ts';
import { openSqlite } from './sqlite.ts';

export type Download = {
  /** `sallyport-20261121T050000Z.db` */
  readonly name: string;
  readonly bytes: number;
  readonly content: AsyncIterable<Uint8Array>;
};

/** 1 MiB of the usual pages at a time: requests are answered in between. */
const PAGES_PER_STEP = 256;

/**
 * Copies the database as it is at one moment, without the master key. The copy takes its space on the disk until it is read or
 * `signal` is aborted; a process that dies leaves nothing behind. Its pages are not read back as `sallyport backup` does, which
 * would hold up everybody; a restore does so before it takes the file.
 */
export async function downloadBackup(databaseFile: string, now: number, signal: AbortSignal): Promise<Download> {
  const copy = `${databaseFile}.download-${randomUUID()}`;
  try {
    makePrivateFile(copy);
    const from = openSqlite(databaseFile, { readOnly: true });
    try {
      await copyPages(from, copy, PAGES_PER_STEP);
    } finally {
      await from.close();
    }
    mark(copy, now, null);
    const file = await open(copy, 'r');
    const { size } = await file.stat();
    const content = file.createReadStream();
    signal.addEventListener('abort', () => content.destroy(), { once: true });
    return { name: `sallyport-${fileInstant(now)}.db`, bytes: size, content };
  } finally {
    for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(copy + ending, { force: true });
  }
}
