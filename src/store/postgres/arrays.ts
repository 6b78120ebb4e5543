/** Rows as parameters of a statement: an array for each column. */
import type { SqlParameters } from '../port/database.ts';

/** The types of columns: an integer, a text, bytes, and the text of a JSON value. */
type ColumnType = 'BIGINT' | 'TEXT' | 'BYTEA' | 'JSON';
type Value = string | number | Uint8Array | null;

/** Rows of a statement. */
export type Rows<Row> = {
  /** An item for FROM, with columns named like the fields, in snake case. */
  readonly from: string;
  /** The parameters of `from`. */
  parameters(rows: readonly Row[]): SqlParameters;
};

/**
 * Describes rows that a statement reads from its parameters. `name` is their alias in FROM, and the parameters begin with it. With
 * `place`, they have one more column of this name, which numbers them from 1.
 */
export function rowsOf<Row extends Readonly<Record<string, Value>>>(
  name: string,
  types: { readonly [Field in keyof Row & string]: ColumnType },
  place?: string,
): Rows<Row> {
  const columns = Object.entries<ColumnType>(types).map(([field, type]) => ({
    field,
    parameter: `${name}_${field}`,
    write: WRITERS[type],
    source: SOURCES[type](`@${name}_${field}`),
    column: field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  }));
  const names = [...columns.map(({ column }) => column), ...(place === undefined ? [] : [place])];
  const ordinality = place === undefined ? '' : ' WITH ORDINALITY';
  return {
    from: `ROWS FROM (${columns.map(({ source }) => source).join(', ')})${ordinality} AS ${name} (${names.join(', ')})`,
    parameters: (rows) =>
      Object.fromEntries(
        columns.map(({ field, parameter, write }) => [parameter, write(rows.map((row) => row[field] ?? null))]),
      ),
  };
}

/** Rows as arguments of a function: an array for each column. */
type Columns<Row> = {
  /** The arguments, in the order of the columns. */
  readonly list: string;
  parameters(rows: readonly Row[]): SqlParameters;
};

/** Describes the columns by name, with their types and values. */
export function columnsOf<Row>(
  columns: Readonly<Record<string, readonly [type: ColumnType, value: (row: Row) => Value]>>,
): Columns<Row> {
  const entries = Object.entries(columns);
  return {
    list: entries.map(([name, [type]]) => (type === 'JSON' ? `@${name}` : `CAST(@${name} AS ${type}[])`)).join(', '),
    parameters: (rows) =>
      Object.fromEntries(entries.map(([name, [type, value]]) => [name, WRITERS[type](rows.map(value))])),
  };
}

/**
 * In a subquery, so that the planner does not look at the length of an array. Otherwise it would plan again for each call with few rows,
 * which takes longer than running the plan.
 */
const SOURCES: Readonly<Record<ColumnType, (parameter: string) => string>> = {
  BIGINT: (parameter) => `unnest((SELECT CAST(${parameter} AS BIGINT[])))`,
  TEXT: (parameter) => `unnest((SELECT CAST(${parameter} AS TEXT[])))`,
  BYTEA: (parameter) => `unnest((SELECT CAST(${parameter} AS BYTEA[])))`,
  // No JSON text is empty or contains U+001F, because JSON escapes it. Escaping the quotes of JSON in an array would cost more than
  // everything else about a parameter.
  JSON: (parameter) => `unnest(string_to_array(${parameter}, chr(31), ''))`,
};

const WRITERS: Readonly<Record<ColumnType, (values: readonly Value[]) => string>> = {
  BIGINT: (values) => `{${values.map((value) => value ?? 'NULL').join(',')}}`,
  TEXT: textArray,
  BYTEA: (values) =>
    textArray(
      values.map((value) => (value === null ? null : `\\x${Buffer.from(value as Uint8Array).toString('hex')}`)),
    ),
  JSON: (values) => values.map((value) => value ?? '').join('\u001f'),
};

/** `{"a",NULL,"b"}` */
function textArray(values: readonly Value[]): string {
  let text = '{';
  for (const value of values) {
    if (text.length > 1) text += ',';
    if (value === null) text += 'NULL';
    else {
      const written = String(value);
      text += SPECIAL.test(written) ? `"${written.replaceAll(ESCAPED, '\\$&')}"` : `"${written}"`;
    }
  }
  return `${text}}`;
}

/** For `CAST(@list AS BIGINT[])`. */
export function numberArray(values: readonly number[]): string {
  return `{${values.join(',')}}`;
}

const SPECIAL = /["\\]/;
const ESCAPED = /["\\]/g;
