/** Errors of PostgreSQL as errors of the store. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { firstRowKeyAt } from '../../../src/kernel/ids.ts';
import type { Statement } from '../../../src/store/database.ts';
import { ConstraintViolation, DatabaseUnavailable } from '../../../src/store/errors.ts';
import { portError } from '../../../src/store/postgres/driver/errors.ts';
import { openPostgres } from '../../../src/store/postgres/driver/postgres.ts';
import { createSchema } from '../../../src/store/postgres/schema.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { until } from '../../support/dispatching.ts';
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

it('a role that is not let in any more makes the database unavailable, until it is let in again', async (t) => {
  const url = await newDatabase(t);
  const owner = await openAt(t, url);
  const role = `guest_${randomBytes(6).toString('hex')}`;
  await owner.run(`CREATE ROLE ${role} LOGIN`);
  cleanUp(t, () => owner.run(`DROP ROLE ${role}`));
  const database = await openPostgres({ connection: { connectionString: url.replace('//sallyport@', `//${role}@`) } });
  cleanUp(t, () => database.close());
  const read = (): Promise<unknown> => Promise.resolve(database.get('SELECT 1 AS one', {}));
  assert.deepEqual(await read(), { one: 1 });
  await owner.run(`ALTER ROLE ${role} NOLOGIN`);
  await owner.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
  const refusals = await Promise.allSettled([read(), database.commit([{ sql: 'SELECT 1', params: {} }])]);
  for (const refusal of refusals) {
    assert.ok(refusal.status === 'rejected' && refusal.reason instanceof DatabaseUnavailable, String(refusal.status));
    assert.equal(refusal.reason.reason, 'unreachable');
  }
  await owner.run(`ALTER ROLE ${role} LOGIN`);
  await until('it is let in', () =>
    read().then(
      () => true,
      () => false,
    ),
  );
});

it('an error says whether the database is unavailable, and why', () => {
  for (const [code, reason] of [
    ['28P01', 'unreachable'],
    ['3D000', 'unreachable'],
    ['26000', 'unreachable'],
    ['25P02', 'unreachable'],
    ['25006', 'read_only'],
    ['40001', 'locked'],
    ['40P01', 'locked'],
    ['53100', 'full'],
    ['53300', 'failed'],
    ['57P03', 'unreachable'],
    ['XX001', 'damaged'],
    [undefined, 'unreachable'],
  ] as const) {
    const found = portError(Object.assign(new Error('from the server'), { code }));
    assert.ok(found instanceof DatabaseUnavailable, code);
    assert.equal(found.reason, reason, code);
  }
  // A fault of the program stays one.
  const fault = Object.assign(new Error('column "a" does not exist'), { code: '42703' });
  assert.equal(portError(fault), fault);
});

it('a row without a partition makes the missing ones, and is written', async (t) => {
  const database = await openAt(t, await newDatabase(t));
  await createSchema(database);
  const key = firstRowKeyAt(Date.now());
  const sql = `INSERT INTO event (key, id, type, data, correlation_id, created_at) VALUES (@key, 'a', 'b', '{}', 'c', 1)`;
  await database.commit([{ sql, params: { key } }]);
  assert.deepEqual(await database.get('SELECT id FROM event WHERE key = @key', { key }), { id: 'a' });
});
