/** The versions of rows that an erasure replaced, on a real server. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type pg from 'pg';
import { openPostgres, type PostgresDatabase } from '../../../src/store/postgres/driver/postgres.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { newDatabase, openClient } from '../../support/postgres.ts';

async function open(t: TestContext): Promise<{ database: PostgresDatabase; reader: pg.Client }> {
  const url = await newDatabase(t);
  const database = await openPostgres({ connection: { connectionString: url } });
  cleanUp(t, () => database.close());
  await database.run(
    'CREATE TABLE event (data text); CREATE TABLE attempt (data text); CREATE TABLE batch (order_key text)',
  );
  await database.run(`INSERT INTO event VALUES ('erase this')`);
  return { database, reader: await openClient(t, url) };
}

const DEAD = `SELECT pg_stat_get_dead_tuples(CAST('event' AS regclass)) AS n`;

describe('what an erasure replaced', () => {
  const holders: Readonly<Record<string, { readonly hold: readonly string[]; readonly release: string }>> = {
    'an open transaction': { hold: ['BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT 1'], release: 'COMMIT' },
    'a cursor': { hold: ['BEGIN', 'DECLARE c CURSOR FOR SELECT * FROM event'], release: 'COMMIT' },
    'a prepared transaction': {
      hold: ['BEGIN', 'CREATE TABLE other (a int)', "PREPARE TRANSACTION 'held'"],
      release: "ROLLBACK PREPARED 'held'",
    },
  };
  for (const [name, { hold, release }] of Object.entries(holders)) {
    it(`is not removed while ${name} can still read it, and is once that has ended`, async (t) => {
      const { database, reader } = await open(t);
      for (const sql of hold) await reader.query(sql);
      await database.run('UPDATE event SET data = NULL');
      assert.equal(await database.forgetOverwritten(), false);
      await reader.query(release);
      assert.equal(await database.forgetOverwritten(), true);
      await database.run('SELECT pg_stat_force_next_flush()');
      assert.equal((await database.get(DEAD, {}))?.n, 0);
    });
  }
});
