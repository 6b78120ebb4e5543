/** store/shared/ has only statements that both databases run. What one database runs stands in its own room. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { it } from 'node:test';
import { oneLine } from '../support/statements.ts';

const SHARED = new URL('../../src/store/shared/', import.meta.url);
/** The beginning of a statement in the source, until its end or its first inserted part. */
const BEGINNING = /[`'"]\s*((?:SELECT|INSERT|UPDATE|DELETE|WITH)\s[^`]*?)(?:`|\$\{|'[;,)\s]|"[;,)\s])/g;
/** A shorter beginning, such as `SELECT`, tells nothing. */
const TELLING_CHARACTERS = 16;

const ran = (database: string): readonly string[] =>
  readFileSync(new URL(`statements-of-${database}.sql`, import.meta.url), 'utf8').split('\n');

it('both databases run the statements of store/shared', () => {
  const [ofSqlite, ofPostgres] = [ran('sqlite'), ran('postgresql')];
  let seen = 0;
  const ofOne = readdirSync(SHARED, { recursive: true, encoding: 'utf8' }).flatMap((file) => {
    if (!file.endsWith('.ts')) return [];
    const source = readFileSync(new URL(file, SHARED), 'utf8');
    return [...source.matchAll(BEGINNING)].flatMap(([, text = '']) => {
      const beginning = oneLine(text);
      if (beginning.length < TELLING_CHARACTERS) return [];
      const [sqlite, postgres] = [ofSqlite, ofPostgres].map((texts) => texts.some((one) => one.startsWith(beginning)));
      if (sqlite && postgres) seen += 1;
      return sqlite === postgres ? [] : [`${file} (${sqlite ? 'SQLite' : 'PostgreSQL'}): ${beginning}`];
    });
  });
  assert.deepEqual(ofOne, []);
  assert.ok(seen > 100, `only ${seen} statements were found`);
});
