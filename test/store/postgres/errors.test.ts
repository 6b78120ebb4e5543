/** Errors of PostgreSQL as errors of the store. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { firstRowKeyAt } from '../../../src/kernel/ids.ts';
import type { Statement } from '../../../src/store/database.ts';
import { ConstraintViolation } from '../../../src/store/errors.ts';
import { createSchema } from '../../../src/store/postgres/schema.ts';
import { newDatabase, openAt } from '../../support/postgres.ts';

const TABLES = `
  CREATE TABLE parent (id text PRIMARY KEY, a bigint, b bigint, CHECK (a > 0), UNIQUE (a, b));
  CREATE TABLE child (id text PRIMARY KEY, parent_id text NOT NULL REFERENCES parent);
  CREATE TABLE event (key bigint PRIMARY KEY) PARTITION BY RANGE (key);
  CREATE TABLE event_p20261123 PARTITION OF event FOR VALUES FROM (MINVALUE) TO (1000)`;

it('a constraint is reported with its kind and its columns, and a partition as its table', async (t) => {
  const database = await openAt(t, await newDatabase(t));
  await database.run(TABLES);
  const statement = (sql: string): Statement => ({ sql, params: {} });
  await database.commit([
    statement("INSERT INTO parent VALUES ('1', 1, 2)"),
    statement("INSERT INTO child VALUES ('1', '1')"),
    statement('INSERT INTO event VALUES (1)'),
  ]);
  const cases: readonly (readonly [sql: string, kind: ConstraintViolation['kind'], columns: readonly string[]])[] = [
    ["INSERT INTO parent VALUES ('1', 5, 6)", 'unique', ['parent.id']],
    ["INSERT INTO parent VALUES ('2', 1, 2)", 'unique', ['parent.a', 'parent.b']],
    ["INSERT INTO parent VALUES ('2', 0, 2)", 'check', ['parent']],
    ["INSERT INTO child VALUES ('2', '9')", 'foreign_key', ['child.parent_id']],
    ["INSERT INTO child VALUES ('2', NULL)", 'check', ['child.parent_id']],
    ["DELETE FROM parent WHERE id = '1'", 'foreign_key', ['child.id']],
    ['INSERT INTO event VALUES (1)', 'unique', ['event.key']],
  ];
  for (const [sql, kind, columns] of cases) {
    await assert.rejects(database.commit([statement(sql)]), (error) => {
      assert.ok(error instanceof ConstraintViolation, sql);
      assert.deepEqual([error.kind, error.columns], [kind, columns], sql);
      return true;
    });
  }
});

it('a row without a partition makes the missing ones, and is written', async (t) => {
  const database = await openAt(t, await newDatabase(t));
  await createSchema(database);
  const key = firstRowKeyAt(Date.now());
  const sql = `INSERT INTO event (key, id, type, data, correlation_id, created_at) VALUES (@key, 'a', 'b', '{}', 'c', 1)`;
  await database.commit([{ sql, params: { key } }]);
  assert.deepEqual(await database.get('SELECT id FROM event WHERE key = @key', { key }), { id: 'a' });
});
