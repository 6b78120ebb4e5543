/** Errors of PostgreSQL as errors of the store. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { firstRowKeyAt } from '../../../src/kernel/ids.ts';
import type { Statement } from '../../../src/store/port/database.ts';
import { ConstraintViolation, DatabaseUnavailable } from '../../../src/store/port/errors.ts';
import { isStaleSession, meaningOf, portError } from '../../../src/store/postgres/driver/errors.ts';
import { openPostgres } from '../../../src/store/postgres/driver/postgres.ts';
import { createSchema } from '../../../src/store/postgres/schema.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { until } from '../../support/dispatching.ts';
import { newDatabase, openAt, postgresPrograms } from '../../support/postgres.ts';

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

it('a role that is refused makes the database unavailable, until it is accepted again', async (t) => {
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

/** The classes of Appendix A of PostgreSQL 15 to 18, with the meaning of a code that has none of its own. */
const CLASSES: readonly (readonly [classes: string, meaning: string | null])[] = [
  ['00 01 02 03 09 0A 0B 0F 0L 0Z 10 20 21 22 23 24 25 27 2B 2D 2F 34 38 39 3B 42 44 54 HV P0', null],
  ['0P', 'denied'],
  ['3F', 'incomplete'],
  ['08 26 28 3D 55 57', 'unreachable'],
  ['40', 'locked'],
  ['53 58 72 F0', 'failed'],
  ['XX', 'damaged'],
];

const CODES: readonly (readonly [codes: string, meaning: string | null])[] = [
  ['23505', 'unique'],
  ['23001 23503', 'foreign_key'],
  ['23502 23514', 'check'],
  ['25006', 'read_only'],
  ['25P01 25P02 25P03 25P04 28P01 3D000 57P01 57P03 57P05', 'unreachable'],
  ['40001 40P01 55006 55P03 57014', 'locked'],
  ['40003', 'unknown'],
  ['42501', 'denied'],
  ['3F000 42703 42704 42804 42846 42883 42P01 42P10 42P13', 'incomplete'],
  ['42601 22P02 54000 P0001', null],
  ['53100', 'full'],
  ['53300 58030', 'failed'],
  ['XX001', 'damaged'],
];

describe('the meaning of an error', () => {
  for (const [classes, meaning] of CLASSES) {
    it(`of class ${classes} is ${meaning ?? 'a fault of the program'}`, () => {
      for (const one of classes.split(' ')) assert.equal(meaningOf(`${one}999`), meaning, one);
    });
  }

  for (const [codes, meaning] of CODES) {
    it(`of ${codes} is ${meaning ?? 'a fault of the program'}`, () => {
      for (const one of codes.split(' ')) assert.equal(meaningOf(one), meaning, one);
    });
  }

  it('is known for every code that this server documents', () => {
    const file = readFileSync(join(sharedFolder(), 'errcodes.txt'), 'utf8');
    const codes = [...file.matchAll(/^([0-9A-Z]{5}) /gm)].map(([, code]) => code ?? '');
    assert.ok(codes.length > 200);
    assert.deepEqual(
      codes.filter((code) => meaningOf(code) === undefined),
      [],
    );
  });

  it('decides whether the database is unavailable', () => {
    const found = (code?: string) => portError(Object.assign(new Error('in any language'), { code }));
    for (const [code, reason] of [
      ['42P01', 'incomplete'],
      ['23514', 'no_partition'],
      [undefined, 'unreachable'],
    ] as const) {
      const error = found(code);
      assert.ok(error instanceof DatabaseUnavailable, code);
      assert.equal(error.reason, reason);
    }
    const fault = Object.assign(new Error('a fault of the program'), { code: '42601' });
    assert.equal(portError(fault), fault);
  });

  it('does not depend on the language of the server', () => {
    const stale = { code: '0A000', routine: 'RevalidateCachedQuery' };
    assert.equal(
      isStaleSession(Object.assign(new Error('gecachter Plan darf den Ergebnistyp nicht ändern'), stale)),
      true,
    );
    assert.equal(isStaleSession(Object.assign(new Error('cached plan'), { code: '0A000', routine: 'x' })), false);
  });
});

/** Where the server has its list of codes: beside its programs, or where Debian has it. */
function sharedFolder(): string {
  const programs = postgresPrograms() ?? assert.fail('PostgreSQL is not installed');
  const { stdout } = spawnSync(join(programs, 'pg_config'), ['--sharedir'], { encoding: 'utf8' });
  return stdout.trim();
}

it('a row without a partition makes the missing ones, and is written', async (t) => {
  const database = await openAt(t, await newDatabase(t));
  await createSchema(database);
  const key = firstRowKeyAt(Date.now());
  const sql = `INSERT INTO event (key, id, type, data, correlation_id, created_at) VALUES (@key, 'a', 'b', '{}', 'c', 1)`;
  await database.commit([{ sql, params: { key } }]);
  assert.deepEqual(await database.get('SELECT id FROM event WHERE key = @key', { key }), { id: 'a' });
});
