/** The driver of PostgreSQL on a real server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConstraintViolation, StaleWrite } from '../../../src/store/port/errors.ts';
import { openTestPostgres } from '../../support/postgres.ts';
import { NOW } from '../../support/store.ts';

describe('the driver of PostgreSQL', () => {
  it('reads rows as SQLite does', async (t) => {
    const { database } = await openTestPostgres(t, NOW);
    const sql = `SELECT CAST(@big AS bigint) AS big, CAST(@text AS text) AS text, CAST(@bytes AS bytea) AS bytes, 1 = 1 AS yes,
      CAST('{"a": 1}' AS json) AS json, sum(x.value) AS sum, CAST(@none AS text) AS none FROM numbers(@list) AS x`;
    const params = { big: 2 ** 50, text: 'ab', bytes: Uint8Array.of(1, 2), none: null, list: '[1, 2]' };
    assert.deepEqual(await database.get(sql, params), {
      big: 2 ** 50,
      text: 'ab',
      bytes: Buffer.of(1, 2),
      yes: 1,
      json: '{"a": 1}',
      sum: 3,
      none: null,
    });
  });

  it('changes no text: it refuses U+0000, which PostgreSQL does not store', async (t) => {
    const { database } = await openTestPostgres(t, NOW);
    await assert.rejects(async () => database.get('SELECT CAST(@text AS text) AS text', { text: 'a\0b' }), /0x00/);
  });

  it('keeps all of a list or nothing', async (t) => {
    const { database } = await openTestPostgres(t, NOW);
    const insert = (name: string) => ({
      sql: 'INSERT INTO setting (name, value) VALUES (@name, @value)',
      params: { name, value: Uint8Array.of(1) },
    });
    const forget = { sql: 'DELETE FROM setting WHERE name = @name', params: { name: 'x' }, expectChanges: 1 };
    await database.commit([insert('a')]);
    const outcomes = await Promise.allSettled([
      database.commit([insert('b'), forget]),
      database.commit([insert('c'), insert('a')]),
    ]);
    const [stale, violation] = outcomes.map((one) => (one.status === 'rejected' ? one.reason : null));
    assert.ok(stale instanceof StaleWrite);
    assert.ok(violation instanceof ConstraintViolation);
    assert.deepEqual([violation.kind, violation.columns], ['unique', ['setting.name']]);
    assert.deepEqual(await database.all('SELECT name FROM setting', {}), [{ name: 'a' }]);
  });

  it('answers each read of a turn for itself, whatever the others are', async (t) => {
    const { database } = await openTestPostgres(t, NOW);
    const divide = (by: number) => database.get('SELECT 60 / @by AS result', { by });
    for (let round = 1; round <= 3; round += 1) {
      // New statements before and behind the one that fails, which the server has not prepared then.
      const reads = [5, 0, 6].map((by) => divide(by));
      reads.push(...[1, 2].map(async (n) => database.get(`SELECT @n + ${round} AS result`, { n })));
      reads.push((async () => database.get('SELECT @missing AS result', {}))());
      reads.push(...Array.from({ length: 120 }, (_, n) => divide(n + 1)));
      const outcomes = await Promise.allSettled(reads);
      const found = outcomes.map((one) => (one.status === 'fulfilled' ? one.value?.result : String(one.reason)));
      assert.deepEqual(found.slice(0, 6), [
        12,
        'error: division by zero',
        10,
        round + 1,
        round + 2,
        'RangeError: Missing named parameter "missing"',
      ]);
      assert.deepEqual(
        found.slice(6),
        Array.from({ length: 120 }, (_, n) => Math.floor(60 / (n + 1))),
      );
    }
  });

  it('runs lists of any length as one transaction each', async (t) => {
    const { database } = await openTestPostgres(t, NOW);
    const insert = (name: string) => ({
      sql: 'INSERT INTO setting (name, value) VALUES (@name, @value) RETURNING name',
      params: { name, value: Uint8Array.of(1) },
    });
    const many = Array.from({ length: 130 }, (_, n) => `n${String(n).padStart(3, '0')}`);
    for (const broken of [0, 60, 129]) {
      const list = many.map((name, n) =>
        n === broken ? { sql: 'SELECT 1 / (@n - @n)', params: { n } } : insert(name),
      );
      await assert.rejects(database.commit(list), { message: 'division by zero' });
      assert.deepEqual(await database.all('SELECT name FROM setting', {}), []);
    }
    const results = await database.commit(many.map(insert));
    assert.deepEqual(
      results.map(({ rows, changes }) => [rows[0]?.name, changes]),
      many.map((name) => [name, 1]),
    );
  });
});
