/** Problems of the contents of a database: locks, positions of webhooks, damaged tables, settings of roles. Only reads. */
import type { Database } from '../port/database.ts';
import { DatabaseUnavailable } from '../port/errors.ts';

type HeldLock = { readonly table: string; readonly mode: string; readonly process: number | null };

const SCHEMA = '(SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = current_schema())';
// Locks that keep others from writing or reading. A partition counts as its table.
const LOCKS = `
  SELECT DISTINCT coalesce(p.relname, c.relname) AS name, l.mode, l.pid FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
  LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid LEFT JOIN pg_class AS p ON p.oid = i.inhparent
  WHERE l.granted AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
    AND c.relnamespace = ${SCHEMA} AND c.relkind IN ('r', 'p') AND l.pid IS DISTINCT FROM pg_backend_pid()
    AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
  ORDER BY 1`;

/** The locks on whole tables. Sallyport holds some for milliseconds. A prepared transaction has no process. */
export async function tableLocks(db: Database): Promise<readonly HeldLock[]> {
  return (await db.all(LOCKS, {})).map(({ name, mode, pid }) => ({
    table: String(name),
    mode: String(mode),
    process: pid === null ? null : Number(pid),
  }));
}

const TABLES = `
  SELECT quote_ident(c.relname) AS name FROM pg_class AS c WHERE c.relnamespace = ${SCHEMA} AND c.relkind = 'r'
  ORDER BY pg_table_size(c.oid)`;

type TablesRead = { readonly damaged: readonly string[]; readonly unread: number };

/**
 * Reads every page of every table, the smallest first, and begins no further one after `limitMs`. `damaged` says what the server reported.
 */
export async function readTables(db: Database, limitMs: number): Promise<TablesRead> {
  const tables = (await db.all(TABLES, {})).map(({ name }) => String(name));
  const until = performance.now() + limitMs;
  const damaged: string[] = [];
  for (const [at, name] of tables.entries()) {
    if (performance.now() > until) return { damaged, unread: tables.length - at };
    try {
      // With a range of pages, no index is read instead.
      await db.get(`SELECT count(*) AS n FROM ${name} WHERE ctid >= '(0,0)'`, {});
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      damaged.push(`${name} (${(error.cause as Error).message})`);
    }
  }
  return { damaged, unread: 0 };
}

// Settings that Sallyport sets itself in every session are left out; `setconfig` has texts such as `statement_timeout=1s`.
const OVERRIDDEN = `
  SELECT DISTINCT split_part(c.value, '=', 1) AS name FROM pg_db_role_setting AS s CROSS JOIN LATERAL unnest(s.setconfig) AS c (value)
  WHERE (s.setdatabase = 0 OR s.setdatabase = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()))
    AND (s.setrole = 0 OR s.setrole = (SELECT r.oid FROM pg_roles AS r WHERE r.rolname = session_user)) ORDER BY 1`;

/** The names of the settings that the database or the role of the session sets. */
export async function settingsOfRole(db: Database): Promise<readonly string[]> {
  return (await db.all(OVERRIDDEN, {})).map(({ name }) => String(name));
}
