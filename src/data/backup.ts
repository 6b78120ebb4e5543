/** Writes backups, and checks whether a file is a complete one. */
import { statSync } from 'node:fs';
import { auditStore } from '../store/shared/audit.ts';
import { damages, RESTORE_ADVICE } from '../store/sqlite/damage.ts';
import { copyPages, writeWhole } from '../store/sqlite/driver/copy.ts';
import {
  brokenReferences,
  examineSchema,
  isOurs,
  SCHEMA_HISTORY,
  type SchemaHistory,
} from '../store/sqlite/driver/schema.ts';
import { openSqlite, type SqliteDatabase } from '../store/sqlite/driver/sqlite.ts';
import { appendManifest, checkManifest, type Manifest, type ManifestKey } from './manifest.ts';

export type BackupFacts = {
  /** Null for a database without a manifest. */
  readonly takenAt: number | null;
  readonly schemaVersion: number;
  readonly bytes: number;
  /** Numbers of rows; empty for an older schema, whose tables may differ. */
  readonly contents: Readonly<Record<string, number>>;
  /** The backup contains the master key. */
  readonly withMasterKey: boolean;
};

type BackupVerdict =
  | { readonly ok: true; readonly facts: BackupFacts }
  | { readonly ok: false; readonly description: string };

/** The row of `setting` that only backups have. */
const MASTER_KEY = 'backup_master_key';

/**
 * Writes a snapshot of the database to `path`, replaces an existing file, and checks the copy before it gets its name. Other processes
 * may write during the copy. `masterKey` is added to the backup unless null, and `key` authenticates its manifest. A backup that root makes
 * belongs to root.
 */
export function writeBackup(
  from: SqliteDatabase,
  path: string,
  {
    now,
    masterKey,
    key,
  }: { readonly now: number; readonly masterKey: Uint8Array | null; readonly key: ManifestKey | null },
): Promise<BackupFacts> {
  const work = async (unfinished: string): Promise<BackupFacts> => {
    await copyPages(from, unfinished);
    if (masterKey !== null) putMasterKey(unfinished, masterKey);
    const verdict = await examineBackup(unfinished);
    if (!verdict.ok) throw new Error(`the database is not whole: ${verdict.description}; ${RESTORE_ADVICE}`);
    const { facts } = verdict;
    appendManifest(unfinished, { takenAt: now, schemaVersion: facts.schemaVersion, key });
    return { ...facts, takenAt: now, bytes: statSync(unfinished).size };
  };
  return writeWhole(path, work, { owner: null });
}

/** Reads all of a backup without changing it: the checksums first, then as `examineBackup` does. */
export async function verifyBackup(
  path: string,
): Promise<
  | { readonly ok: true; readonly facts: BackupFacts; readonly manifest: Manifest }
  | { readonly ok: false; readonly description: string }
> {
  try {
    const checked = checkManifest(path);
    if (!checked.ok) return checked;
    const { manifest } = checked;
    const verdict = await examineBackup(path);
    return verdict.ok ? { ok: true, manifest, facts: { ...verdict.facts, takenAt: manifest.takenAt } } : verdict;
  } catch (error) {
    return { ok: false, description: (error as Error).message };
  }
}

/** Reads all of a database's file without changing it: pages, references, schema and audit chain. */
export async function examineBackup(path: string, history: SchemaHistory = SCHEMA_HISTORY): Promise<BackupVerdict> {
  try {
    const db = openSqlite(path, { readOnly: true });
    try {
      return await examine(db, path, history);
    } finally {
      await db.close();
    }
  } catch (error) {
    return { ok: false, description: (error as Error).message };
  }
}

/** The master key in a backup, or null if it has none. */
export function masterKeyOf({ connection }: SqliteDatabase): Uint8Array | null {
  const key = connection.prepare('SELECT value FROM setting WHERE name = ?').pluck().get(MASTER_KEY);
  return (key as Uint8Array | undefined) ?? null;
}

/** Removes the master key from a restored database. SQLite overwrites it. */
export function removeMasterKey({ connection }: SqliteDatabase): void {
  connection.prepare('DELETE FROM setting WHERE name = ?').run(MASTER_KEY);
}

function putMasterKey(path: string, masterKey: Uint8Array): void {
  const { connection } = openSqlite(path);
  try {
    const put = connection.prepare('INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)');
    put.run(MASTER_KEY, masterKey);
    connection.pragma('journal_mode = DELETE');
  } finally {
    connection.close();
  }
}

async function examine(db: SqliteDatabase, path: string, history: SchemaHistory): Promise<BackupVerdict> {
  const schema = examineSchema(db, history);
  if (!schema.ok) return schema;
  if (schema.state === 'empty') return { ok: false, description: 'it is empty' };
  if (history === SCHEMA_HISTORY && !isOurs(db)) {
    return { ok: false, description: 'it is not a database of Sallyport' };
  }
  const damaged = damages(db);
  if (damaged.length > 0) return { ok: false, description: `it is damaged: ${damaged.join('; ')}` };
  const references = brokenReferences(db);
  if (references.length > 0) return { ok: false, description: `it has broken references: ${references.join(', ')}` };
  // An older schema may have other tables: a restore migrates it and checks again.
  const broken = schema.state === 'current' ? await auditStore(db).firstBroken() : null;
  if (broken !== null) return { ok: false, description: `its audit log is broken at entry ${broken}` };
  const facts = {
    takenAt: null,
    schemaVersion: schema.state === 'older' ? schema.version : history.version,
    bytes: statSync(path).size,
    contents: schema.state === 'current' ? countContents(db) : {},
    withMasterKey: masterKeyOf(db) !== null,
  };
  return { ok: true, facts };
}

const COUNTED = {
  users: 'user_account',
  applications: 'application',
  endpoints: 'endpoint',
  pgpKeys: 'pgp_key',
  webhooks: 'webhook',
  events: 'event',
  auditEntries: 'audit',
} as const;

function countContents({ connection }: SqliteDatabase): Readonly<Record<string, number>> {
  const count = (table: string): number => connection.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number;
  return Object.fromEntries(Object.entries(COUNTED).map(([name, table]) => [name, count(table)]));
}
