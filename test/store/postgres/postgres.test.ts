/** The driver of PostgreSQL on a real server. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createIds, randomBytes } from '../../../src/kernel/ids.ts';
import { createVault, MASTER_KEY_BYTES } from '../../../src/kernel/vault.ts';
import { ConstraintViolation, StaleWrite } from '../../../src/store/errors.ts';
import { openPostgres } from '../../../src/store/postgres/driver/postgres.ts';
import { createPostgresStore } from '../../../src/store/postgres/store.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { newDatabase, openTestPostgres } from '../../support/postgres.ts';
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

  it('has partitions for the next weeks made by housekeeping', async (t) => {
    const url = await newDatabase(t);
    const database = await openPostgres({ connection: { connectionString: url } });
    cleanUp(t, () => database.close());
    await database.run(readFileSync(new URL('../../../src/store/postgres/schema.sql', import.meta.url), 'utf8'));
    const store = createPostgresStore(
      database,
      createVault(randomBytes(MASTER_KEY_BYTES), randomBytes),
      createIds(() => NOW, randomBytes),
    );
    const partitions = async (): Promise<number> =>
      Number((await database.get("SELECT count(*) AS n FROM pg_class WHERE relispartition AND relkind = 'r'", {}))?.n);
    await store.retention.prepare(NOW);
    const made = await partitions();
    assert.ok(made > 30);
    await store.retention.prepare(NOW);
    assert.equal(await partitions(), made);
    await store.retention.prepare(NOW + 8 * 86_400_000);
    assert.equal(await partitions(), made + 8 + 3);
  });
});
