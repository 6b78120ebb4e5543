/** The verbs of every administered table: one row by id, a page of a list, and audited changes. */
import type { AuditEntry } from '../../domain/audit.ts';
import type { Database, SqlValue, Statement } from '../port/database.ts';
import type { Administered, After, Filter, ResourceStore } from '../port/resource.ts';
import { auditStatement } from './audit.ts';
import { readOne, type Table, unchanged } from './table.ts';

export function resourceStore<T extends Administered>(
  db: Database,
  name: string,
  table: Table<T>,
  /** Statements for rows of other tables that depend on a record. */
  beside: {
    /** Before a new record is inserted. */
    readonly beforeInsert?: (record: T) => Statement[];
    readonly onInsert?: (record: T) => Statement[];
    readonly onUpdate?: (record: T, before: T) => Statement[];
    readonly beforeRemove?: (id: string) => Statement[];
    readonly list?: ListColumns;
  } = {},
): ResourceStore<T> & { updateStatements(record: T, before: T, audit: AuditEntry): Statement[] } {
  const getSql = `SELECT ${table.columns()} FROM ${name} WHERE id = @id`;
  const removeSql = `DELETE FROM ${name} WHERE id = @id AND updated_at = coalesce(@updatedAt, updated_at)`;
  const updateStatements = (record: T, before: T, audit: AuditEntry): Statement[] => [
    unchanged(name, before),
    table.update(record),
    ...(beside.onUpdate?.(record, before) ?? []),
    auditStatement(audit),
  ];
  return {
    get: async (id) => readOne(table, await db.get(getSql, { id })),
    list: async (after, limit, filter = {}) => {
      const { sql, params } = pageOf(beside.list ?? {}, { after, limit, filter });
      return (await db.all(`SELECT ${table.columns()} FROM ${name} ${sql}`, params)).map(table.read);
    },
    insert: async (record, audit, first = []) => {
      await db.commit([
        ...first,
        ...(beside.beforeInsert?.(record) ?? []),
        table.insert(record),
        ...(beside.onInsert?.(record) ?? []),
        auditStatement(audit),
      ]);
    },
    update: async (record, before, audit, first = []) => {
      await db.commit([...first, ...updateStatements(record, before, audit)]);
    },
    updateStatements,
    remove: async (id, audit, updatedAt) => {
      await db.commit([
        ...(beside.beforeRemove?.(id) ?? []),
        { sql: removeSql, params: { id, updatedAt: updatedAt ?? null }, expectChanges: 1 },
        auditStatement(audit),
      ]);
    },
  };
}

/**
 * The WHERE of a list: every condition of the filter must hold. `known` has the condition of each name, and of `before`, the last id of the
 * previous page.
 */
export function conditions(
  known: Readonly<Record<string, string>>,
  filter: Readonly<Record<string, string>>,
  before: string | null,
): { readonly where: string; readonly params: Readonly<Record<string, SqlValue>> } {
  const params = { ...filter, ...(before !== null && { before }) };
  const terms = Object.keys(params).map((name) => known[name] as string);
  return { where: terms.length === 0 ? '' : `WHERE ${terms.join(' AND ')}`, params };
}

/** The conditions of a filter, to append to a WHERE. `known` has the condition of each name. */
export function filtered(known: Readonly<Record<string, string>>, filter: Filter): string {
  return Object.keys(filter)
    .map((name) => ` AND ${known[name] as string}`)
    .join('');
}

/** The conditions, order and limit of a page, to append to a FROM. Sorting by `createdAt` uses the ids, which are ordered by time. */
export function pageOf(
  { filters = {}, sorts = {}, id = 'id', always }: ListColumns,
  { after, limit, filter }: { readonly after: After; readonly limit: number; readonly filter: Filter },
): { readonly sql: string; readonly params: Readonly<Record<string, SqlValue>> } {
  const rest = filtered(filters, filter);
  if (typeof after === 'string')
    return { sql: `WHERE ${id} > @after${rest} ORDER BY ${id} LIMIT @limit`, params: { ...filter, after, limit } };
  const { sort, place } = after;
  const value = sort.by === 'createdAt' ? id : (sorts[sort.by] as string);
  const [sign, direction] = sort.descending ? ['<', 'DESC'] : ['>', 'ASC'];
  const last = typeof place?.value === 'string' ? 'lower(@afterValue)' : '@afterValue';
  const beyond = place === null ? [] : [`(${value}, ${id}) ${sign} (${last}, @afterId)`];
  const terms = [...beyond, ...(always === undefined ? [] : [always])];
  const from = terms.length === 0 ? 'true' : terms.join(' AND ');
  return {
    sql: `WHERE ${from}${rest} ORDER BY ${value} ${direction}, ${id} ${direction} LIMIT @limit`,
    params: { ...filter, ...(place !== null && { afterValue: place.value, afterId: place.id }), limit },
  };
}

export type ListColumns = {
  /** The condition of each filter, by name. */
  readonly filters?: Readonly<Record<string, string>>;
  /** The expression of each field that the list can be sorted by. Texts are sorted in lower case. */
  readonly sorts?: Readonly<Record<string, string>>;
  /** The column of ids. */
  readonly id?: string;
  /** A condition that all rows of the list meet. A page in the order of ids needs none: it begins after the empty id. */
  readonly always?: string;
};
