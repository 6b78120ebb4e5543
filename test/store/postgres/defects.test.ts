/** The behaviour of the service while a privilege, a table, a column, a function or a schema is missing. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import type pg from 'pg';
import { schemaDefects } from '../../../src/store/postgres/defects.ts';
import {
  OTHER_INDEXES,
  SCHEMA_COLUMNS,
  SCHEMA_FUNCTIONS,
  SCHEMA_TRIGGERS,
  UNIQUE_INDEXES,
} from '../../../src/store/postgres/objects.ts';
import { SCHEMA_VERSION } from '../../../src/store/postgres/schema.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { until } from '../../support/dispatching.ts';
import { connect, makeEventType } from '../../support/journey.ts';
import { newDatabase, openClient, openTestPostgres } from '../../support/postgres.ts';
import { startReceiver } from '../../support/receiver.ts';
import { spawnService } from '../../support/service.ts';
import { NOW } from '../../support/store.ts';
import { sharedCertificates } from '../../support/tls.ts';

/** A role that owns an empty database and is no superuser, and a client that is one. */
async function ownedDatabase(t: TestContext): Promise<{ url: string; role: string; client: pg.Client }> {
  const url = await newDatabase(t);
  const client = await openClient(t, url);
  const role = `owner_${randomUUID().replaceAll('-', '')}`;
  await client.query(`CREATE ROLE ${role} LOGIN`);
  await client.query(`ALTER DATABASE ${url.split('/').at(-1)} OWNER TO ${role}`);
  await client.query(`ALTER SCHEMA public OWNER TO ${role}`);
  const other = await openClient(t, url.replace(/[^/]+$/, 'postgres'));
  // Before the database is dropped, which its owner would keep from being so.
  cleanUp(t, async () => {
    await client.query(`REASSIGN OWNED BY ${role} TO CURRENT_USER; DROP OWNED BY ${role}`);
    await other.query(`REASSIGN OWNED BY ${role} TO CURRENT_USER; DROP ROLE ${role}`);
  });
  return { url: url.replace('//sallyport@', `//${role}@`), role, client };
}

type Fault = readonly [what: string, begin: string, end: string, told: RegExp, answered?: RegExp];

const DENIED = /refuses access: its role lacks a privilege; see sallyport doctor/;
/** The answer to a caller whose token cannot be read, who may belong to a customer. */
const UNRECOGNISED = /^the service cannot store anything at the moment$/;
const INCOMPLETE = /lacks a table, a column or a function that Sallyport needs; see sallyport doctor/;
const faults = (role: string): readonly Fault[] => [
  ['a privilege', `REVOKE INSERT ON event FROM ${role}`, `GRANT INSERT ON event TO ${role}`, DENIED],
  ['a table', 'ALTER TABLE outbox RENAME TO gone', 'ALTER TABLE gone RENAME TO outbox', INCOMPLETE],
  ['a column', 'ALTER TABLE event RENAME data TO gone', 'ALTER TABLE event RENAME gone TO data', INCOMPLETE],
  ['a schema', 'ALTER SCHEMA public RENAME TO gone', 'ALTER SCHEMA gone RENAME TO public', INCOMPLETE, UNRECOGNISED],
];

