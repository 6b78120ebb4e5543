/** The driver of PostgreSQL through PgBouncer in transaction mode. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { secret } from '../../../src/kernel/secret.ts';
import type { Statement } from '../../../src/store/port/database.ts';
import { DatabaseUnavailable } from '../../../src/store/port/errors.ts';
import { openPostgres } from '../../../src/store/postgres/driver/postgres.ts';
import { isPooled } from '../../../src/store/postgres/health.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { startPgBouncer } from '../../support/pgbouncer.ts';
import { type Cluster, openAt, startCluster } from '../../support/postgres.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

const insert = (name: string): Statement => ({ sql: 'INSERT INTO entry (name) VALUES (@name)', params: { name } });
const COUNT = 'SELECT count(*) AS count FROM entry WHERE name LIKE @pattern';

describe('through PgBouncer', () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster();
    const database = await openPostgres({ connection: { connectionString: cluster.url('postgres') } });
    await database.run('CREATE TABLE entry (name text PRIMARY KEY)');
    await database.close();
  });
  after(() => cluster.stop());

  const open = async (t: TestContext) => {
    const pooler = await startPgBouncer(t, cluster);
    const options = { connection: { connectionString: pooler.url('postgres') }, listenUrl: cluster.url('postgres') };
    const database = await openPostgres(options);
    cleanUp(t, () => database.close());
    return { pooler, database, options };
  };

  it('reads and writes at the same time, without prepared statements', async (t) => {
    const { pooler, database } = await open(t);
    assert.equal(await isPooled(secret(pooler.url('postgres'))), true);
    assert.equal(await isPooled(secret(cluster.url('postgres'))), false);
    const numbers = Array.from({ length: 100 }, (_, at) => at);
    const reads = numbers.map((number) => database.get('SELECT CAST(@number AS bigint) AS number', { number }));
    const writes = numbers.map((number) => database.commit([insert(`a${number}`), insert(`b${number}`)]));
    assert.deepEqual(
      await Promise.all(reads),
      numbers.map((number) => ({ number })),
    );
    await Promise.all(writes);
    assert.equal((await database.get(COUNT, { pattern: 'a%' }))?.count, 100);
    assert.deepEqual(await database.get('SELECT count(*) AS count FROM pg_prepared_statements', {}), { count: 0 });
  });

  it('plans reads and writes as without it, and leaves no setting behind', async (t) => {
    const { pooler, database } = await open(t);
    const settings = "SELECT current_setting('jit') AS jit, current_setting('enable_seqscan') AS scan";
    const planned = { jit: 'off', scan: 'off' };
    const reads = await Promise.all(Array.from({ length: 20 }, () => database.get(settings, {})));
    for (const read of reads) assert.deepEqual(read, planned);
    const [written] = await database.commit([{ sql: settings, params: {} }]);
    assert.deepEqual(written?.rows, [planned]);
    await assert.rejects(async () => database.get('SELECT 1 / 0', {}));
    assert.deepEqual(await database.get(settings, {}), planned);
    const client = new pg.Client({ connectionString: pooler.url('postgres') });
    await client.connect();
    for (let n = 0; n < 5; n += 1) assert.deepEqual((await client.query(settings)).rows, [{ jit: 'on', scan: 'on' }]);
    await client.end();
  });

  it('needs no setting to leave prepared statements out', async (t) => {
    const pooler = await startPgBouncer(t, cluster);
    const database = await openAt(t, pooler.url('postgres'));
    for (let round = 0; round < 10; round += 1) {
      await Promise.all([1, 2, 3, 4].map((one) => database.commit([insert(`no setting ${round} ${one}`)])));
    }
    assert.equal((await database.get(COUNT, { pattern: 'no setting %' }))?.count, 40);
  });

  it('hears notifications on a connection of its own', async (t) => {
    const { database, options } = await open(t);
    const other = await openPostgres(options);
    cleanUp(t, () => other.close());
    const heard: (string | null)[] = [];
    await new Promise<void>((resolve) => {
      database.listen('news', (payload) => {
        heard.push(payload);
        if (payload === null) {
          other.notify('news', 'once');
          other.notify('news', 'once');
          other.notify('news', 'last');
        }
        if (payload === 'last') resolve();
      });
    });
    assert.deepEqual(heard, [null, 'once', 'last']);
  });

  it('goes on when the pooler was started again', async (t) => {
    const { pooler, database } = await open(t);
    await database.commit([insert('before the restart')]);
    await pooler.restart();
    for (;;) {
      try {
        await database.commit([insert('after the restart')]);
        break;
      } catch (error) {
        assert.ok(error instanceof DatabaseUnavailable);
        await pause(20);
      }
    }
    assert.equal((await database.get(COUNT, { pattern: '% the restart' }))?.count, 2);
  });

  it('finds out what became of a COMMIT without an answer', async (t) => {
    const pooler = await startPgBouncer(t, cluster);
    const { hostname: host, port } = new URL(pooler.url('postgres'));
    const proxy = await startTcpProxy(t, { host, port: Number(port) });
    const url = `postgres://sallyport@127.0.0.1:${proxy.port}/postgres?sslmode=disable`;
    const database = await openAt(t, url);
    for (const what of ['answer', 'request'] as const) {
      const lost = proxy.loseNext('COMMIT\0', what);
      await database.commit([insert(`${what} was lost`)]);
      await lost;
    }
    assert.equal((await database.get(COUNT, { pattern: '% was lost' }))?.count, 2);
  });
});

describe('the listener', () => {
  it('says that it connected again, because notifications may be lost', async (t) => {
    const cluster = await startCluster();
    cleanUp(t, cluster.stop);
    const database = await openAt(t, cluster.url('postgres'));
    const heard: (string | null)[] = [];
    let crashed: Promise<void> | undefined;
    await new Promise<void>((resolve) => {
      database.listen('news', (payload) => {
        heard.push(payload);
        if (heard.length === 2) resolve();
        else crashed = cluster.crash();
      });
    });
    await crashed;
    assert.deepEqual(heard, [null, null]);
  });
});
