/** The driver of PostgreSQL on a real server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConstraintViolation, StaleWrite } from '../../../src/store/errors.ts';
import { openTestPostgres } from '../../support/postgres.ts';
import { NOW } from '../../support/store.ts';

describe('the driver of PostgreSQL', () => {
  it('reads rows as SQLite does', async (t) => {
    const { database } = await openTestPostgres(t, NOW);
    const sql = `SELECT CAST(@big AS bigint) AS big, CAST(@text AS text) AS text, CAST(@bytes AS bytea) AS bytes, 1 = 1 AS yes,
      CAST('{"a": 1}' AS json) AS json, sum(x.value) AS sum, CAST(@none AS text) AS none FROM numbers(@list) AS x`;
    const params = { big: 2 ** 50, text: 'a\0b', bytes: Uint8Array.of(1, 2), none: null, list: '[1, 2]' };
    assert.deepEqual(await database.get(sql, params), {
      ...{ big: 2 ** 50, text: 'a\uFFFDb', bytes: Buffer.of(1, 2), yes: 1 },
      ...{ json: '{"a": 1}', sum: 3, none: null },
    });
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
});