describe('a database that lacks something', () => {
  it('makes the service unavailable until it has all again', async (t) => {
    const { url, role, client } = await ownedDatabase(t);
    const { ca, server } = sharedCertificates();
    const service = await spawnService(t, { ca, env: { SALLYPORT_DATABASE_URL: url } });
    const { admin } = service;
    const receiver = await startReceiver(t, server, {});
    await makeEventType(admin, 'order.placed');
    const { at } = await connect({ admin, receiver }, ['order.placed']);
    const publish = () =>
      admin.post<{ error?: { code: string; description: string } }>('events', { type: 'order.placed', data: {} });
    const isReady = async (): Promise<Response> => fetch(`${service.url}/readyz`);
    for (const [what, begin, end, told, answered] of faults(role)) {
      await client.query(begin);
      await until(`not ready without ${what}`, async () => (await isReady()).status === 503);
      const ready = await isReady();
      assert.ok(Number(ready.headers.get('retry-after')) > 0, what);
      assert.match(await ready.text(), told, what);
      const refused = await publish();
      assert.deepEqual([refused.status, refused.body.error?.code], [503, 'unavailable'], what);
      assert.match(refused.body.error?.description ?? '', answered ?? told, what);
      assert.ok(Number(refused.headers.get('retry-after')) > 0, what);
      await client.query(end);
      await until(`ready with ${what}`, async () => (await isReady()).status === 200);
      assert.equal((await publish()).status, 202, what);
      await at.next();
    }
    await service.stop();
  });

  it('is described by its missing parts', async (t) => {
    const { database } = await openTestPostgres(t, NOW);
    assert.deepEqual(await schemaDefects(database), []);
    await database.run(`
      DROP TABLE kept_reply;
      ALTER TABLE figure DROP COLUMN retried;
      DROP INDEX batch_due;
      ALTER TABLE product DROP CONSTRAINT product_name_key;
      ALTER TABLE session DISABLE TRIGGER session_delete;
      DROP TRIGGER event_insert ON event;
      DROP FUNCTION wait_for_standby()`);
    assert.deepEqual((await schemaDefects(database)).map(({ kind, name }) => `${kind} ${name}`).sort(), [
      'column figure.retried',
      'function wait_for_standby',
      'index batch_due',
      'index kept_reply_expiry',
      'table kept_reply',
      'trigger event.event_insert',
      'trigger session.session_delete',
      'unique index kept_reply_pkey',
      'unique index product_name_key',
    ]);
    await database.run(
      `INSERT INTO schema_change (version, oldest_program, applied_at) VALUES (${SCHEMA_VERSION + 1}, 1, 0)`,
    );
    assert.deepEqual(await schemaDefects(database), []);
  });
});

const NAMES = `
  SELECT CASE WHEN c.relkind IN ('r', 'p', 'v') THEN 'table' ELSE 'index' END AS kind, c.relname AS name,
    coalesce((SELECT json_agg(a.attname ORDER BY a.attnum) FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0
      AND NOT a.attisdropped), '[]') AS columns,
    coalesce((SELECT i.indisunique FROM pg_index AS i WHERE i.indexrelid = c.oid), false) AS is_unique
  FROM pg_class AS c
  WHERE c.relnamespace = CAST('public' AS regnamespace) AND c.relkind IN ('r', 'p', 'v', 'i', 'I') AND NOT c.relispartition
  ORDER BY c.relname`;
const TRIGGERS = `
  SELECT c.relname || '.' || t.tgname AS name FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
  WHERE NOT t.tgisinternal AND NOT c.relispartition ORDER BY 1`;
const FUNCTIONS = "SELECT proname AS name FROM pg_proc WHERE pronamespace = CAST('public' AS regnamespace) ORDER BY 1";

it('schema.sql makes what objects.ts lists', async (t) => {
  const { database } = await openTestPostgres(t, NOW);
  const names = await database.all(NAMES, {});
  const tables = names.filter(({ kind }) => kind === 'table');
  assert.deepEqual(
    tables.map(({ name, columns }) => `${name}: ${(JSON.parse(String(columns)) as string[]).join(' ')}`),
    Object.entries(SCHEMA_COLUMNS).map(([name, columns]) => `${name}: ${columns.join(' ')}`),
  );
  const indexes = (isUnique: number) =>
    names.filter(({ kind, is_unique }) => kind === 'index' && is_unique === isUnique).map(({ name }) => name);
  assert.deepEqual([indexes(1), indexes(0)], [UNIQUE_INDEXES, OTHER_INDEXES]);
  const listed = async (sql: string) => (await database.all(sql, {})).map(({ name }) => name);
  assert.deepEqual([await listed(FUNCTIONS), await listed(TRIGGERS)], [SCHEMA_FUNCTIONS, SCHEMA_TRIGGERS]);
});
