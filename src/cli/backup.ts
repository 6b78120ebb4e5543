/** `sallyport backup`: the database as it is at one moment, in one file, while a server goes on writing. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Config, settingPrefix } from '../config.ts';
import { databaseFiles, databasePath, masterKeyPath, masterKeyPrefix, requireDatabase } from '../data-folder.ts';
import { randomBytes } from '../random.ts';
import { type BackupFacts, writeBackup } from '../store/backup.ts';
import { readMasterKey } from '../store/master-key.ts';
import { strangerText } from '../store/private-file.ts';
import { settingStore } from '../store/settings.ts';
import { openSqlite, type SqliteDatabase } from '../store/sqlite.ts';
import { createVault } from '../store/vault.ts';
import { CommandError, type CommandGroup } from './command.ts';
import { DATA_SETTINGS } from './open.ts';
import { printRecord } from './output.ts';

export const backupCommands: CommandGroup = [
  {
    name: 'backup',
    summary: 'Write a backup of the database while it is in use',
    explanation:
      'The backup is checked before it gets its name. The master key is not in it, and secrets in it are of no use without\nthat key: keep the two apart. With --with-master-key both are in one file: whoever has that file has every secret.',
    operands: [{ name: 'file', description: 'What to write' }],
    options: {
      force: { description: 'Replace the file if there is one' },
      'with-master-key': { description: 'Put the master key into the backup' },
    },
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      const config = await invocation.config();
      const file = resolve(invocation.operand('file'));
      if (existsSync(file) && !invocation.given('force')) {
        throw new CommandError(`there is a file ${file} already: choose another name, or replace it with --force`);
      }
      const db = openDatabase(config);
      let facts: BackupFacts;
      try {
        const masterKey = invocation.given('with-master-key') ? await masterKeyOf(config, db) : null;
        facts = await writeBackup(db, file, { now: Date.now(), masterKey });
      } catch (cause) {
        if (cause instanceof CommandError) throw cause;
        throw new CommandError(`${file} was not written: ${(cause as Error).message}`, { cause });
      } finally {
        await db.close();
      }
      await printRecord(invocation, backupRecord(file, facts), noteOf(facts, config));
      return 0;
    },
  },
];

/** What a backup is, for people and programs. */
export function backupRecord(file: string, facts: BackupFacts): Readonly<Record<string, unknown>> {
  const { takenAt, contents, ...rest } = facts;
  return { file, takenAt: takenAt === null ? null : new Date(takenAt).toISOString(), ...rest, ...contents };
}

function noteOf({ withMasterKey }: BackupFacts, config: Config): string {
  return withMasterKey
    ? 'The master key is in it: whoever has this file has every secret.'
    : `The master key is not in it. Keep a copy of ${masterKeyPath(config)} elsewhere:\nwithout that key the secrets in this backup cannot be read.`;
}

function openDatabase(config: Config): SqliteDatabase {
  const path = databasePath(config);
  requireDatabase(config);
  try {
    return openSqlite(path);
  } catch (cause) {
    const stranger = strangerText(databaseFiles(config));
    const setting = settingPrefix(config, 'dataDir');
    throw new CommandError(`${setting}the database ${path} cannot be opened: ${(cause as Error).message}${stranger}`, {
      cause,
    });
  }
}

/** The key, if it is the right one: another one beside the data would make a backup that nobody can use. */
async function masterKeyOf(config: Config, db: SqliteDatabase): Promise<Uint8Array> {
  const path = masterKeyPath(config);
  const verdict = readMasterKey(path);
  if (!verdict.ok) throw new CommandError(`${masterKeyPrefix(config)}${verdict.description}`);
  if (await settingStore(db, createVault(verdict.key, randomBytes)).knowsMasterKey()) return verdict.key;
  throw new CommandError(`${masterKeyPrefix(config)}${path} is not the master key that the database was made with`);
}
