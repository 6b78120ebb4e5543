/** `sallyport backup`: the database as it is at one moment, in one file, while a server goes on writing. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Config, settingPrefix } from '../config/config.ts';
import { type BackupFacts, masterKeyOf, verifyBackup, writeBackup } from '../data/backup.ts';
import { databaseFiles, databasePath, masterKeyPath, masterKeyPrefix, requireDatabase } from '../data/data-folder.ts';
import { isAuthentic, type Manifest } from '../data/manifest.ts';
import { readMasterKey } from '../data/master-key.ts';
import { opensWith } from '../data/restore.ts';
import { strangerText } from '../kernel/private-file.ts';
import { randomBytes } from '../kernel/random.ts';
import { createVault } from '../kernel/vault.ts';
import { RESTORE_ADVICE, tellsDamage } from '../store/sqlite/damage.ts';
import { openSqlite, type SqliteDatabase } from '../store/sqlite/driver/sqlite.ts';
import { settingStore } from '../store/sqlite/settings.ts';
import type { CommandGroup } from './command.ts';
import { CommandError } from './errors.ts';
import { DATA_SETTINGS } from './open.ts';
import { printRecord } from './output.ts';

export const backupCommands: CommandGroup = [
  {
    name: 'backup verify',
    summary: 'Check a backup without restoring it',
    explanation:
      'Reads all of the file: its checksums, and the database in it. Where the master key of its time is at hand, in the data\nfolder or in the backup, it also checks that the backup was written with that key. Changes nothing.',
    operands: [{ name: 'file', description: 'The backup' }],
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      const config = await invocation.config();
      const file = resolve(invocation.operand('file'));
      const verdict = await verifyBackup(file);
      if (!verdict.ok) throw new CommandError(`${file} cannot be relied on: ${verdict.description}`);
      const { facts, manifest } = verdict;
      const isAuthenticated = await authenticate(config, file, manifest);
      await printRecord(
        invocation,
        { ...backupRecord(file, facts), authenticated: isAuthenticated },
        isAuthenticated ? 'It is whole, and was written with the master key.' : WHOLE_ONLY,
      );
      return 0;
    },
  },
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
        const masterKey = invocation.given('with-master-key') ? await ownMasterKey(config, db) : null;
        const known = masterKey ?? (await ownMasterKey(config, db).catch(() => null));
        const key = known === null ? null : createVault(known, randomBytes);
        facts = await writeBackup(db, file, { now: Date.now(), masterKey, key });
      } catch (cause) {
        if (cause instanceof CommandError) throw cause;
        const advice = tellsDamage(cause) ? `; ${RESTORE_ADVICE}` : '';
        throw new CommandError(`${file} was not written: ${(cause as Error).message}${advice}`, { cause });
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
    const advice = tellsDamage(cause) ? `: ${RESTORE_ADVICE}` : '';
    const what = `${setting}the database ${path} cannot be opened`;
    throw new CommandError(`${what}: ${(cause as Error).message}${stranger}${advice}`, { cause });
  }
}

/** The key, if it is the right one: another one beside the data would make a backup that nobody can use. */
async function ownMasterKey(config: Config, db: SqliteDatabase): Promise<Uint8Array> {
  const path = masterKeyPath(config);
  const verdict = readMasterKey(path);
  if (!verdict.ok) throw new CommandError(`${masterKeyPrefix(config)}${verdict.description}`);
  if (await settingStore(db, createVault(verdict.key, randomBytes)).knowsMasterKey()) return verdict.key;
  throw new CommandError(`${masterKeyPrefix(config)}${path} is not the master key that the database was made with`);
}

const WHOLE_ONLY =
  'It is whole. Without the master key that it was written with, nobody can tell whether somebody made it up.';

/**
 * Whether the manifest was written with the master key that the backup's secrets are sealed under; false where no such key is at hand.
 * Throws `CommandError` where it is, and the manifest is another's.
 */
async function authenticate(config: Config, file: string, manifest: Manifest): Promise<boolean> {
  const db = openSqlite(file, { readOnly: true });
  try {
    const own = readMasterKey(masterKeyPath(config));
    const keys = [masterKeyOf(db), own.ok ? own.key : null].filter((key) => key !== null);
    for (const key of keys) {
      if (!(await opensWith(db, key, randomBytes))) continue;
      requireAuthentic(file, manifest, key);
      return manifest.hmacSha256 !== null;
    }
    return false;
  } finally {
    await db.close();
  }
}

/** For a key that the secrets in the backup are sealed under. A backup may have been written where the key was not at hand. */
export function requireAuthentic(file: string, manifest: Manifest, key: Uint8Array): void {
  if (manifest.hmacSha256 === null || isAuthentic(manifest, createVault(key, randomBytes))) return;
  throw new CommandError(`${file} cannot be relied on: its manifest was not written with its master key`);
}
