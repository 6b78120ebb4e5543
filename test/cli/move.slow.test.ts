import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { MOVED_TABLES } from '../../src/data/move.ts';
import { openPostgres, type PostgresDatabase } from '../../src/store/postgres/driver/postgres.ts';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';
import { cleanUp } from '../support/cleanup.ts';
import { commandLine, sallyport, sallyportJson, serve, unusedFolder } from '../support/command.ts';
import { newDatabase } from '../support/postgres.ts';
import { contents } from '../support/store.ts';

/** Rows of every table, `@many` of the large ones. Managers come after their employees, and two manage each other. */
const ROWS = `
  CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < @many) SELECT i FROM n;
  INSERT INTO employee (user_id, external_id, user_name, first_name, last_name, email, division, manager_id, hire_date,
    active, created_at, updated_at)
  VALUES ('a', NULL, 'a', 'Ann', 'O''Hara', 'a@x', 'sales', 'c', NULL, 1, 1, 1), ('b', 'B', 'b', 'Bo', 'ß€😀', 'b@x',
    'sales', 'a', '2026-01-01', 0, 1, 1),
         ('c', NULL, 'c', 'Cy', '\\ "quoted"', 'c@x', 'it', 'a', NULL, 1, 1, 1);
  INSERT INTO endpoint (id, name, url, api_key, secret, secret_created_at, token_challenge, verified, enabled,
    enable_when_verified, created_at, updated_at)
  VALUES ('e', 'Shop', 'https://shop.example/', x'00ff41', x'01', 1, 0, 1, 1, 0, 1, 1);
  INSERT INTO customer (id, name, external_id, metadata, active, created_at, updated_at)
    VALUES ('cu', 'Example', 'x-1', '{"plan":  "a"}', 1, 1, 1), ('cv', 'Other', NULL, '{}', 0, 1, 1);
  INSERT INTO portal_link VALUES ('li', 'cu', randomblob(32), 'viewer', 300, NULL, 'https://a.example/renew', 1, 2, NULL);
  INSERT INTO customer_usage VALUES ('cu', '2026-11-21', 3, 2, 4, 1, 900, 5);
  INSERT INTO pgp_key VALUES ('k', '', 'key', '-----BEGIN', 'ABC', 'rsa', NULL, NULL, 1, 1);
  INSERT INTO webhook (number, id, name, endpoint_id, event_types, filter, custom_headers, encryption_key_name, ordered,
    max_batch_records, max_records_per_second, retry_policy, max_attempts, standard_webhooks, heartbeat_seconds,
    timeout_seconds, created_at, updated_at)
  VALUES (7, 'w', 'Orders', 'e', '["*"]', '{"data.total":  {"$gte": 1e2}}', '[{"name": "x-a",  "value": "1"}]', 'key', 'webhook',
    100, 0.1, 'linear', 5, 0, 0, 10, 1, 1);
  DELETE FROM sqlite_sequence WHERE name = 'webhook';
  INSERT INTO sqlite_sequence (name, seq) VALUES ('webhook', 41);
  INSERT INTO removed_webhook VALUES (3);
  INSERT INTO webhook_progress (webhook_number, state, state_at, base_offset, failure_streak, dead_streak)
  VALUES (7, 'running', 1, 1, 0, 0);
  INSERT INTO webhook_position VALUES (7, 2, 1, 123);
  INSERT INTO subscription VALUES ('*', '', 7, 1);
  UPDATE event_type SET sample = '{"a":  1}', group_name = 'Orders', deprecated = 1, public = 0, search_paths = '["data.a"]'
    WHERE name = 'employee.updated';
  INSERT INTO event_term VALUES ('Zm9v', '', 17, 'data.a'), ('Zm9v', '*', 17, 'data.b'), ('abc', '*', 3, 'data.a');
  INSERT INTO event_term_progress VALUES ('employee.updated', '["data.a"]', 17);
  INSERT INTO event (key, id, type, data, subject, correlation_id, actor_id, created_at, erased_at, content_hash, ordering_key)
  SELECT i, 'id' || i, 'order.created', json_object('text', 'a' || char(10) || '€"\\', 'i', i), NULL, 'c', NULL, i, NULL,
    randomblob(32), 'order-' || i FROM n;
  INSERT INTO outbox (webhook_number, record_offset, event_key, data_bytes) SELECT 7, i, i, 10 FROM n;
  INSERT INTO batch VALUES (7, 0, 0, 'b0', 'delivered', 1, 0, NULL, NULL, 5, 5, NULL),
    (7, 1, 1, 'b1', 'pending', 1, 0, 99, 'owner', NULL, 4, 'order-17');
  INSERT INTO attempt (key, id, webhook_number, kind, batch_id, first_offset, last_offset, attempt_number, started_at,
    request_headers, response_status, response_headers, response_body, error_class, error_message, timings)
  SELECT i, 'a' || i, 7, 'delivery', 'b0', 0, 0, 1, i, 'h: 1', 200, NULL, randomblob(20), NULL, NULL, '{}' FROM n;
  INSERT INTO access_token SELECT i, randomblob(32), 'app', 'a b', i FROM n WHERE i < 100;
  INSERT INTO application_use SELECT id, 5 FROM application;
  INSERT INTO erasure VALUES ('er', 'person', 'admin', -1, -1, 0, 0, 0, 1, 2);
  INSERT INTO idempotency VALUES ('command-line', 'k', 'id1', 1, 99);
  INSERT INTO kept_reply VALUES ('app', 'k', x'0102', 99);
  INSERT INTO figure VALUES (60, 0, 60000, 1, 2, 3, 4, 5, '[1,2]', 6, 7, 8);
  INSERT INTO invitation SELECT id, randomblob(32), 1, 2, NULL FROM user_account LIMIT 1;
  INSERT INTO session SELECT 's', id, '', randomblob(32), 'viewer', 'password', '::1', 'Mozilla', NULL, 1, 2, 3 FROM user_account LIMIT 1;
  INSERT INTO session VALUES ('t', NULL, 'cu', randomblob(32), 'viewer', 'link', '::1', 'Mozilla', 'https://x.example/', 1, 2, 3);
  INSERT INTO passkey SELECT 'p', id, x'01', x'02', 'localhost', 'Phone', 3, 1, NULL FROM user_account LIMIT 1;`;

