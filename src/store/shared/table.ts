/**
 * Maps the fields of a record to the columns of a row and back: `createdAt` is `created_at`, and each field has a codec. Finds the results
 * of statements.
 */
import { type Secret, secret } from '../../kernel/secret.ts';
import type { Vault } from '../../kernel/vault.ts';
import type { Row, SqlValue, Statement, StatementResult } from '../port/database.ts';

/** Converts a field to a column value and back. `place` names table, column and row: sealed values are bound to their place. */
export type Codec<T> = {
  write(value: T, place: string): SqlValue;
  read(value: SqlValue, place: string): T;
};

export type Table<T> = {
  /** The columns for a SELECT, comma-separated. `columns('e')` qualifies them with an alias. */
  columns(alias?: string): string;
  insert(record: T): Statement;
  /** Writes every column of the row with the record's key. Exactly one row must change. */
  update(record: T): Statement;
  read(row: Row): T;
};

const asIs: Codec<never> = { write: (value: SqlValue) => value, read: (value: SqlValue) => value as never };
export const text: Codec<string> = asIs as Codec<string>;
export const textOrNull: Codec<string | null> = asIs as Codec<string | null>;
export const number: Codec<number> = asIs as Codec<number>;
export const numberOrNull: Codec<number | null> = asIs as Codec<number | null>;
export const bytes: Codec<Uint8Array> = asIs as Codec<Uint8Array>;
export const bytesOrNull: Codec<Uint8Array | null> = asIs as Codec<Uint8Array | null>;
export const flag: Codec<boolean> = { write: (value) => value, read: (value) => value === 1 };

/** The customer that a row belongs to. The operator is null in records and '' in rows, where it can be compared and referred to. */
export const customer: Codec<string | null> = {
  write: (value) => value ?? OPERATOR_ID,
  read: (value) => (value === OPERATOR_ID ? null : (value as string)),
};
export const OPERATOR_ID = '';

/** Codecs that ignore the place of a value. */
const PLAIN: readonly unknown[] = [asIs, flag, customer];

/** A text column whose CHECK lists its values. */
export function oneOf<T extends string | null>(): Codec<T> {
  return asIs as Codec<unknown> as Codec<T>;
}

/** JSON text; null is SQL's null. */
export function json<T>(): Codec<T> {
  return {
    write: (value) => (value === null ? null : JSON.stringify(value)),
    read: (value) => (value === null ? null : JSON.parse(String(value))) as T,
  };
}

export function sealed(vault: Vault): Codec<Secret> {
  return {
    write: (value, place) => vault.seal(value.reveal(), place),
    read: (value, place) => secret(vault.unseal(value as Uint8Array, place)),
  };
}

export function sealedOrNull(vault: Vault): Codec<Secret | null> {
  const codec = sealed(vault);
  return {
    write: (value, place) => (value === null ? null : codec.write(value, place)),
    read: (value, place) => (value === null ? null : codec.read(value, place)),
  };
}

/** A value that is sealed as one text. */
export function sealedAs<T>(vault: Vault, toText: (value: T) => string, ofText: (text: string) => T): Codec<T | null> {
  return {
    write: (value, place) => (value === null ? null : vault.seal(toText(value), place)),
    read: (value, place) => (value === null ? null : ofText(vault.unseal(value as Uint8Array, place))),
  };
}

/**
 * Describes a table. `update` finds the row by the field `key`, and sealed values are bound to it. `columns` has the columns whose names
 * differ from their fields, because SQL reserves the word. `drawn` is a column that no record has, and its value in a new row.
 */
