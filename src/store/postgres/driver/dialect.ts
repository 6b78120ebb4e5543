/** How PostgreSQL spells the forms that both databases share (`store/port/database.ts`), and its parameters. */
import type { SqlParameters, SqlValue } from '../../port/database.ts';

/** A statement in PostgreSQL's text, with the names of `$1`, `$2` and so on. */
type PostgresText = { readonly text: string; readonly names: readonly string[] };

const PARAMETER = /@(\w+)/g;
/**
 * A parameter or an element of a list. It has the collation of the database, which may fold all letters. "C" folds only letters of ASCII,
 * as for columns and on SQLite.
 */
const FOLDED = /\blower\((@\w+|\w+\.value)\)/g;
const HINT = /\s+INDEXED BY \w+/g;
/** `numbers(list) AS name`. The list is a parameter or a column, without parentheses. */
const LISTS = /\b(numbers|texts|tuples)\(([^()]+)\) AS (\w+)/g;
const ELEMENTS: Readonly<Record<string, (list: string, name: string) => string>> = {
  numbers: (list, name) =>
    `(SELECT CAST(e.value AS bigint) AS value FROM json_array_elements_text(CAST(${list} AS json)) AS e (value)) AS ${name}`,
  texts: (list, name) => `json_array_elements_text(CAST(${list} AS json)) AS ${name} (value)`,
  tuples: (list, name) => `json_array_elements(CAST(${list} AS json)) AS ${name} (value)`,
};

/**
 * The text of a shared statement for PostgreSQL. A parameter whose value is a number is cast: `@offset - 1` would otherwise be of 32 bits.
 * Texts, booleans and nulls take the type of what they are compared with or written to.
 */
export function postgresText(sql: string, params: SqlParameters): PostgresText {
  const names: string[] = [];
  const text = sql
    .replaceAll(HINT, '')
    .replaceAll(FOLDED, 'lower($1 COLLATE "C")')
    .replaceAll(LISTS, (_, kind: string, list: string, name: string) => (ELEMENTS[kind] as Elements)(list, name))
    .replaceAll(PARAMETER, (_, name: string) => {
      const known = names.indexOf(name);
      const position = known === -1 ? names.push(name) : known + 1;
      return `$${position}${CASTS[typeOf(params[name])]}`;
    });
  return { text, names };
}

type Elements = (list: string, name: string) => string;

const CASTS = { integer: '::bigint', double: '::double precision', bytes: '::bytea', other: '' } as const;

function typeOf(value: SqlValue | undefined): keyof typeof CASTS {
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'double';
  return value instanceof Uint8Array ? 'bytes' : 'other';
}

/** The types of the parameters with these names, in this order. Parameters of the same types make the same text of a statement. */
export function typesOf(names: readonly string[], params: SqlParameters): string {
  let types = '';
  for (const name of names) types += typeOf(params[name])[0];
  return types;
}

/** The value of a parameter as the client takes it. PostgreSQL refuses a text with U+0000, which no field takes. */
export function postgresValue(value: SqlValue | undefined, name: string): unknown {
  if (value === undefined) throw new RangeError(`Missing named parameter "${name}"`);
  return value instanceof Uint8Array && !Buffer.isBuffer(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : value;
}
