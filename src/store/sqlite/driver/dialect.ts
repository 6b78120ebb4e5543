/** How SQLite spells the forms that both databases share (`store/port/database.ts`). */

/** A JSON array in a FROM; SQLite has one function for all kinds of elements. */
const LISTS = /\b(?:numbers|texts|tuples)\(/g;
const FUNCTIONS: readonly (readonly [shared: RegExp, own: string])[] = [
  [/\bleast\(/g, 'min('],
  [/\bgreatest\(/g, 'max('],
  [/\bstrpos\(/g, 'instr('],
  // A transaction that writes excludes every other.
  [/\bFOR (?:NO KEY )?UPDATE\b/g, ''],
];

/** The text of a shared statement for SQLite. Its parameters stay as they are. */
export function sqliteText(sql: string): string {
  return FUNCTIONS.reduce((text, [shared, own]) => text.replaceAll(shared, own), sql.replaceAll(LISTS, 'json_each('));
}
