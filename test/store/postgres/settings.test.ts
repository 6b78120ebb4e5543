/** The settings of sessions, whatever the database and its roles set. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { openPostgres, type PostgresDatabase } from '../../../src/store/postgres/driver/postgres.ts';
import { serverHealth } from '../../../src/store/postgres/health.ts';
import { ensurePartitions, listPartitions } from '../../../src/store/postgres/partitions.ts';
import { createSchema, examineSchema, SCHEMA_VERSION } from '../../../src/store/postgres/schema.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { succeeded } from '../../support/client.ts';
import { until } from '../../support/dispatching.ts';
import { connect, deliveryOf, importKey, makeEventType, only, publish } from '../../support/journey.ts';
import { startPgBouncer } from '../../support/pgbouncer.ts';
import { newDatabase, openAt, openClient } from '../../support/postgres.ts';
import { startReceiver } from '../../support/receiver.ts';
import { type ServiceProcess, spawnService } from '../../support/service.ts';
import { NOW } from '../../support/store.ts';
import { sharedCertificates } from '../../support/tls.ts';
import { pgpVector } from '../../support/vectors.ts';

type Turned = readonly [name: string, turned: string, used: string];

/** Settings that would change the meaning of statements: the other value, and the one that counts in every transaction. */
const MEANING: readonly Turned[] = [
  ['DateStyle', 'SQL, DMY', 'ISO, MDY'],
  ['IntervalStyle', 'sql_standard', 'postgres'],
  ['TimeZone', 'Asia/Kolkata', 'UTC'],
  ['array_nulls', 'off', 'on'],
  ['bytea_output', 'escape', 'hex'],
  ['client_min_messages', 'error', 'warning'],
  ['exit_on_error', 'on', 'off'],
  ['extra_float_digits', '-15', '1'],
  ['quote_all_identifiers', 'on', 'off'],
  ['standard_conforming_strings', 'off', 'on'],
  ['statement_timeout', '50ms', '0'],
  ['transform_null_equals', 'on', 'off'],
];

/** Settings of whole sessions. Writes have limits of their own, and behind a pooler transactions begin with their isolation. */
const SESSIONS: readonly Turned[] = [
  ['client_encoding', 'LATIN1', 'UTF8'],
  ['default_transaction_deferrable', 'on', 'off'],
  ['default_transaction_isolation', 'serializable', 'read committed'],
  ['idle_in_transaction_session_timeout', '2s', '0'],
  ['idle_session_timeout', '2s', '0'],
  ['lock_timeout', '1ms', '0'],
];

/** Settings that no statement depends on. */
const HARMLESS: readonly (readonly [name: string, turned: string])[] = [
  ['backslash_quote', 'on'],
  ['check_function_bodies', 'off'],
  ['default_text_search_config', 'pg_catalog.german'],
  ['escape_string_warning', 'off'],
  ['gin_pending_list_limit', '64kB'],
  ['lc_monetary', 'C'],
  ['lc_numeric', 'C'],
  ['lc_time', 'C'],
  ['lo_compat_privileges', 'on'],
  ['plpgsql.extra_errors', 'all'],
  ['plpgsql.variable_conflict', 'use_column'],
  ['row_security', 'off'],
  ['synchronize_seqscans', 'off'],
  ['timezone_abbreviations', 'India'],
  ['vacuum_freeze_min_age', '0'],
  ['xmlbinary', 'hex'],
  ['xmloption', 'document'],
];

/** Settings that belong to the administrator, have a test of their own, or cannot be set for a database. */
const LEFT = [
  'default_transaction_read_only',
  'session_replication_role',
  'search_path',
  'lc_messages',
  'default_table_access_method',
  'default_tablespace',
  'default_toast_compression',
  'temp_tablespaces',
  'transaction_deferrable',
  'transaction_isolation',
  'transaction_read_only',
  'transaction_timeout',
  'restrict_nonsystem_relation_kind',
  'event_triggers',
  'icu_validation_level',
  'createrole_self_grant',
];

const OF_SESSIONS = `
  SELECT name FROM pg_settings WHERE context IN ('user', 'superuser') AND name !~ '^vacuum_'
    AND (category LIKE 'Client Connection Defaults / Statement%' OR category LIKE 'Client Connection Defaults / Locale%'
      OR category LIKE 'Version and Platform%' OR category = 'Error Handling') ORDER BY name`;

/** An empty database that turns every setting the other way, also for those who connect through a pooler. */
async function turnedDatabase(t: TestContext): Promise<string> {
  const url = await newDatabase(t);
  const client = await openClient(t, url);
  const name = url.split('/').at(-1);
  for (const [setting, value] of [...MEANING, ...SESSIONS, ...HARMLESS]) {
    await client.query(`ALTER DATABASE ${name} SET ${setting} = '${value}'`);
  }
  return url;
}

async function assertUsed(database: PostgresDatabase, expected: readonly Turned[]): Promise<void> {
  const names = expected.map(([name]) => name);
  const sql = 'SELECT value AS name, current_setting(value) AS used FROM texts(@names) AS n';
  const params = { names: JSON.stringify(names) };
  const used = expected.map(([name, , value]) => ({ name, used: value }));
  assert.deepEqual(await database.all(sql, params), used);
  const [written] = await database.commit([{ sql, params }]);
  const ownLimits = ['lock_timeout', 'idle_in_transaction_session_timeout'];
  const others = (rows: readonly unknown[] = []) =>
    rows.filter((row) => !ownLimits.includes((row as { name: string }).name));
  assert.deepEqual(others(written?.rows), others(used));
}

