/** `sallyport restore`: a backup becomes the database. The server must be stopped meanwhile. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { COMMAND_LINE } from '../acting.ts';
import type { AuditEntry } from '../audit.ts';
import { type Config, settingPrefix } from '../config.ts';
import { databasePath, hasDatabase, masterKeyPath, masterKeyPrefix } from '../data-folder.ts';
import { createIds } from '../ids.ts';
import { randomBytes } from '../random.ts';
import { masterKeyOf, takenAtOf } from '../store/backup.ts';
import { makePrivateFolder } from '../store/folder.ts';
import { type FolderLock, LOCK_FILE, lockFolder } from '../store/folder-lock.ts';
import { makeMasterKey, readMasterKey } from '../store/master-key.ts';
import { strangerText } from '../store/private-file.ts';
import { opensWith, type Restored, restoreDatabase } from '../store/restore.ts';
import { examineSchema } from '../store/schema.ts';
import { openSqlite, type SqliteDatabase } from '../store/sqlite.ts';
import { backupRecord } from './backup.ts';
import { CommandError, type CommandGroup } from './command.ts';
import { DATA_SETTINGS } from './open.ts';
import { printRecord } from './output.ts';

export const restoreCommands: CommandGroup = [
  {
    name: 'restore',
    summary: 'Bring a backup back into the data folder',
    explanation:
      'Stop the server first. The backup is checked, migrated if it is of an older version, and must open with the master key.\nWhat was sent after the backup was taken may be sent again: receivers drop what they have by its messageId.',
    operands: [{ name: 'file', description: 'The backup' }],
    options: {
      force: { description: 'Replace the database that is there; it is kept beside the new one under a dated name' },
    },
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      const config = await invocation.config();
      const file = resolve(invocation.operand('file'));
      const from = openBackup(file);
      try {
        // All that can be refused is refused before anything is made.
        const missingKey = await findMissingKey(config, from, file);
        const lock = takeFolder(config);
        try {
          if (hasDatabase(config) && !invocation.given('force')) {
            throw new CommandError(`there is data in ${config.dataDir} already: replace it with --force`);
          }
          if (missingKey !== null) makeMasterKey(masterKeyPath(config), () => missingKey, config.dataDir);
          const restored = await restore(config, from, file);
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

function openBackup(file: string): SqliteDatabase {
  if (!existsSync(file)) throw new CommandError(`there is no file ${file}`);
  try {
    const db = openSqlite(file, { readOnly: true });
    const schema = examineSchema(db);
    if (schema.ok && schema.state !== 'empty') return db;
    db.connection.close();
    throw new CommandError(`${file} cannot be used: ${schema.ok ? 'there is nothing in it' : schema.description}`);
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    throw new CommandError(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** The key in the backup where the folder has none yet; null where the folder's own is the right one. */
async function findMissingKey(config: Config, from: SqliteDatabase, file: string): Promise<Uint8Array | null> {
  const path = masterKeyPath(config);
  const enclosed = masterKeyOf(from);
  const verdict = readMasterKey(path);
  if (!verdict.ok && verdict.code === 'missing' && enclosed !== null) return enclosed;
  const advice = 'put the key that the backup was made with there, or name its file with --master-key-file';
  const setting = masterKeyPrefix(config);
  if (!verdict.ok)
    throw new CommandError(`${setting}${verdict.description}${verdict.code === 'missing' ? `: ${advice}` : ''}`);
  if (await opensWith(from, verdict.key, randomBytes)) return null;
  throw new CommandError(`${setting}the master key ${path} does not open ${file}: ${advice}`);
}

function takeFolder(config: Config): FolderLock {
  const { dataDir } = config;
  let lock: FolderLock | null;
  try {
    makePrivateFolder(dataDir);
    lock = lockFolder(dataDir);
  } catch (cause) {
    const stranger = strangerText([join(dataDir, LOCK_FILE), dataDir]);
    const setting = settingPrefix(config, 'dataDir');
    throw new CommandError(
      `${setting}the data folder ${dataDir} cannot be used: ${(cause as Error).message}${stranger}`,
      {
        cause,
      },
    );
  }
  if (lock === null) throw new CommandError(`the data folder ${dataDir} is in use: stop the server first`);
  return lock;
}

async function restore(config: Config, from: SqliteDatabase, file: string): Promise<Restored> {
  const now = Date.now();
  const takenAt = takenAtOf(from);
  const audit: AuditEntry = {
    id: createIds(() => now, randomBytes).uuid(),
    at: now,
    actor: COMMAND_LINE.actor,
    action: 'database.restore',
    target: 'database:1',
    changes: { backup: { from: null, to: takenAt === null ? null : new Date(takenAt).toISOString() } },
  };
  try {
    return await restoreDatabase({ from, path: databasePath(config), now, audit });
  } catch (cause) {
    throw new CommandError(`${file} was not restored: ${(cause as Error).message}`, { cause });
  }
}

function recordOf(file: string, { facts, replaced }: Restored): Readonly<Record<string, unknown>> {
  return { ...backupRecord(file, facts), replaced };
}
