/** The driver of PostgreSQL while connections and servers fail. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Statement } from '../../../src/store/port/database.ts';
import { DatabaseUnavailable } from '../../../src/store/port/errors.ts';
import { openPostgres, type PostgresDatabase } from '../../../src/store/postgres/driver/postgres.ts';
import type { PostgresStatement } from '../../../src/store/postgres/driver/transaction.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { until } from '../../support/dispatching.ts';
import { type Cluster, openAt, openClient, startCluster } from '../../support/postgres.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

const insert = (name: string): Statement => ({ sql: 'INSERT INTO entry (name) VALUES (@name)', params: { name } });
/** Takes one round trip. */
const insertOnce = (name: string): PostgresStatement => {
  const sql = 'INSERT INTO entry (name) VALUES (@name) ON CONFLICT (name) DO NOTHING RETURNING name';
  return {
    sql,
    params: { name },
    again: `WITH new AS (${sql}) SELECT name FROM new UNION ALL SELECT name FROM entry WHERE name = @name`,
  };
};
const COUNT = 'SELECT count(*) AS count FROM entry WHERE name = @name';
/** As the client sends it. */
const COMMIT = 'COMMIT\0';
const SLEEP: Statement = { sql: 'SELECT pg_sleep(0.3)', params: {} };
const AWAIT_LOCK: Statement = { sql: 'SELECT 1 FROM pg_advisory_xact_lock(1)', params: {} };
/** The connections that wait for that lock. */
const WAITING = `FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;

async function countOf(database: PostgresDatabase, name: string): Promise<number> {
  return Number((await database.get(COUNT, { name }))?.count);
}

/** Repeats `work` until it succeeds; it may fail only because the database is unavailable. */
async function untilAvailable<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      assert.ok(error instanceof DatabaseUnavailable, String(error));
      await pause(20);
    }
  }
}

const unreachable = { name: 'DatabaseUnavailable', reason: 'unreachable' };

describe('the driver of PostgreSQL', () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster({ deadlock_timeout: '50ms' });
    const database = await openPostgres({ connection: { connectionString: cluster.url('postgres') } });
    await database.run('CREATE TABLE entry (name text PRIMARY KEY, count bigint NOT NULL DEFAULT 0)');
    await database.close();
  });
  after(() => cluster.stop());

  const open = (t: TestContext, url = cluster.url('postgres')): Promise<PostgresDatabase> => openAt(t, url);
  const throughProxy = async (t: TestContext) => {
    const proxy = await startTcpProxy(t, cluster);
    const url = `postgres://sallyport@127.0.0.1:${proxy.port}/postgres?sslmode=disable`;
    return { proxy, database: await open(t, url) };
  };

  it('repeats reads in progress on connections that the server ended', async (t) => {
    const [database, administrator] = [await open(t), await open(t)];
    const holder = await openClient(t, cluster.url('postgres'));
    await holder.query('SELECT pg_advisory_lock(1)');
    const waiting = async (): Promise<number> =>
      Number((await administrator.get(`SELECT count(*) AS count ${WAITING}`, {}))?.count);
    const reading = database.get('SELECT 7 AS seven FROM pg_advisory_xact_lock(1)', {});
    const writing = database.commit([insert('terminated'), AWAIT_LOCK]);
    await until('both wait', async () => (await waiting()) === 2);
    await administrator.all(`SELECT pg_terminate_backend(pid) ${WAITING}`, {});
    await holder.query('SELECT pg_advisory_unlock(1)');
    assert.deepEqual(await reading, { seven: 7 });
    await writing;
    assert.equal(await countOf(database, 'terminated'), 1);
  });

  it('runs a transaction again that a deadlock ended', async (t) => {
    const database = await open(t);
    await database.commit([insert('one'), insert('two')]);
    const raise = (name: string): Statement => ({
      sql: 'UPDATE entry SET count = count + 1 WHERE name = @name',
      params: { name },
      expectChanges: 1,
    });
    await Promise.all([
      database.commit([raise('one'), SLEEP, raise('two')]),
      database.commit([raise('two'), SLEEP, raise('one')]),
    ]);
    const rows = await database.all("SELECT count FROM entry WHERE name IN ('one', 'two')", {});
    assert.deepEqual(rows, [{ count: 2 }, { count: 2 }]);
  });

  it('refuses reads and writes while the server is down, and goes on when it is back', async (t) => {
    const database = await open(t);
    await cluster.kill();
    await assert.rejects(database.commit([insert('down')]), unreachable);
    await assert.rejects(async () => database.get('SELECT 1', {}), unreachable);
    await cluster.start();
    await untilAvailable(() => database.commit([insert('back')]));
    assert.deepEqual([await countOf(database, 'down'), await countOf(database, 'back')], [0, 1]);
  });

  it('notices that the network passes nothing on, and goes on when it does again', async (t) => {
    const { proxy, database } = await throughProxy(t);
    await database.commit([insert('before the silence')]);
    proxy.silence(true);
    const outcomes = await Promise.allSettled([
      database.get('SELECT 1', {}),
      database.commit([insert('in the silence')]),
    ]);
    for (const outcome of outcomes) {
      assert.equal(outcome.status, 'rejected');
      assert.equal((outcome.reason as DatabaseUnavailable).reason, 'unreachable');
    }
    await assert.rejects(async () => database.get('SELECT 1', {}), unreachable);
    proxy.resume();
    await untilAvailable(() => database.commit([insert('after the silence')]));
    assert.equal(await countOf(database, 'in the silence'), 0);
  });

  it('replaces a connection that the network forgot, while the server can be reached', async (t) => {
    const { proxy, database } = await throughProxy(t);
    await database.commit([insert('remembered')]);
    proxy.silence(false);
    const [row] = await Promise.all([database.get('SELECT 7 AS seven', {}), database.commit([insert('forgotten')])]);
    assert.deepEqual(row, { seven: 7 });
    assert.equal(await countOf(database, 'forgotten'), 1);
  });

  it('takes a silent server for slow for longer if it is patient', async (t) => {
    const { proxy, database } = await throughProxy(t);
    const connectionString = `postgres://sallyport@127.0.0.1:${proxy.port}/postgres?sslmode=disable`;
    const patient = await openPostgres({ connection: { connectionString }, patience: 5 });
    cleanUp(t, () => patient.close());
    for (const one of [database, patient]) await one.get('SELECT 1', {});
    proxy.silence(true);
    const read = patient.get('SELECT 7 AS seven', {});
    await assert.rejects(async () => database.get('SELECT 1', {}), unreachable);
    proxy.resume();
    assert.deepEqual(await read, { seven: 7 });
  });

  it('reads on a busy connection while another one cannot be opened', async (t) => {
    const { proxy, database } = await throughProxy(t);
    proxy.silenceNew();
    const busy = database.get('SELECT 1 AS one FROM pg_sleep(@s)', { s: 0.5 });
    // Long enough for the first connection to count as busy.
    await pause(50);
    assert.deepEqual(await database.get('SELECT 7 AS seven', {}), { seven: 7 });
    assert.deepEqual(await busy, { one: 1 });
  });

  it('waits for a statement on which the server works', async (t) => {
    const database = await open(t);
    assert.deepEqual(await database.get('SELECT 7 AS seven FROM pg_sleep(@s)', { s: 2.5 }), { seven: 7 });
  });

  it('finds out that a transaction was committed although the answer was lost', async (t) => {
    const { proxy, database } = await throughProxy(t);
    const lost = proxy.loseNext(COMMIT, 'answer');
    const results = await database.commit([insert('answer lost')]);
    await lost;
    assert.deepEqual(results, [{ changes: 1, rows: [] }]);
    assert.equal(await countOf(database, 'answer lost'), 1);
  });

  it('runs a transaction again whose COMMIT never arrived', async (t) => {
    const { proxy, database } = await throughProxy(t);
    const lost = proxy.loseNext(COMMIT, 'request');
    await database.commit([insert('commit lost')]);
    await lost;
    assert.equal(await countOf(database, 'commit lost'), 1);
  });

  it('says that it does not know whether a transaction was committed if the server is gone', async (t) => {
    const { proxy, database } = await throughProxy(t);
    const lost = proxy.loseNext(COMMIT, 'answer').then(() => proxy.silence(true));
    await assert.rejects(database.commit([insert('unknown')]), {
      name: 'DatabaseUnavailable',
      reason: 'unknown',
      message:
        'the database did not answer the commit; the write may or may not have been kept: read it before you repeat it',
    });
    await lost;
  });

  for (const what of ['request', 'answer'] as const) {
    it(`runs a repeatable statement again whose ${what} was lost, and keeps it once`, async (t) => {
      const { proxy, database } = await throughProxy(t);
      const name = `repeatable, ${what}`;
      await database.commit([insertOnce(`before ${name}`)]);
      const lost = proxy.loseNext(name, what);
      const [result] = await database.commit([insertOnce(name)]);
      await lost;
      assert.deepEqual(result?.rows, [{ name }]);
      assert.equal(await countOf(database, name), 1);
    });
  }

  it('says that it does not know what became of a repeatable statement if the server is gone', async (t) => {
    const { proxy, database } = await throughProxy(t);
    await database.commit([insertOnce('before it is gone')]);
    const lost = proxy.loseNext('repeatable, gone', 'answer').then(() => proxy.silence(true));
    await assert.rejects(database.commit([insertOnce('repeatable, gone')]), {
      name: 'DatabaseUnavailable',
      reason: 'unknown',
    });
    await lost;
    assert.equal(await countOf(await open(t), 'repeatable, gone'), 1);
  });

  it('passes a standby over, and follows a promotion', async (t) => {
    const primary = await startCluster({ synchronous_commit: 'on' });
    cleanUp(t, primary.stop);
    const standby = await primary.addStandby();
    cleanUp(t, standby.stop);
    const hosts = [standby, primary].map(({ host, port }) => `${host}:${port}`).join(',');
    const database = await open(t, `postgres://sallyport@${hosts}/postgres?connect_timeout=2`);
    await database.run('CREATE TABLE entry (name text PRIMARY KEY)');
    await database.commit([insert('on the primary')]);
    await assert.rejects(openPostgres({ connection: { connectionString: standby.url('postgres') } }), {
      name: 'DatabaseUnavailable',
      reason: 'read_only',
    });
    await untilReplicated(standby, 'on the primary');
    await primary.kill();
    await assert.rejects(database.commit([insert('on neither')]), DatabaseUnavailable);
    await standby.promote();
    await untilAvailable(() => database.commit([insert('on the standby')]));
    const rows = await database.all('SELECT name FROM entry ORDER BY name', {});
    assert.deepEqual(rows, [{ name: 'on the primary' }, { name: 'on the standby' }]);
  });
});

async function untilReplicated(standby: Cluster, name: string): Promise<void> {
  const url = `${standby.url('postgres')}?target_session_attrs=any`;
  const database = await openPostgres({ connection: { connectionString: url } });
  while ((await countOf(database, name).catch(() => 0)) === 0) await pause(20);
  await database.close();
}