/** Makes a schema of this name the only one in the search path of the database. */
async function schemaNamed(t: TestContext, url: string, schema: string): Promise<string> {
  const client = await openClient(t, url);
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  await client.query(`CREATE SCHEMA ${quoted}`);
  await client.query(`ALTER DATABASE ${url.split('/').at(-1)} SET search_path = ${quoted}`);
  await client.end();
  return url;
}

/** Delivers an event, imports a key and makes a conflict: it needs bytes, arrays with nulls, and names of columns in errors. */
async function assertServes(t: TestContext, service: ServiceProcess): Promise<void> {
  const { admin } = service;
  const receiver = await startReceiver(t, sharedCertificates().server, {});
  await makeEventType(admin, 'order.placed');
  assert.equal((await admin.post('event-types', { name: 'order.placed' })).status, 409);
  await importKey(admin, 'payroll', pgpVector('rsa4096'));
  const { at, webhook } = await connect({ admin, receiver }, ['order.placed']);
  const [id = ''] = await publish(admin, 'order.placed', { text: "it's \\ one", number: 0.1 });
  const { data } = only((await at.next()).records);
  assert.deepEqual(data, { text: "it's \\ one", number: 0.1 });
  await until('the attempt is written', async () => (await deliveryOf(admin, webhook, id)).attempts.length === 1);
  assert.equal((await succeeded<{ items: unknown[] }>(admin.get('audit'))).items.length > 0, true);
  await service.stop();
}

describe('the settings of sessions', () => {
  it('are all known, if they change what a client sends and gets', async (t) => {
    const database = await openAt(t, await newDatabase(t));
    const known = [...[...MEANING, ...SESSIONS, ...HARMLESS].map(([name]) => name), ...LEFT];
    const found = (await database.all(OF_SESSIONS, {})).map(({ name }) => String(name));
    assert.deepEqual(
      found.filter((name) => !known.includes(name)),
      [],
    );
  });

  it('do not depend on those of the database', async (t) => {
    const database = await openAt(t, await turnedDatabase(t));
    await assertUsed(database, [...MEANING, ...SESSIONS]);
  });

  it('do not depend on them through PgBouncer either, and leave nothing behind', async (t) => {
    const url = await turnedDatabase(t);
    const { hostname: host, port } = new URL(url);
    const pooler = await startPgBouncer(t, { host, port: Number(port) });
    const pooled = pooler.url(url.split('/').at(-1) ?? '');
    const database = await openPostgres({ connection: { connectionString: pooled }, listenUrl: url });
    cleanUp(t, () => database.close());
    await assertUsed(database, MEANING);
    await database.run("DO $$ BEGIN IF current_setting('bytea_output') <> 'hex' THEN RAISE 'turned'; END IF; END $$");
    const other = await openClient(t, pooled);
    assert.equal((await other.query('SHOW bytea_output')).rows[0].bytea_output, 'escape');
  });

  it('let the service work with every one of them turned the other way, in a schema whose name needs quotes', async (t) => {
    const url = await schemaNamed(t, await turnedDatabase(t), 'My App');
    const env = { SALLYPORT_DATABASE_URL: url };
    await assertServes(t, await spawnService(t, { ca: sharedCertificates().ca, env }));
    const client = await openClient(t, url);
    const others =
      "SELECT tablename FROM pg_tables WHERE schemaname NOT IN ('My App', 'pg_catalog', 'information_schema')";
    assert.deepEqual((await client.query(others)).rows, []);
  });

  it('let it work through PgBouncer too', async (t) => {
    const url = await turnedDatabase(t);
    const { hostname: host, port } = new URL(url);
    const pooler = await startPgBouncer(t, { host, port: Number(port) });
    const env = {
      SALLYPORT_DATABASE_URL: pooler.url(url.split('/').at(-1) ?? ''),
      SALLYPORT_DATABASE_LISTEN_URL: url,
    };
    await assertServes(t, await spawnService(t, { ca: sharedCertificates().ca, env }));
  });

  it('keep the schema of the first session when the search path changes', async (t) => {
    const url = await newDatabase(t);
    const database = await openAt(t, url);
    const client = await openClient(t, url);
    await client.query(
      'CREATE TABLE public.place (name text); CREATE SCHEMA other; CREATE TABLE other.place (name text)',
    );
    const insert = { sql: "INSERT INTO place VALUES ('here')", params: {} };
    await database.commit([insert]);
    await client.query(`ALTER DATABASE ${url.split('/').at(-1)} SET search_path = other, public`);
    await client.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await database.commit([insert]);
    assert.equal((await database.all('SELECT name FROM public.place', {})).length, 2);
  });

  for (const schema of ['App', 'My App']) {
    it(`let the schema have a name that needs quotes: ${schema}`, async (t) => {
      const url = await schemaNamed(t, await newDatabase(t), schema);
      const database = await openAt(t, url);
      await createSchema(database);
      await ensurePartitions(database, { now: NOW, aheadMs: 0 });
      await ensurePartitions(database, { now: NOW, aheadMs: 0 });
      assert.deepEqual(await examineSchema(database), { ok: true, state: 'current', version: SCHEMA_VERSION });
      assert.equal((await listPartitions(database)).length, 8);
      assert.deepEqual((await serverHealth(database)).foreignTables, []);
    });
  }
});
