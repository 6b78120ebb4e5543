/**
 * Holds the fast tier's run on PostgreSQL against the one on SQLite: every verb of the store that was called must have been
 * called there too, and every statement text that both databases share must have run there. So a file need not run on both only for its
 * statements.
 */

import { existsSync, readFileSync } from 'node:fs';
import type { RanStatements } from '../../test/support/recorded-store.ts';

export function readStatements(path: string): RanStatements[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  return lines.map((line) => JSON.parse(line) as RanStatements);
}

/** PostgreSQL learns in another way whether another process wrote (src/store/postgres/access.ts). */
const OF_SQLITE = ['SELECT value FROM access_version'];

/** The statements that never ran on PostgreSQL, one a line. */
export function notOnPostgres(runs: readonly RanStatements[]): string[] {
  const on = (wanted: RanStatements['database']) => runs.filter(({ database }) => database === wanted);
  const [sqlite, postgres] = [on('SQLite'), on('PostgreSQL')];
  const called = new Set(postgres.flatMap((run) => run.called));
  const replaced = new Set(postgres.flatMap((run) => run.replaced));
  const verbs = new Set(postgres.flatMap((run) => run.verbs));
  if (verbs.size === 0) return ['any store'];
  const isShared = (verb: string): boolean => verb === '' || (verbs.has(verb) && !replaced.has(verb));
  const pieces = new Set(postgres.flatMap((run) => Object.keys(run.texts).flatMap(piecesOf)));
  const uncalled = sqlite.flatMap((run) => run.called).filter((verb) => verbs.has(verb) && !called.has(verb));
  const missing = sqlite
    .flatMap((run) => Object.entries(run.texts))
    .filter(([text, by]) => !OF_SQLITE.some((own) => text.startsWith(own)) && by.some(isShared))
    .flatMap(([text]) => piecesOf(text).filter((piece) => !pieces.has(piece)));
  return [
    ...[...new Set(uncalled)].map((verb) => `the verb ${verb}`),
    ...[...new Set(missing)].map((piece) => `the part of a statement: ${piece}`),
  ];
}

/**
 * Filters and orders of a list are put together at run time, and tests choose some of the combinations at random. So a text has run if its
 * head and each of its conditions have.
 */
function piecesOf(text: string): string[] {
  return text.split(/ (?:WHERE|AND) | (?=ORDER BY |LIMIT )/).map((piece) => piece.replaceAll(/ (ASC|DESC)\b/g, ''));
}