/** A data folder with rows in every table. */
async function fullFolder(t: TestContext, many = 250): Promise<string> {
  const dataDir = unusedFolder(t);
  await sallyportJson(['init', '--data', dataDir]);
  const connection = new BetterSqlite3(join(dataDir, 'sallyport.db'));
  connection.pragma('foreign_keys = OFF');
  connection.exec(`BEGIN; ${ROWS.replaceAll('@many', String(many))} COMMIT;`);
  connection.pragma('journal_mode = DELETE');
  connection.close();
  return dataDir;
}

function rowsIn(dataDir: string): Readonly<Record<string, readonly unknown[]>> {
  const db = openSqlite(join(dataDir, 'sallyport.db'), { readOnly: true });
  const all = contents(db);
  db.connection.close();
  return all;
}

async function opened(t: TestContext, url: string): Promise<PostgresDatabase> {
  const db = await openPostgres({ connection: { connectionString: url } });
  cleanUp(t, () => db.close());
  return db;
}

async function refused(args: readonly string[], expected: RegExp): Promise<void> {
  const { status, stdout, stderr } = await sallyport(args);
  assert.equal(status, 1, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, expected);
  assert.equal(stderr.trim().split('\n').length, 1, stderr);
}

describe('sallyport move', () => {
  it('copies every table to PostgreSQL and back, and changes nothing in the source', async (t) => {
    const dataDir = await fullFolder(t);
    const before = rowsIn(dataDir);
    for (const { name } of MOVED_TABLES) assert((before[name]?.length ?? 0) > 0, `no row in ${name}`);
    const file = readFileSync(join(dataDir, 'sallyport.db'));
    const url = await newDatabase(t);
    const moved = await sallyportJson<{ rows: number; tables: Record<string, number> }>([
      'move',
      '--to',
      url,
      '--data',
      dataDir,
    ]);
    for (const { name } of MOVED_TABLES) assert.equal(moved.tables[name], before[name]?.length, name);
    assert.deepEqual(readFileSync(join(dataDir, 'sallyport.db')), file);

    const db = await opened(t, url);
    assert.deepEqual(await db.all('SELECT next_offset, waiting_records, sent_at FROM webhook_status', {}), [
      { next_offset: 251, waiting_records: 249, sent_at: 123 },
    ]);
    assert.equal((await db.get("SELECT nextval('webhook_number_seq') AS next", {}))?.next, 42);
    const settings = ['--database-url', url, '--data', dataDir];
    assert.match((await sallyport(['user', 'list', ...settings])).stdout, /admin/);
    assert.match((await sallyport(['audit', 'verify', '--database-url', url])).stdout, /The chain is intact/);

    const back = unusedFolder(t);
    await sallyportJson(['move', '--from', url, '--data', back]);
    const after = rowsIn(back);
    for (const { name } of MOVED_TABLES) {
      if (name !== 'audit') assert.deepEqual(after[name], before[name], name);
    }
    assert.equal(after.audit?.length, (before.audit?.length ?? 0) + 2);
    assert.deepEqual(readdirSync(back).sort(), ['sallyport.db', 'serve.lock']);
    copyFileSync(join(dataDir, 'master.key'), join(back, 'master.key'));
    assert.match((await sallyport(['user', 'list', '--data', back])).stdout, /admin/);
  });

  it('finishes a copy from PostgreSQL whose last step was missing, unless the source has changed', async (t) => {
    const dataDir = await fullFolder(t);
    const url = await newDatabase(t);
    await sallyportJson(['move', '--to', url, '--data', dataDir]);
    const back = unusedFolder(t);
    const args = ['move', '--from', url, '--data', back];
    const [database, unfinished] = ['sallyport.db', 'moving.db'].map((name) => join(back, name)) as [string, string];
    const { tables } = await sallyportJson<{ tables: Record<string, number> }>(args);
    const after = rowsIn(back);
    // As a process leaves it that ends before it renames the file.
    renameSync(database, unfinished);
    assert.deepEqual((await sallyportJson<{ tables: Record<string, number> }>(args)).tables, tables);
    assert.deepEqual(rowsIn(back), after);
    assert.deepEqual(readdirSync(back).sort(), ['sallyport.db', 'serve.lock']);

    renameSync(database, unfinished);
    const db = await opened(t, url);
    await db.run("UPDATE customer SET name = 'Later' WHERE id = 'cu'");
    const { status, stderr } = await sallyport(args);
    assert.equal(status, 1);
    assert.match(stderr, /its table customer differs .*: the source was changed since the move began/);
    assert.equal(existsSync(database), false);
  });

  it('stores U+FFFD where earlier versions stored U+0000, and the audit log is intact', async (t) => {
    const dataDir = unusedFolder(t);
    await sallyportJson(['init', '--data', dataDir]);
    const connection = new BetterSqlite3(join(dataDir, 'sallyport.db'));
    const { hash, number } = connection
      .prepare('SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1')
      .get() as Readonly<Record<string, string | number>>;
    const changes = '{"name":{"from":null,"to":"a\\u0000\\ud800"}}';
    const content = JSON.stringify(['x', 1, 'command-line', 'event.erase', 'subject:s\0', changes, null]);
    const next = createHash('sha256').update(`${hash}${content}`).digest('hex');
    connection
      .prepare(
        "INSERT INTO audit VALUES (?, 'x', 1, 'command-line', 'event.erase', 'subject:s' || char(0), '', ?, ?, ?)",
      )
      .run(Number(number) + 1, changes, hash, next);
    connection.exec(`
      INSERT INTO customer (id, name, external_id, metadata, active, created_at, updated_at)
        VALUES ('cu', 'Example', NULL, '{"a":"\\u0000"}', 1, 1, 1);
      INSERT INTO event (key, id, type, data, subject, correlation_id, created_at)
        VALUES (1, 'e', 'a.b', '{"a":"\\u0000\\ud800"}', 's' || char(0), 'c', 1);
      INSERT INTO idempotency VALUES ('command-line', 'k' || char(0), 'e', 1, 99), ('command-line', 'k1', 'e', 1, 99);`);
    connection.pragma('journal_mode = DELETE');
    connection.close();
    const url = await newDatabase(t);
    await sallyportJson(['move', '--to', url, '--data', dataDir]);
    const db = await opened(t, url);
    assert.deepEqual(await db.all('SELECT data, subject FROM event', {}), [
      { data: '{"a":"\\u0000\\ud800"}', subject: 's\uFFFD' },
    ]);
    assert.deepEqual(await db.all("SELECT metadata FROM customer WHERE id = 'cu'", {}), [
      { metadata: '{"a":"\\u0000"}' },
    ]);
    assert.deepEqual(await db.all('SELECT key FROM idempotency ORDER BY key', {}), [{ key: 'k1' }, { key: 'k\uFFFD' }]);
    assert.match((await sallyport(['audit', 'verify', '--database-url', url])).stdout, /The chain is intact/);
  });

  it('names a row that differs from another one only by U+0000', async (t) => {
    const dataDir = unusedFolder(t);
    await sallyportJson(['init', '--data', dataDir]);
    const connection = new BetterSqlite3(join(dataDir, 'sallyport.db'));
    connection.exec("INSERT INTO idempotency VALUES ('p', 'k' || char(0), 'e', 1, 99), ('p', 'k\uFFFD', 'e', 1, 99)");
    connection.pragma('journal_mode = DELETE');
    connection.close();
    const { status, stderr } = await sallyport(['move', '--to', await newDatabase(t), '--data', dataDir]);
    assert.equal(status, 1);
    const told =
      /a row of the table idempotency \(publisher "p", key "k\uFFFD"\) differs from another one only by U\+0000/;
    assert.match(stderr, told);
  });

  it('goes on after it was killed, and until then the database cannot be used', async (t) => {
    const dataDir = await fullFolder(t, 40_000);
    const url = await newDatabase(t);
    const args = ['move', '--to', url, '--data', dataDir];
    const db = await opened(t, url);
    for (const table of ['event', 'outbox', 'attempt']) {
      await killedWhile(args, () => hasReached(db, table));
      const { status, stderr } = await sallyport(['user', 'list', '--database-url', url, '--data', dataDir]);
      assert.equal(status, 1);
      assert.match(stderr, /it holds an unfinished move: run the same sallyport move again/);
    }
    const other = await fullFolder(t);
    await refused(
      ['move', '--to', url, '--data', other],
      /cannot receive the data: it holds an unfinished move from other data/,
    );
    const { tables } = await sallyportJson<{ tables: Record<string, number> }>(args);
    assert.equal(tables.event, 40_000);
    assert.equal(tables.attempt, 40_000);
    assert.match((await sallyport(['user', 'list', '--database-url', url, '--data', dataDir])).stdout, /admin/);
  });

  it('finds that the source was changed between two runs', async (t) => {
    const dataDir = await fullFolder(t, 40_000);
    const url = await newDatabase(t);
    const args = ['move', '--to', url, '--data', dataDir];
    const db = await opened(t, url);
    await killedWhile(args, () => hasReached(db, 'outbox'));
    await sallyportJson(['user', 'create', '--user-name', 'late', '--data', dataDir]);
    const { status, stderr } = await sallyport(args);
    assert.equal(status, 1);
    assert.match(
      stderr,
      /its table user_account differs \(1 rows, the source has 2\): the source was changed since the move began/,
    );
  });

  it('is refused for a folder in use, without its key or without data, and for a target with data', async (t) => {
    const dataDir = await fullFolder(t);
    const url = await newDatabase(t);
    const empty = unusedFolder(t);
    await refused(['move', '--to', url, '--data', empty], /there is no data in .* yet/);
    const copy = unusedFolder(t);
    await sallyportJson(['init', '--data', copy]);
    const { end } = await serve(t, copy);
    await refused(['move', '--to', url, '--data', copy], /the data folder .* is in use: stop the server first/);
    await end('SIGTERM');
    await refused(
      ['move', '--to', url, '--data', copy, '--master-key-file', join(empty, 'no.key')],
      /there is no master key at/,
    );
    const key = join(dataDir, 'master.key');
    await refused(
      ['move', '--to', url, '--data', copy, '--master-key-file', key],
      /is not the master key that the database was made/,
    );
    const db = await opened(t, url);
    const [row] = await db.all('SELECT count(*) AS tables FROM pg_tables WHERE schemaname = current_schema()', {});
    assert.equal(row?.tables, 0, 'a refused move leaves the target empty');

    await sallyportJson(['move', '--to', url, '--data', copy]);
    await refused(
      ['move', '--to', url, '--data', dataDir],
      /cannot receive the data: it already has data: move into an empty database/,
    );
    await refused(['move', '--from', url, '--data', dataDir], /already contains data: name an empty folder/);
    await db.commit([
      {
        sql: `INSERT INTO instance (name, version, started_at, seen_at, expires_at) VALUES ('one', '1', 0, 0, 9000000000000)`,
        params: {},
      },
    ]);
    await refused(['move', '--from', url, '--data', empty], /an instance uses the database .*: stop them first/);
    assert.equal(existsSync(empty), false);
  });

  it('needs a direction and a URL of PostgreSQL', async () => {
    for (const args of [[], ['--to', 'postgres://a/b', '--from', 'postgres://a/b'], ['--to', 'mysql://a/b']]) {
      const { status, stderr } = await sallyport(['move', ...args]);
      assert.equal(status, 2, stderr);
      assert.match(stderr, /Give either --to or --from|--to must be the URL of a PostgreSQL database/);
    }
  });
});

/** Whether an unfinished move copies this table or a later one: a look may come too late for the table itself. */
async function hasReached(db: PostgresDatabase, table: string): Promise<boolean> {
  const exists = await db.get("SELECT to_regclass('setting') AS found", {});
  if (exists?.found === null) return false;
  const row = await db.get("SELECT convert_from(value, 'UTF8') AS state FROM setting WHERE name = 'move'", {});
  if (row === undefined) return false;
  const placeOf = (wanted: string): number => MOVED_TABLES.findIndex(({ name }) => name === wanted);
  return placeOf((JSON.parse(String(row.state)) as { table: string }).table) >= placeOf(table);
}

/** Runs the command and kills it once the condition holds. */
async function killedWhile(args: readonly string[], holds: () => Promise<boolean>): Promise<void> {
  const [program = '', ...rest] = commandLine(args);
  const child = spawn(program, rest, { stdio: 'ignore' });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('exit', (_, signal) => resolve(signal)));
  while (child.exitCode === null && !(await holds())) await new Promise(setImmediate);
  child.kill('SIGKILL');
  assert.equal(await ended, 'SIGKILL', 'the command ended before it was killed');
}
