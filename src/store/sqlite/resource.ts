/** The verbs that every administered table has: one row by id, a page in order of creation, and audited changes. */

import type { AuditEntry } from '../../resources/audit.ts';
import type { Administered, ResourceStore } from '../resource.ts';
import { auditStatement } from './audit.ts';
import { type ListColumns, pageOf } from './delivery/conditions.ts';
import type { Database, Row, Statement } from './driver/database.ts';
import type { Table } from './driver/table.ts';

export function resourceStore<T extends Administered>(
  db: Database,
  name: string,
  table: Table<T>,
  /** What must hold before a record is written, and rows of other tables that live and die with this one. */
  beside: {
    readonly guards?: (record: T) => Statement[];
    readonly onInsert?: (record: T) => Statement[];
    readonly onUpdate?: (record: T, before: T) => Statement[];
    readonly beforeRemove?: (id: string) => Statement[];
    readonly list?: ListColumns;
  } = {},
): ResourceStore<T> & { updateStatements(record: T, before: T, audit: AuditEntry): Statement[] } {
  const getSql = `SELECT ${table.columns()} FROM ${name} WHERE id = @id`;
  const removeSql = `DELETE FROM ${name} WHERE id = @id AND updated_at = coalesce(@updatedAt, updated_at)`;
  const unchangedSql = `UPDATE ${name} SET updated_at = updated_at WHERE id = @id AND updated_at = @updatedAt`;
  const unchanged = ({ id, updatedAt }: T): Statement => ({
    sql: unchangedSql,
    params: { id, updatedAt },
    expectChanges: 1,
  });
  const updateStatements = (record: T, before: T, audit: AuditEntry): Statement[] => [
    unchanged(before),
    ...(beside.guards?.(record) ?? []),
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
        ...(beside.guards?.(record) ?? []),
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

export function readOne<T>(table: Table<T>, row: Row | undefined): T | null {
  return row === undefined ? null : table.read(row);
}
