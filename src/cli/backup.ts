/** `sallyport backup`: one file with a consistent copy of the database, also while a server writes. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { type BackupFacts, masterKeyOf, verifyBackup, writeBackup } from '../data/backup.ts';
import { DataFolderError, masterKeyPath } from '../data/data.ts';
import { openBesideServer, requireOwnKey } from '../data/data-folder.ts';
import { isAuthentic, type Manifest } from '../data/manifest.ts';
import { readMasterKey } from '../data/master-key.ts';
import { ownFile } from '../data/own-files.ts';
import { opensWith } from '../data/restore.ts';
import { randomBytes } from '../kernel/ids.ts';
import { createVault } from '../kernel/vault.ts';
import { RESTORE_ADVICE, tellsDamage } from '../store/sqlite/damage.ts';
import { openSqlite } from '../store/sqlite/driver/sqlite.ts';
import type { CommandGroup } from './command.ts';
import { CommandError, UsageError } from './errors.ts';
import { configBesideServer, DATA_SETTINGS, requireFolder } from './open.ts';
import { printRecord } from './output.ts';

export const backupCommands: CommandGroup = [
  {
    name: 'backup verify',
    summary: 'Check a backup without restoring it',
    examples: ['sallyport backup verify sallyport-backup.db'],
    explanation:
      'Reads the whole file: checksums and database. If its master key is in the data folder or in the backup, ' +
      'also checks that\nthe backup was written with that key. Changes nothing.',
    operands: [{ name: 'file', description: 'The backup' }],
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      const config = await configBesideServer(invocation);
      const file = resolve(invocation.operand('file'));
      const verdict = await verifyBackup(file);
      if (!verdict.ok) throw new CommandError(`${file} is not a valid backup: ${verdict.description}`);
      const { facts, manifest } = verdict;
      const isAuthenticated = await authenticate(config, file, manifest);
      await printRecord(
        invocation,
        { ...backupRecord(file, facts), authenticated: isAuthenticated },
        isAuthenticated ? 'The backup is intact and was written with the master key.' : WHOLE_ONLY,
      );
      return 0;
    },
  },
  {
    name: 'backup',
    summary: 'Back up the database while it is in use',
    examples: ['sallyport backup sallyport-backup.db', 'sallyport backup nightly.db --force --with-master-key'],
    explanation:
      'Checks the backup before it gets its name. The backup does not contain the master key, without which ' +
      'its secrets cannot\nbe decrypted: keep the two apart. With --with-master-key, the file contains ' +
      'both: anyone who has it has every secret.',
    operands: [{ name: 'file', description: 'The file to write' }],
    options: {
      force: { description: 'Replace an existing file' },
      'with-master-key': { description: 'Include the master key in the backup' },
    },
    settings: DATA_SETTINGS,
    json: true,
    run: async (invocation) => {
      const config = await configBesideServer(invocation);
      requireFolder(config, 'sallyport backup');
      const file = resolve(invocation.operand('file'));
      const own = ownFile(config, file);
      if (own !== null) {
        throw new UsageError(
          `The backup would replace ${own}, which the data folder needs. Name another file`,
          'backup',
        );
      }
      if (existsSync(file) && !invocation.given('force')) {
        throw new CommandError(`${file} already exists: choose another name, or replace it with --force`);
      }
      const db = openBesideServer(config);
      let facts: BackupFacts;
      try {
        const masterKey = invocation.given('with-master-key') ? await requireOwnKey(config, db) : null;
        const known = masterKey ?? (await requireOwnKey(config, db).catch(() => null));
        const key = known === null ? null : createVault(known, randomBytes);
        facts = await writeBackup(db, file, { now: Date.now(), masterKey, key });
      } catch (cause) {
        if (cause instanceof DataFolderError) throw cause;
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

/** The facts of a backup, for printing. */
export function backupRecord(file: string, facts: BackupFacts): Readonly<Record<string, unknown>> {
  const { takenAt, contents, ...rest } = facts;
  return { file, takenAt: takenAt === null ? null : new Date(takenAt).toISOString(), ...rest, ...contents };
}

function noteOf({ withMasterKey }: BackupFacts, config: Config): string {
  return withMasterKey
    ? 'The backup contains the master key: anyone who has this file has every secret.'
    : `The backup does not contain the master key. Keep a copy of ${masterKeyPath(config)} ` +
        'elsewhere:\nwithout it, the secrets in this backup cannot be decrypted.';
}

const WHOLE_ONLY = 'The backup is intact. Without its master key, it is unknown who wrote it.';

/**
 * Whether the manifest was written with the master key of the backup's secrets; false if that key is not available. Throws
 * `CommandError` if it was written with another key.
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

/** `key`: the key of the secrets in the backup. A backup may have been written without it. */
export function requireAuthentic(file: string, manifest: Manifest, key: Uint8Array): void {
  if (manifest.hmacSha256 === null || isAuthentic(manifest, createVault(key, randomBytes))) return;
  throw new CommandError(`${file} is not a valid backup: its manifest was not written with its master key`);
}
