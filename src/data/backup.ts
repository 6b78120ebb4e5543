/** Backups: what is written into one beside the data, and whether a file is one that can be relied on. */
import { statSync } from 'node:fs';
import { auditStore } from '../store/sqlite/audit.ts';
import { damages, RESTORE_ADVICE } from '../store/sqlite/damage.ts';
import { copyPages, writeWhole } from '../store/sqlite/driver/copy.ts';
import { brokenReferences } from '../store/sqlite/driver/migrations.ts';
import { examineSchema, isOurs, SCHEMA_HISTORY, type SchemaHistory } from '../store/sqlite/driver/schema.ts';
import { openSqlite, type SqliteDatabase } from '../store/sqlite/driver/sqlite.ts';
import { appendManifest, checkManifest, type Manifest, type ManifestKey } from './manifest.ts';

export type BackupFacts = {
  /** Null: a database without a manifest. */
  readonly takenAt: number | null;
  readonly schemaVersion: number;
  readonly bytes: number;
  /** How much there is of what; of the tables of an older schema nothing is known. */
  readonly contents: Readonly<Record<string, number>>;
  /** The master key is in it. */
  readonly withMasterKey: boolean;
};

export type BackupVerdict =
  | { readonly ok: true; readonly facts: BackupFacts }
  | { readonly ok: false; readonly description: string };

/** The row of `setting` that only backups have. */
const MASTER_KEY = 'backup_master_key';

/**
 * Writes the database as it is at one moment to `path`, in place of what is there, and checks what was written before it gets
 * its name. Others may write all the while. `masterKey` is put into it where given, and `key` authenticates its manifest. One that root
 * makes stays root's.
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
  return writeWhole(path, work, { heir: null });
}

/**
 * Reads all of a backup, changing nothing: checksums first, then what `examineBackup` does. The database of a backup that is whole is
 * damaged only where it was when the backup was taken.
 */
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

/** Reads all of a database's file, changing nothing: pages, references, schema, audit chain. */
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

/** The master key in a backup, or null where there is none. */
export function masterKeyOf({ connection }: SqliteDatabase): Uint8Array | null {
  const key = connection.prepare('SELECT value FROM setting WHERE name = ?').pluck().get(MASTER_KEY);
  return (key as Uint8Array | undefined) ?? null;
}

/** Makes a database in use of a backup. What was deleted is overwritten. */
export function unmark({ connection }: SqliteDatabase): void {
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
  if (schema.state === 'empty') return { ok: false, description: 'there is nothing in it' };
  if (history === SCHEMA_HISTORY && schema.state === 'current' && !isOurs(db)) {
    return { ok: false, description: 'it is not a database of Sallyport' };
  }
  const damaged = damages(db);
  if (damaged.length > 0) return { ok: false, description: `it is damaged: ${damaged.join('; ')}` };
  const astray = brokenReferences(db);
  if (astray.length > 0) return { ok: false, description: `references in it lead nowhere: ${astray.join(', ')}` };
  // The tables of an older schema may be others: a restore migrates it and looks again.
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
