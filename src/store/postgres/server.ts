/** The PostgreSQL server behind a database: what it is, and why Sallyport cannot use it. */
import type { Database } from '../port/database.ts';

const OLDEST_POSTGRES = 15;

export type ServerFacts = {
  /** The major version, such as 15, and the full text. */
  readonly major: number;
  readonly version: string;
  readonly encoding: string;
  readonly role: string;
  readonly database: string;
  /** The schema in which tables are made, as an identifier; null if the search path has none. */
  readonly schema: string | null;
  readonly mayCreate: boolean;
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  /** False if `session_replication_role` keeps triggers and foreign keys from their work. */
  readonly runsTriggers: boolean;
  readonly bytes: number;
};

const FACTS = `
  SELECT current_setting('server_version_num') AS number, current_setting('server_version') AS version,
    current_setting('server_encoding') AS encoding, current_user AS role, current_database() AS database,
    quote_ident(current_schema()) AS schema, has_schema_privilege(current_schema(), 'CREATE') AS may_create,
    pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS read_only,
    current_setting('session_replication_role') = 'origin' AS runs_triggers, pg_database_size(current_database()) AS bytes`;

export async function serverFacts(db: Database): Promise<ServerFacts> {
  const row = await db.get(FACTS, {});
  if (row === undefined) throw new Error('the server did not answer');
  return {
    major: Math.floor(Number(row.number) / 10_000),
    version: String(row.version),
    encoding: String(row.encoding),
    role: String(row.role),
    database: String(row.database),
    schema: row.schema === null ? null : String(row.schema),
    mayCreate: row.may_create === 1,
    isStandby: row.standby === 1,
    isReadOnly: row.read_only === 1,
    runsTriggers: row.runs_triggers === 1,
    bytes: Number(row.bytes),
  };
}

export const STANDBY = 'it is a standby, which cannot be written: name the primary, or all hosts, in the URL';
export const READ_ONLY =
  'it is read-only: check default_transaction_read_only of the database and of the role, and the free disk space of the server';

/** Why Sallyport cannot use the server, and what to do; null if it can. */
export function serverProblem(facts: ServerFacts): string | null {
  const { major, version, encoding, isStandby, isReadOnly, runsTriggers } = facts;
  if (major < OLDEST_POSTGRES)
    return `it is PostgreSQL ${version}, and Sallyport needs ${OLDEST_POSTGRES} or newer: upgrade the server`;
  if (isStandby) return STANDBY;
  if (isReadOnly) return READ_ONLY;
  if (!runsTriggers)
    return 'its triggers do not run: reset session_replication_role, which is set for the role or the database';
  if (encoding !== 'UTF8')
    return `its encoding is ${encoding}: create one with UTF8, such as createdb -E UTF8 -T template0 sallyport`;
  return null;
}
