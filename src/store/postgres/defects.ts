/** Finds the objects that the schema of a database lacks. Reads the catalogs and `schema_change`, and no other table. */
import type { Database, Row } from '../port/database.ts';
import { DatabaseUnavailable } from '../port/errors.ts';
import { unavailable } from './driver/errors.ts';
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
type DefectKind = 'privilege' | 'table' | 'column' | 'function' | 'trigger' | 'unique index' | 'index';

export type Defect = {
  readonly kind: DefectKind;
  /** Such as `event`, `event.data`, or `SELECT ON event`. */
  readonly name: string;
};

// One row for each table with its columns and triggers takes 1 ms. Joining the required names takes 20.
const TABLES = `
  SELECT c.relname AS name,
    (SELECT json_agg(a.attname) FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
    (SELECT json_agg(t.tgname) FROM pg_trigger AS t WHERE t.tgrelid = c.oid AND t.tgenabled IN ('O', 'A')
      AND NOT t.tgisinternal) AS triggers,
    (SELECT json_agg(n.relname) FROM pg_index AS i JOIN pg_class AS n ON n.oid = i.indexrelid WHERE i.indrelid = c.oid
      AND i.indisvalid) AS indexes,
    (SELECT json_agg(v.value) FROM texts(@verbs) AS v WHERE has_table_privilege(c.oid, v.value)) AS privileges
  FROM pg_class AS c
  WHERE c.relnamespace = (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = current_schema()) AND c.relkind IN ('r', 'p', 'v')
    AND NOT c.relispartition`;
const FUNCTIONS = `
  SELECT p.proname AS name, bool_or(has_function_privilege(p.oid, 'EXECUTE')) AS allowed FROM pg_proc AS p
  WHERE p.pronamespace = (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = current_schema()) GROUP BY p.proname`;

const VERBS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

const NEWEST = 'SELECT coalesce(max(version), 0) AS version FROM schema_change';

/** Everything that is missing. The schema of a newer version is unknown, so it is not checked. */
export async function schemaDefects(db: Pick<Database, 'get' | 'all'>): Promise<readonly Defect[]> {
  const [tables, functions] = await Promise.all([
    db.all(TABLES, { verbs: JSON.stringify(VERBS) }),
    db.all(FUNCTIONS, {}),
  ]);
  const defects = [...defectsOfTables(tables), ...defectsOfFunctions(functions)];
  return defects.length === 0 || (await isNewer(db)) ? [] : defects;
}

function defectsOfTables(rows: readonly Row[]): Defect[] {
  const found = new Map(rows.map((row) => [row.name, row]));
  const indexes = new Set(rows.flatMap((row) => listOf(row.indexes)));
  const triggers = new Set(rows.flatMap(({ name, triggers }) => listOf(triggers).map((one) => `${name}.${one}`)));
  const missing = (kind: DefectKind, wanted: readonly string[], has: ReadonlySet<unknown>): Defect[] =>
    wanted.filter((name) => !has.has(name)).map((name) => ({ kind, name }));
  return [
    ...missing('table', SCHEMA_TABLES, new Set(found.keys())),
    ...SCHEMA_TABLES.flatMap((table) => {
      const row = found.get(table);
      if (row === undefined) return [];
      const wanted = SCHEMA_COLUMNS[table]?.map((column) => `${table}.${column}`) ?? [];
      const verbs = table === 'schema_change' ? ['SELECT'] : VERBS;
      return [
        ...missing('column', wanted, new Set(listOf(row.columns).map((column) => `${table}.${column}`))),
        ...missing('privilege', verbs, new Set(listOf(row.privileges))).map(({ kind, name }) => ({
          kind,
          name: `${name} ON ${table}`,
        })),
      ];
    }),
    ...missing('trigger', SCHEMA_TRIGGERS, triggers),
    ...missing('unique index', UNIQUE_INDEXES, indexes),
    ...missing('index', OTHER_INDEXES, indexes),
  ];
}

function defectsOfFunctions(rows: readonly Row[]): Defect[] {
  const allowed = new Map(rows.map(({ name, allowed }) => [String(name), allowed === 1]));
  return SCHEMA_FUNCTIONS.flatMap((name): Defect[] => {
    if (!allowed.has(name)) return [{ kind: 'function', name }];
    return allowed.get(name) === true ? [] : [{ kind: 'privilege', name: `EXECUTE ON FUNCTION ${name}` }];
  });
}

function listOf(json: unknown): string[] {
  return json === null ? [] : (JSON.parse(String(json)) as string[]);
}

async function isNewer(db: Pick<Database, 'get'>): Promise<boolean> {
  try {
    return Number((await db.get(NEWEST, {}))?.version) > SCHEMA_VERSION;
  } catch (error) {
    // The table or the privilege is among the missing ones.
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
  throw unavailable(isDenied ? 'denied' : 'incomplete', cause);
}

const NAMED_MAX = 5;

/** The names, the first few of them. */
export function namesOf(defects: readonly Defect[]): string {
  const names = defects.slice(0, NAMED_MAX).map(({ kind, name }) => (kind === 'privilege' ? name : `${kind} ${name}`));
  const more = defects.length - names.length;
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
