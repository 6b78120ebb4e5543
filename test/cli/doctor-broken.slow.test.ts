/** The findings of `sallyport doctor` about a PostgreSQL database in which something is missing, locked, denied or damaged. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type pg from 'pg';
import { cleanUp } from '../support/cleanup.ts';
import { sallyport, sallyportJson, unusedFolder } from '../support/command.ts';
import { newDatabase, openClient, startCluster } from '../support/postgres.ts';

type Finding = { readonly check: string; readonly status: string; readonly detail: string };
type Environment = Readonly<Record<string, string>>;

async function initialised(t: TestContext, url: string): Promise<Environment> {
  const env = { SALLYPORT_DATA: unusedFolder(t), SALLYPORT_DATABASE_URL: url };
  await sallyportJson(['init'], { env });
  return env;
}

/** Problems, and the warnings of one check. */
async function complaints(env: Environment): Promise<string[]> {
  const { checks } = JSON.parse((await sallyport(['doctor', '--json'], { env })).stdout) as { checks: Finding[] };
  return checks
    .filter(({ check, status }) => status === 'problem' || (status === 'warning' && check === 'settings'))
    .map(({ check, detail }) => `${check}: ${detail}`)
    .filter((line) => !FAST.includes(line));
}

/** How the server of the tests runs; that of a whole run also without autovacuum. */
const FAST = [
  'commits: fsync is off: a crash of the server can destroy the database; set fsync = on',
  'vacuum: autovacuum is off: tables grow and slow down; set autovacuum = on',
];

/** A webhook with a record that is missing. */
const AHEAD = `
  INSERT INTO webhook (number, id, name, mode, event_types, custom_headers, ordered, max_batch_records, retry_policy,
    max_attempts, standard_webhooks, heartbeat_seconds, timeout_seconds, created_at, updated_at)
  VALUES (1, 'w', 'Orders', 'pull', '[]', '[]', 'none', 1, 'linear', 5, false, 0, 10, 0, 0);
  INSERT INTO webhook_progress (webhook_number, pulled, state, state_at, base_offset, failure_streak, dead_streak)
  VALUES (1, true, 'running', 0, 1, 0, 0);
  INSERT INTO webhook_position (webhook_number) VALUES (1)`;

type Broken = readonly [what: string, begin: string, end: string, told: RegExp];

const BROKEN: readonly Broken[] = [
  [
    'an index is missing',
    'DROP INDEX batch_due',
    "CREATE INDEX batch_due ON batch (webhook_number, next_attempt_at) WHERE state = 'pending'",
    /^objects: the schema lacks index batch_due, so statements read whole tables/,
  ],
  [
    'a trigger is disabled',
    'ALTER TABLE session DISABLE TRIGGER session_delete',
    'ALTER TABLE session ENABLE TRIGGER session_delete',
    /^objects: the schema lacks trigger session\.session_delete: restore/,
  ],
  [
    'a function is missing',
    'ALTER FUNCTION wait_for_standby() RENAME TO gone',
    'ALTER FUNCTION gone() RENAME TO wait_for_standby',
    /^objects: the schema lacks function wait_for_standby/,
  ],
  [
    'a column is missing',
    'ALTER TABLE figure RENAME retried TO gone',
    'ALTER TABLE figure RENAME gone TO retried',
    /^objects: the schema lacks column figure\.retried/,
  ],
  [
    'the database limits statements',
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET statement_timeout = 50', current_database()); END $$",
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET statement_timeout', current_database()); END $$",
    /^settings: the role or the database sets statement_timeout, which Sallyport does not use/,
  ],
  [
    'a position is ahead of the records',
    AHEAD,
    'DELETE FROM webhook_progress; DELETE FROM webhook',
    /^positions: the positions of Orders do not fit their records/,
  ],
  [
    'someone holds an exclusive lock',
    'BEGIN; LOCK TABLE event IN ACCESS EXCLUSIVE MODE',
    'ROLLBACK',
    /^locks: event is locked \(AccessExclusiveLock\), and everybody waits; process \d+ holds them/,
  ],
];

describe('doctor on a broken PostgreSQL database', () => {
  it('names each problem, one after another, and nothing else', async (t) => {
    const url = await newDatabase(t);
    const env = await initialised(t, url);
    const client = await openClient(t, url);
    assert.deepEqual(await complaints(env), []);
    for (const [what, begin, end, told] of BROKEN) {
      await client.query(begin);
      const [first, ...others] = await complaints(env);
      assert.match(first ?? '', told, what);
      assert.deepEqual(others, [], what);
      await client.query(end);
    }
    assert.deepEqual(await complaints(env), []);
  });

  it('names the privileges that the role lacks', async (t) => {
    const url = await newDatabase(t);
    const env = await initialised(t, url);
    const client = await openClient(t, url);
    const role = await guest(t, client);
    const asGuest = { ...env, SALLYPORT_DATABASE_URL: url.replace('//sallyport@', `//${role}@`) };
    const told = async (check: string): Promise<string> =>
      (await complaints(asGuest)).find((line) => line.startsWith(`${check}:`)) ?? '';
    assert.equal(await told('access'), '');
    await client.query(`REVOKE INSERT ON event FROM ${role}`);
    assert.equal(
      await told('access'),
      `access: ${role} lacks INSERT ON event: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`,
    );
    await client.query(`REVOKE ALL ON schema_change FROM ${role}`);
    assert.match(await told('access'), /lacks INSERT ON event, SELECT ON schema_change: GRANT/);
    await client.query(`REVOKE USAGE ON SCHEMA public FROM ${role}, PUBLIC`);
    assert.match(
      await told('schema'),
      new RegExp(`no schema of its search_path is there that ${role} may use: GRANT USAGE`),
    );
  });

  it('names a damaged table', async (t) => {
    const cluster = await startCluster();
    cleanUp(t, cluster.stop);
    const url = cluster.url('postgres');
    const env = await initialised(t, url);
    const client = await openClient(t, url);
    const { rows } = await client.query(
      "SELECT current_setting('data_directory') AS folder, pg_relation_filepath('application_use') AS path",
    );
    await client.query('INSERT INTO application_use SELECT id, 0 FROM application; CHECKPOINT');
    await client.end();
    await cluster.kill();
    const file = openSync(join(rows[0].folder, rows[0].path), 'r+');
    writeSync(file, Buffer.alloc(64, 0xff), 0, 64, 0);
    closeSync(file);
    await cluster.start();
    assert.match(
      (await complaints(env)).find((line) => line.startsWith('tables:')) ?? '',
      /^tables: application_use \(invalid page in block 0 of relation .*\) cannot be read: restore a backup/,
    );
  });
});

/** A role that may do everything and owns nothing, until the test ends. */
async function guest(t: TestContext, client: pg.Client): Promise<string> {
  const role = `guest_${randomUUID().replaceAll('-', '')}`;
  await client.query(`
    CREATE ROLE ${role} LOGIN IN ROLE pg_read_all_stats;
    GRANT USAGE, CREATE ON SCHEMA public TO ${role};
    GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
  cleanUp(t, () => client.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`));
  return role;
}
