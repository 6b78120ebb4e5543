/**
 * Holds the fast tier's run on PostgreSQL against the one on SQLite: every verb of the store must have been called there, and every statement
 * text that both databases share must have run there. So a file need not run on both only for its statements.
 */

import { existsSync, readFileSync } from 'node:fs';
import type { RanStatements } from '../test/support/recorded-store.ts';

export function readStatements(path: string): RanStatements[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  return lines.map((line) => JSON.parse(line) as RanStatements);
}

/** What never ran on PostgreSQL, one a line. */
export function notOnPostgres(runs: readonly RanStatements[]): string[] {
  const on = (wanted: RanStatements['database']) => runs.filter(({ database }) => database === wanted);
  const postgres = on('PostgreSQL');
  const called = new Set(postgres.flatMap((run) => run.called));
  const replaced = new Set(postgres.flatMap((run) => run.replaced));
  const pieces = new Set(postgres.flatMap((run) => Object.keys(run.texts).flatMap(piecesOf)));
  const verbs = new Set(postgres.flatMap((run) => run.verbs));
  const missing = on('SQLite')
    .flatMap((run) => Object.entries(run.texts))
    .filter(([, by]) => !by.every((verb) => replaced.has(verb)))
    .flatMap(([text, by]) => {
      const lacks = piecesOf(text).filter((piece) => !pieces.has(piece));
      return lacks.length === 0 ? [] : [`statement of ${by.join(', ')}: ${lacks.join(' … ')}`];
    });
  const uncalled = [...verbs].filter((verb) => !called.has(verb)).map((verb) => `verb ${verb}`);
  return [...uncalled, ...new Set(missing)];
}

/**
 * Filters and orders of a list are put together at run time, and tests choose some of the combinations at random. So a text has run if its
 * head and each of its conditions have.
 */
function piecesOf(text: string): string[] {
  return text.split(/ (?=WHERE |AND |ORDER BY |LIMIT )/).map((piece) => piece.replaceAll(/ (ASC|DESC)\b/g, ''));
}
