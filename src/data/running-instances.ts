/** Refuses changes of a database while instances use it. */
import { type Config, databaseName } from '../config/config.ts';
import type { PostgresDatabase } from '../store/postgres/driver/postgres.ts';
import { migrate, type SchemaVerdict } from '../store/postgres/schema.ts';
import { DataFolderError } from './data.ts';

/** Throws `DataFolderError` while an instance is alive. */
export async function refuseInstances({ databaseUrl }: Config, db: Pick<PostgresDatabase, 'get'>): Promise<void> {
  const row = await db.get(
    'SELECT count(*) AS alive FROM instance WHERE expires_at > extract(epoch FROM clock_timestamp()) * 1000',
    {},
  );
  const alive = Number(row?.alive);
  if (alive === 0) return;
  const many = alive === 1 ? 'an instance uses' : `${alive} instances use`;
  const name = databaseUrl === null ? '' : databaseName(databaseUrl);
  throw new DataFolderError(`${many} the database ${name}: stop them first (sallyport instances lists them)`);
}

/** Takes the steps. Refuses if instances run that would not work after them. */
export async function migrateInstances(
  config: Config,
  db: PostgresDatabase,
  { version, path }: Extract<SchemaVerdict, { readonly state: 'older' }>,
  waitMs: number | undefined,
): Promise<void> {
  if (path.some(({ oldestProgram }) => oldestProgram > version)) await refuseInstances(config, db);
  await migrate(db, path, waitMs);
}
