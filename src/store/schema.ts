/** Which schema a database has: made where there is none, refused where it is another version's. */
import { VERSION } from '../version.ts';
import type { SqliteDatabase } from './sqlite.ts';

/** `PRAGMA user_version` of schema.sql. */
export const SCHEMA_VERSION = 1;

export type SchemaVerdict =
  | { readonly ok: true; readonly state: 'empty' | 'current' }
  | { readonly ok: false; readonly description: string };

/** What there is in the database, before anything is written to it. */
export function examineSchema({ connection }: SqliteDatabase): SchemaVerdict {
  const version = Number(connection.pragma('user_version', { simple: true }));
  if (version === SCHEMA_VERSION) return { ok: true, state: 'current' };
  if (version > SCHEMA_VERSION) {
    const description = `its schema is version ${version}, and Sallyport ${VERSION} knows version ${SCHEMA_VERSION}: run the newer Sallyport that wrote it`;
    return { ok: false, description };
  }
  const { tables } = connection.prepare('SELECT count(*) AS tables FROM sqlite_master').get() as { tables: number };
  if (version === 0 && tables === 0) return { ok: true, state: 'empty' };
  const description = `its schema is version ${version}, which Sallyport ${VERSION} cannot migrate to version ${SCHEMA_VERSION}`;
  return { ok: false, description };
}

/** Runs the schema on an empty database in one transaction: dying in the middle leaves it empty. */
export function createSchema({ connection }: SqliteDatabase, schema: string): void {
  connection.exec('BEGIN IMMEDIATE');
  try {
    connection.exec(schema);
    connection.exec('COMMIT');
  } catch (error) {
    if (connection.inTransaction) connection.exec('ROLLBACK');
    throw error;
  }
}
