/** Which test files repeat on PostgreSQL, and the check that nothing is lost by not repeating the others. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { notOnPostgres } from '../scripts/suite/unproved-statements.ts';
import type { RanStatements } from './support/recorded-store.ts';
import { repeatsOf } from './support/repeats.ts';

const sources = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => ({ file, source: readFileSync(join(import.meta.dirname, file), 'utf8') }));

describe('the calls that say where a file repeats', () => {
  it('are read from the source', () => {
    assert.deepEqual(repeatsOf("x;\nrepeats('postgres');\nrepeatsInSlowTier('postgres', 'pgbouncer');\n"), {
      fast: ['postgres'],
      slow: ['postgres', 'pgbouncer'],
    });
    assert.deepEqual(repeatsOf("// repeats('postgres');\n"), { fast: [], slow: [] });
  });

  it('are all understood', () => {
    const unread = sources.filter(({ source }) => {
      const names = /^import \{ ([^}]*) \} from '[./]+support\/repeats\.ts';$/m.exec(source)?.[1]?.split(', ') ?? [];
      const { fast, slow } = repeatsOf(source);
      return (
        (names.includes('repeats') && fast.length === 0) || (names.includes('repeatsInSlowTier') && slow.length === 0)
      );
    });
    assert.deepEqual(
      unread.map(({ file }) => file),
      [],
    );
  });

  it('are in every file that has tests for PostgreSQL only', () => {
    const forgotten = sources.filter(({ file, source }) => {
      const { fast, slow } = repeatsOf(source);
      return (
        /\b(onPostgres|onInstances)\b/.test(source) && fast.length + slow.length === 0 && !/^suite-|^docs\//.test(file)
      );
    });
    assert.deepEqual(
      forgotten.map(({ file }) => file),
      [],
    );
  });
});

describe('the comparison of the databases', () => {
  const run = (database: RanStatements['database'], more: Partial<RanStatements>): RanStatements => ({
    database,
    texts: {},
    called: [],
    replaced: [],
    verbs: ['users.get', 'users.list'],
    ...more,
  });
  const sqlite = run('SQLite', { texts: { 'SELECT a FROM t WHERE b = @b ORDER BY a DESC': ['users.list'] } });

  it('names a statement that ran on SQLite only', () => {
    const problems = notOnPostgres([sqlite, run('PostgreSQL', { texts: { 'SELECT a FROM t WHERE c = @c': [''] } })]);
    assert.deepEqual(problems, ['the part of a statement: b = @b', 'the part of a statement: ORDER BY a']);
  });

  it('accepts one whose parts all ran on PostgreSQL', () => {
    const texts = { 'SELECT a FROM t WHERE b = @b LIMIT @limit': [''], 'SELECT c FROM u ORDER BY a ASC': [''] };
    assert.deepEqual(notOnPostgres([sqlite, run('PostgreSQL', { texts })]), []);
  });

  it('accepts one of verbs that PostgreSQL replaces, and of no others', () => {
    const replaced = ['users.list'];
    assert.deepEqual(notOnPostgres([sqlite, run('PostgreSQL', { replaced })]), []);
    const shared = run('SQLite', { texts: { 'SELECT 1': ['users.list', 'users.get'] } });
    assert.equal(notOnPostgres([shared, run('PostgreSQL', { replaced })]).length, 1);
  });

  it('accepts what PostgreSQL has no verb for, but not a run without any store', () => {
    assert.deepEqual(notOnPostgres([sqlite, run('PostgreSQL', { verbs: ['users.get'] })]), []);
    assert.deepEqual(notOnPostgres([sqlite, run('PostgreSQL', { verbs: [] })]), ['any store']);
  });

  it('names a verb that was called on SQLite only', () => {
    const called = run('SQLite', { called: ['users.get', 'users.list'] });
    assert.deepEqual(notOnPostgres([called, run('PostgreSQL', { called: ['users.get'] })]), ['the verb users.list']);
  });
});
