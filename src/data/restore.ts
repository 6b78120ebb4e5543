/** Restores a backup as the database of a data folder. No other process may use the folder during the restore. */
import { linkSync, rmSync, statSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import type { AuditEntry } from '../domain/audit.ts';
import type { Random } from '../kernel/ids.ts';
import { moveFile } from '../kernel/private-file.ts';
import { createVault } from '../kernel/vault.ts';
import { auditStatement } from '../store/shared/audit.ts';
import { settingStore } from '../store/shared/settings.ts';
import { copyPages, intoOneFile, writeWhole } from '../store/sqlite/driver/copy.ts';
import {
  examineSchema,
  fileInstant,
  migrate,
  SCHEMA_HISTORY,
  type SchemaHistory,
} from '../store/sqlite/driver/schema.ts';
import { openSqlite, type SqliteDatabase } from '../store/sqlite/driver/sqlite.ts';
import { type BackupFacts, examineBackup, masterKeyOf, removeMasterKey } from './backup.ts';

type Restore = {
  /** The opened backup. */
  readonly from: SqliteDatabase;
  /** The time in its manifest; null if it has none. */
  readonly takenAt: number | null;
  /** The database's file. */
  readonly path: string;
  readonly now: number;
  /** Records the restore in the audit log. */
  readonly audit: AuditEntry;
  readonly history?: SchemaHistory;
};

/** A backup cannot be restored, or the database cannot be replaced. Nothing was changed. */
class RestoreError extends Error {
  override readonly name = 'RestoreError';
}

export type Restored = {
  readonly facts: BackupFacts;
  /** The new path of the database that was replaced; null if there was none. */
  readonly replaced: string | null;
};

/**
 * Copies the backup, migrates the copy if its schema is older, checks all of it, and replaces the database with it. At every moment the
 * database's file is the complete old one or the complete new one. Throws `RestoreError`.
 */
export async function restoreDatabase({
  from,
  takenAt,
  path,
  now,
  audit,
  history = SCHEMA_HISTORY,
}: Restore): Promise<Restored> {
  let replaced: string | null = null;
  const facts = await writeWhole(
    path,
    async (unfinished) => {
      await copyPages(from, unfinished);
      await bringUpToDate(unfinished, history, audit);
      const verdict = await examineBackup(unfinished, history);
      if (!verdict.ok) throw new RestoreError(verdict.description);
      return { ...verdict.facts, takenAt, withMasterKey: masterKeyOf(from) !== null };
    },
    {
      place: (unfinished) => {
        replaced = replaceDatabase(unfinished, path, now);
      },
    },
  );
  return { facts, replaced };
}

/** Whether the backup was made with this key. */
export function opensWith(db: SqliteDatabase, masterKey: Uint8Array, random: Random): Promise<boolean> {
  return settingStore(db, createVault(masterKey, random)).knowsMasterKey();
}

async function bringUpToDate(path: string, history: SchemaHistory, audit: AuditEntry): Promise<void> {
  const db = openSqlite(path);
  try {
    const schema = examineSchema(db, history);
    if (schema.ok && schema.state === 'older') migrate(db, schema.path);
    removeMasterKey(db);
    await db.commit([auditStatement(audit)]);
  } finally {
    await db.close();
  }
  intoOneFile(path);
}

function replaceDatabase(unfinished: string, path: string, now: number): string | null {
  const kept = keep(path, `${path}.replaced.${fileInstant(now)}`);
  // SQLite would take an old log for the log of the new database.
  for (const ending of ['-wal', '-shm']) rmSync(path + ending, { force: true });
  moveFile(unfinished, path);
  return kept;
}

/** Gives the old database a second name. A damaged one keeps its log beside it, so that it can be repaired. */
function keep(path: string, kept: string): string | null {
  if (!hasContent(path)) return null;
  const [log, keptLog] = [`${path}-wal`, `${kept}-wal`];
  if (hasContent(log)) linkSync(log, keptLog);
  try {
    // Copies the log into the database, which needs exclusive access.
    intoOneFile(path);
    rmSync(keptLog, { force: true });
  } catch (cause) {
    if (cause instanceof BetterSqlite3.SqliteError && cause.code.startsWith('SQLITE_BUSY')) {
      rmSync(keptLog, { force: true });
      throw new RestoreError('another command has the database open: try again when it has ended', { cause });
    }
  }
  linkSync(path, kept);
  return kept;
}

function hasContent(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
