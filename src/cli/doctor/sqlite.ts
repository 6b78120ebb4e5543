/** The checks of `sallyport doctor` on an SQLite database. */
import { existsSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { masterKeyPath } from '../../data/data.ts';
import { databaseFiles, databasePath, isFirstStart } from '../../data/data-folder.ts';
import { readAsset } from '../../kernel/assets.ts';
import { strangerText } from '../../kernel/private-file.ts';
import { damages, RESTORE_ADVICE, tellsDamage } from '../../store/sqlite/damage.ts';
import { brokenReferences, examineSchema, missingObjects } from '../../store/sqlite/driver/schema.ts';
import { openSqlite, type SqliteDatabase } from '../../store/sqlite/driver/sqlite.ts';
import { examineContents } from './contents.ts';
import { type Finding, finding, ok, problem } from './finding.ts';
import { examinePositions } from './positions.ts';

export async function examineSqlite(config: Config, now: number): Promise<Finding[]> {
  const path = databasePath(config);
  if (!existsSync(path)) return [problem('database', `${path} does not exist: run sallyport init or sallyport serve`)];
  let db: SqliteDatabase;
  try {
    db = openSqlite(path);
  } catch (error) {
    const stranger = strangerText(databaseFiles(config));
    const advice = tellsDamage(error) ? `: ${RESTORE_ADVICE}` : '';
    return [problem('database', `${path} cannot be opened: ${(error as Error).message}${stranger}${advice}`)];
  }
  try {
    return await examineOpened(config, db, now);
  } finally {
    await db.close();
  }
}

async function examineOpened(config: Config, db: SqliteDatabase, now: number): Promise<Finding[]> {
  const schema = await finding('schema', () => examineVersion(config, db));
  if (schema.status === 'problem') return [schema];
  // The checks below must not write.
  db.connection.pragma('query_only = ON');
  return [
    schema,
    await finding('integrity', () => examineIntegrity(db)),
    await finding('foreign keys', () => examineForeignKeys(db)),
    await finding('objects', () => examineObjects(db)),
    await finding('positions', () => examinePositions(db)),
    ...(await examineContents(config, db, now)),
  ];
}

function examineVersion(config: Config, db: SqliteDatabase): Finding {
  const verdict = examineSchema(db);
  if (!verdict.ok) return problem('schema', verdict.description);
  if (verdict.state === 'older')
    return problem('schema', 'the schema is from an older version: sallyport serve migrates it');
  if (verdict.state === 'current') return ok('schema', 'the schema is current');
  const key = masterKeyPath(config);
  return existsSync(key) && !isFirstStart(config)
    ? problem(
        'schema',
        `the database ${db.connection.name} is empty, but ${key} shows that there was one: restore a backup with ` +
          'sallyport restore <backup> --force',
      )
    : problem('schema', 'the first start was interrupted: run sallyport init or sallyport serve');
}

/** Reads the whole file, which takes some seconds per gigabyte. */
function examineIntegrity(db: SqliteDatabase): Finding {
  const damaged = damages(db);
  return damaged.length === 0
    ? ok('integrity', 'the database file is intact')
    : problem('integrity', `the database file is damaged: ${damaged.join('; ')}`);
}

function examineObjects(db: SqliteDatabase): Finding {
  const missing = missingObjects(db, readAsset('schema.sql'));
  return missing.length === 0
    ? ok('objects', 'every table, column, index and trigger is there')
    : problem('objects', `the schema lacks ${missing.slice(0, 5).join(', ')}: ${RESTORE_ADVICE}`);
}

function examineForeignKeys(db: SqliteDatabase): Finding {
  const broken = brokenReferences(db);
  return broken.length === 0
    ? ok('foreign keys', 'all references are valid')
    : problem('foreign keys', `rows refer to missing rows: ${broken.join(', ')}`);
}
