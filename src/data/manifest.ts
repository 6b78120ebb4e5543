/**
 * The manifest at the end of a backup, with the checksum of the database before it. SQLite opens the file as a database and ignores the
 * manifest.
 *
 *     <database>{"format":"sallyport-backup/1",…}\n
 *     sallyport-backup/1 <length of the line before in 6 digits> <its SHA-256 in hex>\n
 *
 * Every byte is covered: the database by the first line, the first line by the second, and the second by its format.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { appendFileSync, closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { Vault } from '../kernel/vault.ts';

export type Manifest = {
  readonly takenAt: number;
  readonly schemaVersion: number;
  readonly databaseBytes: number;
  readonly databaseSha256: string;
  /** With the master key at the time of the backup; null if the key was not available. */
  readonly hmacSha256: string | null;
};

/** `missing`: the file does not end in a manifest. `damaged`: the file is not the one that was written. */
type ManifestVerdict =
  | { readonly ok: true; readonly manifest: Manifest }
  | { readonly ok: false; readonly code: 'missing' | 'damaged'; readonly description: string };

/** Authenticates a manifest. */
export type ManifestKey = Pick<Vault, 'authenticate'>;

type Written = Pick<Manifest, 'takenAt' | 'schemaVersion'> & { readonly key: ManifestKey | null };

const FORMAT = 'sallyport-backup/1';
const FOOTER = /^sallyport-backup\/1 (\d{6}) ([0-9a-f]{64})\n$/;
const FOOTER_BYTES: number = FORMAT.length + 1 + 6 + 1 + 64 + 1;
const CHUNK_BYTES: number = 1024 * 1024;

/** Appends the manifest to the file of a database that nobody has open. */
export function appendManifest(path: string, written: Written): void {
  const descriptor = openSync(path, 'r');
  let databaseBytes: number;
  let databaseSha256: string;
  try {
    databaseBytes = fstatSync(descriptor).size;
    databaseSha256 = sha256Of(descriptor, databaseBytes);
  } finally {
    closeSync(descriptor);
  }
  appendFileSync(path, manifestText({ ...written, databaseBytes, databaseSha256 }));
}

/** Appends the manifest to a database that is sent piece by piece. */
export async function* withManifest(
  database: AsyncIterable<Uint8Array>,
  written: Written & Pick<Manifest, 'databaseBytes'>,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  for await (const chunk of database) {
    hash.update(chunk);
    yield chunk;
  }
  yield Buffer.from(manifestText({ ...written, databaseSha256: hash.digest('hex') }));
}

/** The size of the manifest. */
export function manifestBytes(written: Written & Pick<Manifest, 'databaseBytes'>): number {
  return manifestText({ ...written, databaseSha256: '0'.repeat(64) }).length;
}

/** Reads all of the file. Throws the system's error. The file must not be open as a database in this process. */
export function checkManifest(path: string): ManifestVerdict {
  const descriptor = openSync(path, 'r');
  try {
    return check(descriptor, fstatSync(descriptor).size);
  } finally {
    closeSync(descriptor);
  }
}

/** Whether the manifest was written with this key. False too if it is not authenticated. */
export function isAuthentic(manifest: Manifest, key: ManifestKey): boolean {
  const { hmacSha256 } = manifest;
  if (hmacSha256 === null) return false;
  return timingSafeEqual(Buffer.from(hmacSha256), Buffer.from(key.authenticate(claimText(manifest))));
}

function check(descriptor: number, size: number): ManifestVerdict {
  const footer = FOOTER.exec(textAt(descriptor, size - FOOTER_BYTES, FOOTER_BYTES));
  if (footer === null) {
    return {
      ok: false,
      code: 'missing',
      description: 'it has no manifest: it was not made by sallyport backup, or its end was changed or cut off',
    };
  }
  const lineBytes = Number(footer[1]);
  const databaseBytes = size - FOOTER_BYTES - lineBytes;
  const line = databaseBytes < 0 ? '' : textAt(descriptor, databaseBytes, lineBytes);
  if (createHash('sha256').update(line, 'latin1').digest('hex') !== footer[2]) {
    return damaged('its manifest was changed');
  }
  const manifest = parseManifest(line);
  if (manifest === null) return damaged('its manifest cannot be read: it may be of a newer Sallyport');
  if (manifest.databaseBytes !== databaseBytes) {
    return damaged(`its database has ${databaseBytes} bytes instead of ${manifest.databaseBytes}`);
  }
  if (sha256Of(descriptor, databaseBytes) !== manifest.databaseSha256) {
    return damaged('its database is not the one that its manifest was written for: it was changed or damaged');
  }
  return { ok: true, manifest };
}

function damaged(description: string): ManifestVerdict {
  return { ok: false, code: 'damaged', description };
}

/** Null for any line that `lineOf` would not write. */
function parseManifest(line: string): Manifest | null {
  try {
    const { takenAt, schemaVersion, databaseBytes, databaseSha256, hmacSha256 } = JSON.parse(line);
    const manifest = { takenAt: Date.parse(takenAt), schemaVersion, databaseBytes, databaseSha256, hmacSha256 };
    return lineOf(manifest) === line ? manifest : null;
  } catch {
    return null;
  }
}

function manifestText({ key, ...claim }: Written & Omit<Manifest, 'hmacSha256'>): string {
  const line = lineOf({ ...claim, hmacSha256: key === null ? null : key.authenticate(claimText(claim)) });
  const sha256 = createHash('sha256').update(line).digest('hex');
  return `${line}${FORMAT} ${String(line.length).padStart(6, '0')} ${sha256}\n`;
}

function lineOf({ hmacSha256, ...claim }: Manifest): string {
  return `${JSON.stringify({ ...claimOf(claim), hmacSha256 })}\n`;
}

/** The text that is authenticated. */
function claimText(claim: Omit<Manifest, 'hmacSha256'>): string {
  return JSON.stringify(claimOf(claim));
}

function claimOf({ takenAt, schemaVersion, databaseBytes, databaseSha256 }: Omit<Manifest, 'hmacSha256'>): object {
  const instant = new Date(takenAt).toISOString();
  return { format: FORMAT, takenAt: instant, schemaVersion, databaseBytes, databaseSha256 };
}

function sha256Of(descriptor: number, bytes: number): string {
  const hash = createHash('sha256');
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let at = 0; at < bytes; ) {
    const read = readSync(descriptor, chunk, 0, Math.min(chunk.length, bytes - at), at);
    if (read === 0) break;
    hash.update(chunk.subarray(0, read));
    at += read;
  }
  return hash.digest('hex');
}

function textAt(descriptor: number, position: number, bytes: number): string {
  if (position < 0) return '';
  const text = Buffer.alloc(bytes);
  return text.subarray(0, readSync(descriptor, text, 0, bytes, position)).toString('latin1');
}
