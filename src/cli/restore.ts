/** `sallyport restore`: replaces the database with a backup. The server must be stopped. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { masterKeyOf } from '../data/backup.ts';
import { masterKeyPath, masterKeyPrefix } from '../data/data.ts';
import { databasePath, hasDatabase, holdFolder } from '../data/data-folder.ts';
import { checkManifest, type Manifest } from '../data/manifest.ts';
import { makeMasterKey, readMasterKey } from '../data/master-key.ts';
import { opensWith, type Restored, restoreDatabase } from '../data/restore.ts';
import { COMMAND_LINE } from '../domain/acting.ts';
import { type AuditEntry, auditEntry } from '../domain/audit.ts';
import { createIds, randomBytes } from '../kernel/ids.ts';
import { examineSchema } from '../store/sqlite/driver/schema.ts';
import { openSqlite, type SqliteDatabase } from '../store/sqlite/driver/sqlite.ts';
import { backupRecord, requireAuthentic } from './backup.ts';
import type { CommandGroup } from './command.ts';
import { CommandError } from './errors.ts';
import { DATA_SETTINGS, requireFolder } from './open.ts';
import { printRecord } from './output.ts';

export const restoreCommands: CommandGroup = [
  {
    name: 'restore',
    summary: 'Restore a backup into the data folder',
    examples: ['sallyport restore sallyport-backup.db', 'sallyport restore sallyport-backup.db --force'],
    explanation:
      'Stop the server first. Checks the whole backup and its manifest, migrates it from an older version, and ' +
      'requires its master key.\nDeliveries that were sent after the backup may be sent again; receivers drop ' +
      'repeats by messageId.',
    operands: [{ name: 'file', description: 'The backup' }],
    options: {
      force: { description: 'Replace the existing database, which is kept under a name with the date' },
      'without-manifest': {
        description:
          'Restore a database that sallyport backup did not write, such as a replica or the copy of an upgrade',
      },
    },
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      const config = await invocation.config();
      requireFolder(config, 'sallyport restore');
      const file = resolve(invocation.operand('file'));
      const manifest = readManifest(file, invocation.given('without-manifest'));
      const from = openBackup(file);
      try {
        // Check everything before creating anything.
        const { key, isMissing } = await findKey(config, from, file);
        if (manifest !== null) requireAuthentic(file, manifest, key);
        const lock = holdFolder(config);
        try {
          if (hasDatabase(config) && !invocation.given('force')) {
            throw new CommandError(`${config.dataDir} already contains data: replace it with --force`);
          }
          if (isMissing) putMasterKey(config, key, file);
          const restored = await restore(config, from, file, manifest?.takenAt ?? null);
          await printRecord(
            invocation,
            recordOf(file, restored),
            'Check it with sallyport doctor, then start the server.',
          );
        } finally {
          lock.release();
        }
      } finally {
        await from.close();
      }
      return 0;
    },
  },
];

/** Null for a file without a manifest, if `mayLack`. Throws `CommandError` for a file that was changed. */
function readManifest(file: string, mayLack: boolean): Manifest | null {
  if (!existsSync(file)) throw new CommandError(`there is no file ${file}`);
  try {
    const verdict = checkManifest(file);
    if (verdict.ok) return verdict.manifest;
    if (mayLack && verdict.code === 'missing') return null;
    const advice = verdict.code === 'missing' ? '. To restore a database from elsewhere, use --without-manifest' : '';
    throw new CommandError(`${file} is not a valid backup: ${verdict.description}${advice}`);
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    throw new CommandError(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

function openBackup(file: string): SqliteDatabase {
  try {
    const db = openSqlite(file, { readOnly: true });
    const schema = examineSchema(db);
    if (schema.ok && schema.state !== 'empty') return db;
    db.connection.close();
    throw new CommandError(`${file} cannot be used: ${schema.ok ? 'it is empty' : schema.description}`);
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    throw new CommandError(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** The key of the folder, which must be the right one, or the key in the backup if the folder has none. */
async function findKey(
  config: Config,
  from: SqliteDatabase,
  file: string,
): Promise<{ readonly key: Uint8Array; readonly isMissing: boolean }> {
  const path = masterKeyPath(config);
  const enclosed = masterKeyOf(from);
  const verdict = readMasterKey(path);
  if (!verdict.ok && verdict.code === 'missing' && enclosed !== null) return { key: enclosed, isMissing: true };
  const setting = masterKeyPrefix(config);
  if (!verdict.ok)
    throw new CommandError(`${setting}${verdict.description}${verdict.code === 'missing' ? `: ${KEY_ADVICE}` : ''}`);
  if (await opensWith(from, verdict.key, randomBytes)) return { key: verdict.key, isMissing: false };
  throw new CommandError(otherKey(config, file));
}

/** Throws `CommandError` if another process has put another key there during the restore. */
function putMasterKey(config: Config, key: Uint8Array, file: string): void {
  const put = makeMasterKey(masterKeyPath(config), () => key, config.dataDir);
  if (!Buffer.from(put.key).equals(key)) throw new CommandError(otherKey(config, file));
}

function otherKey(config: Config, file: string): string {
  return `${masterKeyPrefix(config)}the master key ${masterKeyPath(config)} does not open ${file}: ${KEY_ADVICE}`;
}

const KEY_ADVICE = 'put the master key of the backup there, or name its file with --master-key-file';

async function restore(config: Config, from: SqliteDatabase, file: string, takenAt: number | null): Promise<Restored> {
  const now = Date.now();
  const audit: AuditEntry = auditEntry(
    createIds(() => now, randomBytes),
    COMMAND_LINE.actor,
    'database.restore',
    'database:1',
    { at: now, changes: { backup: { from: null, to: takenAt === null ? null : new Date(takenAt).toISOString() } } },
  );
  try {
    return await restoreDatabase({ from, takenAt, path: databasePath(config), now, audit });
  } catch (cause) {
    throw new CommandError(`${file} was not restored: ${(cause as Error).message}`, { cause });
  }
}

function recordOf(file: string, { facts, replaced }: Restored): Readonly<Record<string, unknown>> {
  return { ...backupRecord(file, facts), replaced };
}
