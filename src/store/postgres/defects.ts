/** What is missing in the schema of a database that Sallyport uses. Reads catalogs, and no table but `schema_change`. */
import type { Database } from '../database.ts';
import { DatabaseUnavailable } from '../errors.ts';
import { readRow } from '../sql/table.ts';
import {
  OTHER_INDEXES,
  SCHEMA_COLUMNS,
  SCHEMA_FUNCTIONS,
  SCHEMA_TABLES,
  SCHEMA_TRIGGERS,
  UNIQUE_INDEXES,
} from './objects.ts';
import { SCHEMA_VERSION } from './schema.ts';

/** `index`: statements are slow without it. Without anything else they fail, or do wrong. */
export type DefectKind = 'privilege' | 'table' | 'column' | 'function' | 'trigger' | 'unique index' | 'index';

export type Defect = {
  readonly kind: DefectKind;
  /** Such as `event`, `event.data`, or `SELECT ON event`. */
  readonly name: string;
};

const FIND = `
  WITH place AS (SELECT oid, nspname FROM pg_namespace WHERE nspname = current_schema()),
  found AS (
    SELECT c.oid, c.relname FROM place AS p JOIN pg_class AS c ON c.relnamespace = p.oid
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition)
  SELECT 'table' AS kind, w.value AS name FROM texts(@tables) AS w
  WHERE NOT EXISTS (SELECT 1 FROM found AS f WHERE f.relname = w.value)
  UNION ALL
  SELECT 'column', (w.value ->> 0) || '.' || (w.value ->> 1) FROM tuples(@columns) AS w JOIN found AS f ON f.relname = w.value ->> 0
  WHERE NOT EXISTS (SELECT 1 FROM pg_attribute AS a WHERE a.attrelid = f.oid AND a.attname = w.value ->> 1 AND NOT a.attisdropped)
  UNION ALL
  SELECT 'function', w.value FROM texts(@functions) AS w
  WHERE NOT EXISTS (SELECT 1 FROM place AS p JOIN pg_proc AS r ON r.pronamespace = p.oid WHERE r.proname = w.value)
  UNION ALL
  SELECT 'trigger', (w.value ->> 0) || '.' || (w.value ->> 1) FROM tuples(@triggers) AS w JOIN found AS f ON f.relname = w.value ->> 0
  WHERE NOT EXISTS (
    SELECT 1 FROM pg_trigger AS t WHERE t.tgrelid = f.oid AND t.tgname = w.value ->> 1 AND t.tgenabled IN ('O', 'A'))
  UNION ALL
  SELECT w.value ->> 0, w.value ->> 1 FROM tuples(@indexes) AS w
  WHERE NOT EXISTS (
    SELECT 1 FROM place AS p JOIN pg_class AS c ON c.relnamespace = p.oid JOIN pg_index AS i ON i.indexrelid = c.oid
    WHERE c.relname = w.value ->> 1 AND i.indisvalid)
  UNION ALL
  SELECT 'privilege', v.value || ' ON ' || w.value FROM texts(@tables) AS w
  JOIN found AS f ON f.relname = w.value CROSS JOIN texts(@verbs) AS v
  WHERE NOT has_table_privilege(f.oid, v.value) AND (w.value <> 'schema_change' OR v.value = 'SELECT')
  UNION ALL
  SELECT 'privilege', 'EXECUTE ON FUNCTION ' || r.proname FROM place AS p JOIN pg_proc AS r ON r.pronamespace = p.oid
  WHERE r.proname IN (SELECT w.value FROM texts(@functions) AS w) AND NOT has_function_privilege(r.oid, 'EXECUTE')`;

const WANTED = {
  tables: JSON.stringify(SCHEMA_TABLES),
  columns: JSON.stringify(Object.entries(SCHEMA_COLUMNS).flatMap(([table, all]) => all.map((one) => [table, one]))),
  functions: JSON.stringify(SCHEMA_FUNCTIONS),
  triggers: JSON.stringify(SCHEMA_TRIGGERS.map((name) => name.split('.'))),
  indexes: JSON.stringify([
    ...UNIQUE_INDEXES.map((name) => ['unique index', name]),
    ...OTHER_INDEXES.map((name) => ['index', name]),
  ]),
  verbs: JSON.stringify(['SELECT', 'INSERT', 'UPDATE', 'DELETE']),
};

const NEWEST = 'SELECT coalesce(max(version), 0) AS version FROM schema_change';

/** Everything that is missing. Nothing is known of the schema of a newer version. */
export async function schemaDefects(db: Pick<Database, 'get' | 'all'>): Promise<readonly Defect[]> {
  const defects = (await db.all(FIND, WANTED)).map((row) => readRow<Defect>(row));
  return defects.length === 0 || (await isNewer(db)) ? [] : defects;
}

async function isNewer(db: Pick<Database, 'get'>): Promise<boolean> {
  try {
    return Number((await db.get(NEWEST, {}))?.version) > SCHEMA_VERSION;
  } catch (error) {
    // The table or the privilege is one of those that are missing.
    if (error instanceof DatabaseUnavailable) return false;
    throw error;
  }
}

/** Throws `DatabaseUnavailable` while something is missing that statements need, with its names in the cause. */
export async function refuseDefects(db: Pick<Database, 'get' | 'all'>): Promise<void> {
  const defects = (await schemaDefects(db)).filter(({ kind }) => kind !== 'index');
  if (defects.length === 0) return;
  const isDenied = defects.every(({ kind }) => kind === 'privilege');
  const cause = new Error(`missing: ${namesOf(defects)}`);
  throw new DatabaseUnavailable(isDenied ? 'denied' : 'incomplete', { cause, isServer: true });
}

const NAMED_MAX = 5;

/** The names, the first few of them. */
export function namesOf(defects: readonly Defect[]): string {
  const names = defects.slice(0, NAMED_MAX).map(({ kind, name }) => (kind === 'privilege' ? name : `${kind} ${name}`));
  const more = defects.length - names.length;
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
