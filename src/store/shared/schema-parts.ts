/** Parts of a schema.sql, for steps of a migration that make them as a new database has them. */

/** The statement of `schema` that begins with `head`, for example `CREATE VIEW webhook_status`. Throws if there is none. */
export function statementOf(schema: string, head: string): string {
  // The body of a function has statements of its own.
  const end = head.startsWith('CREATE FUNCTION') ? /\$\$;$/m : /;$/m;
  const from = schema.search(new RegExp(`^${head}\\b`, 'm'));
  const length = schema.slice(from).search(end);
  if (from === -1 || length === -1) throw new RangeError(`the schema has no ${head}`);
  return schema.slice(from, from + length + (end.source.startsWith('\\$') ? 3 : 1));
}

/** The statements that make these tables and views, and their indexes, triggers of one line and other settings. */
export function tablesOf(schema: string, names: readonly string[]): string {
  const statements = names.map((name) => {
    const head = new RegExp(`^CREATE VIEW ${name}\\b`, 'm').test(schema) ? 'CREATE VIEW' : 'CREATE TABLE';
    const more =
      schema.match(new RegExp(`^(?:CREATE (?:UNIQUE )?INDEX \\w+ ON|ALTER TABLE) ${name}\\b[^;]*;`, 'gm')) ?? [];
    const triggers = schema.match(new RegExp(`^CREATE TRIGGER \\w+ AFTER \\w+ ON ${name}\\b.*;$`, 'gm')) ?? [];
    return [statementOf(schema, `${head} ${name}`), ...more, ...triggers].join('\n');
  });
  return statements.join('\n');
}