export function table<T extends Record<string, unknown>>(
  name: string,
  key: keyof T & string,
  codecs: { readonly [Field in keyof T & string]: Codec<T[Field]> },
  columns: { readonly [Field in keyof T & string]?: string } = {},
  drawn?: { readonly column: string; readonly sql: string; params(record: T): Readonly<Record<string, SqlValue>> },
): Table<T> {
  const fields = Object.keys(codecs) as (keyof T & string)[];
  const column = new Map(fields.map((field) => [field, columns[field] ?? snakeCase(field)]));
  const list = fields.map((field) => column.get(field)).join(', ');
  const values = fields.map((field) => `@${field}`).join(', ');
  const insertSql =
    drawn === undefined
      ? `INSERT INTO ${name} (${list}) VALUES (${values})`
      : `INSERT INTO ${name} (${drawn.column}, ${list}) VALUES (${drawn.sql}, ${values})`;
  const assignments = fields.filter((field) => field !== key).map((field) => `${column.get(field)} = @${field}`);
  const updateSql = `UPDATE ${name} SET ${assignments.join(', ')} WHERE ${column.get(key)} = @${key}`;
  const place = (field: string, id: unknown): string => `${name}.${column.get(field)}:${String(id)}`;
  const keyColumn = column.get(key) as string;
  // Only codecs that use the place get it: building it for every field took longer than everything else here.
  const readers = fields.map((field) => {
    const codec = codecs[field];
    return { field, codec, name: column.get(field) as string, isPlain: PLAIN.includes(codec) };
  });
  /** A copy has its final shape, and takes half the memory of an object to which fields are added one by one. */
  const empty = Object.fromEntries(fields.map((field) => [field, null])) as Partial<T>;
  const parametersOf = (record: T): Record<string, SqlValue> => {
    const params: Record<string, SqlValue> = {};
    for (const field of fields) params[field] = codecs[field].write(record[field], place(field, record[key]));
    return params;
  };
  return {
    columns: (alias) =>
      alias === undefined ? list : fields.map((field) => `${alias}.${column.get(field)}`).join(', '),
    insert: (record) => ({ sql: insertSql, params: { ...parametersOf(record), ...drawn?.params(record) } }),
    update: (record) => ({ sql: updateSql, params: parametersOf(record), expectChanges: 1 }),
    read: (row) => {
      const record: Partial<T> = { ...empty };
      for (const { field, name, codec, isPlain } of readers) {
        record[field] = codec.read(row[name] ?? null, isPlain ? '' : place(field, row[keyColumn]));
      }
      return record as T;
    },
  };
}

/** Undoes the transaction with `StaleWrite` if the row has changed since the caller read it. */
export function unchanged(
  table: string,
  { id, updatedAt }: { readonly id: string; readonly updatedAt: number },
): Statement {
  const sql = `UPDATE ${table} SET updated_at = updated_at WHERE id = @id AND updated_at = @updatedAt`;
  return { sql, params: { id, updatedAt }, expectChanges: 1 };
}

const ACTIVE = 'UPDATE customer SET active = active WHERE id = @customerId AND active';

/**
 * Fails with `StaleWrite` if the customer is not active. Keeps it so until the transaction ends: what begins before a customer becomes
 * inactive ends with it. Nothing for the operator.
 */
export function requireActive(customerId: string | null): Statement[] {
  return customerId === null ? [] : [{ sql: ACTIVE, params: { customerId }, expectChanges: 1 }];
}

/**
 * Reads a row whose columns are the fields of `T` in snake case. Values are taken as they are stored, except those of fields with a codec.
 * The caller's SELECT must list exactly these fields.
 */
export function readRow<T extends object>(
  row: Row,
  codecs: { readonly [Field in keyof T]?: Pick<Codec<T[Field]>, 'read'> } = {},
): T {
  const record: Record<string, unknown> = {};
  for (const column in row) {
    const field = camelCase(column) as keyof T & string;
    const value = row[column] ?? null;
    record[field] = codecs[field] === undefined ? value : codecs[field].read(value, '');
  }
  return record as T;
}

/** By column name; there are as many as in the statements of the store. */
const camelCased = new Map<string, string>();

function camelCase(column: string): string {
  let field = camelCased.get(column);
  if (field === undefined) {
    field = column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    camelCased.set(column, field);
  }
  return field;
}

export function snakeCase(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function readOne<T>(table: Table<T>, row: Row | undefined): T | null {
  return row === undefined ? null : table.read(row);
}

/** Finds the result of one statement of a committed list by the statement itself. Throws a `RangeError` for a statement of another list. */
export function resultsByStatement(
  list: readonly Statement[],
  results: readonly StatementResult[],
): (statement: Statement) => StatementResult {
  const byStatement = new Map(list.map((statement, at) => [statement, results[at]]));
  return (statement) => {
    const result = byStatement.get(statement);
    if (result === undefined) throw new RangeError('the statement is not in the list');
    return result;
  };
}
