/** Opens the data that the settings name: a data folder with an SQLite database, or a PostgreSQL database. */
import type { Config } from '../config/config.ts';
import type { Database } from '../store/port/database.ts';
import { openSqlite } from '../store/sqlite/driver/sqlite.ts';
import type { Data } from './data.ts';
import { databasePath, type Opening, openFolder, requireDatabase } from './data-folder.ts';

/**
 * Opens the data. `exclusive` is for a process that serves: it creates missing data. Without it the data must have had its first start.
 * Throws `DataFolderError`.
 */
export async function openData(config: Config, opening: Omit<Opening, 'history'>): Promise<Data> {
  if (config.databaseUrl === null) return openFolder(config, opening);
  const { openDatabase } = await import('./postgres.ts');
  return openDatabase(config, opening);
}

/** Opens the database only for reading, without the master key. Throws `DataFolderError`. */
export async function openToRead(config: Config): Promise<Database> {
  if (config.databaseUrl === null) {
    requireDatabase(config);
    return openSqlite(databasePath(config), { readOnly: true });
  }
  const { connect, requireSchema } = await import('./postgres.ts');
  const db = await connect(config);
  try {
    await requireSchema(config, db);
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}
