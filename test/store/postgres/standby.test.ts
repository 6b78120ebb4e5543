/** The driver of PostgreSQL while the synchronous standby is away: nothing is called durable that the standby does not have. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Statement } from '../../../src/store/port/database.ts';
import { DatabaseUnavailable } from '../../../src/store/port/errors.ts';
import { openPostgres, type PostgresDatabase } from '../../../src/store/postgres/driver/postgres.ts';
import type { PostgresStatement } from '../../../src/store/postgres/driver/transaction.ts';
import { serverHealth } from '../../../src/store/postgres/health.ts';
import { guardStatement, TIMELINE } from '../../../src/store/postgres/instances.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { startPgBouncer } from '../../support/pgbouncer.ts';
import type { Cluster } from '../../support/postgres.ts';
import {
  ABSENCES,
  type Absence,
  runAt,
  startWaitedFor,
  untilConfirmed,
  untilWaiting,
  type WaitedFor,
  waitForStandbys,
} from '../../support/standby.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

/** Keeps the first one, as a repeated publish does. */
const INSERT = 'INSERT INTO entry (name) VALUES (@name) ON CONFLICT (name) DO NOTHING';
const insert = (name: string): Statement => ({ sql: INSERT, params: { name } });
/** Takes one round trip. */
const insertOnce = (name: string): PostgresStatement => {
  const sql = `${INSERT} RETURNING name`;
  return {
    sql,
    params: { name },
    again: `WITH new AS (${sql}) SELECT name FROM new UNION ALL SELECT name FROM entry WHERE name = @name`,
  };
};
/** As the client sends it. */
const COMMIT = 'COMMIT\0';
const unknown = { name: 'DatabaseUnavailable', reason: 'unknown' };
async function timelineOf(database: PostgresDatabase): Promise<string> {
  return String((await database.get(`SELECT ${TIMELINE} AS timeline`, {}))?.timeline);
}
/** How long callers wait here. */
const COMMIT_MS = 200;

describe('the driver of PostgreSQL without its synchronous standby', () => {
  let servers: WaitedFor & { readonly primary: Cluster };
  let ended: () => Promise<void>;
  before(async () => {
    const cleanups: (() => unknown)[] = [];
    const t = { after: (cleanup: () => unknown) => void cleanups.push(cleanup) } as unknown as TestContext;
    servers = await startWaitedFor(t);
    ended = async () => {
      for (const cleanup of cleanups.reverse()) await cleanup();
    };
    await runAt(servers.primary, 'CREATE TABLE entry (name text PRIMARY KEY)');
  });
  after(() => ended());

  const openWith = async (t: TestContext, url: string, commitMs?: number): Promise<PostgresDatabase> => {
    const connection = { connectionString: url };
    const database = await openPostgres({ connection, ...(commitMs !== undefined && { commitMs }) });
    cleanUp(t, () => database.close());
    return database;
  };
  /** For writes that have to wait: its callers do not. */
  const open = (t: TestContext, url = servers.primary.url('postgres')): Promise<PostgresDatabase> =>
    openWith(t, url, COMMIT_MS);
  const patient = (t: TestContext, url = servers.primary.url('postgres')): Promise<PostgresDatabase> =>
    openWith(t, url);
  const countAt = async (server: Cluster, name: string): Promise<number> => {
    const [found] = await runAt(server, `SELECT name FROM entry WHERE name = '${name}'`);
    return Number(found?.rowCount);
  };
  /** The standby has what it confirmed, and shows it a little later. */
  const untilShown = async (name: string): Promise<void> => {
    while ((await countAt(servers.standby, name)) === 0) await nextTurn();
  };
  /** A standby that is back takes some time to connect. */
  const back = async (how: Absence): Promise<void> => {
    await servers.giveBack(how);
    await untilConfirmed(servers.primary);
  };
  const away = async (t: TestContext): Promise<void> => {
    await servers.takeAway('frozen');
    cleanUp(t, () => servers.giveBack('frozen'));
  };

  for (const how of ABSENCES) {
    it(`tells a writer that its outcome is unknown, and goes on when the standby is back: ${how}`, async (t) => {
      const database = await open(t);
      await (await patient(t)).commit([insert(`before ${how}`)]);
      await servers.takeAway(how);
      const names = Array.from({ length: 8 }, (_, n) => `${how} ${n}`);
      const outcomes = await Promise.allSettled(names.map((name) => database.commit([insert(name)])));
      const patience = database.commit([insert(`patient ${how}`)], undefined, true);
      const reasons = outcomes.map((one) => (one.status === 'rejected' ? one.reason.reason : 'kept'));
      // The connections keep waiting, and no others are made: those would add up at the server.
      assert.deepEqual(reasons, [
        'unknown',
        'unknown',
        'unknown',
        'unknown',
        'waiting',
        'waiting',
        'waiting',
        'waiting',
      ]);
      assert.equal((await untilWaiting(servers.primary, 4)).length, 4);
      assert.deepEqual(await database.get('SELECT 7 AS seven', {}), { seven: 7 });
      await back(how);
      await (await patient(t)).commit([insert(`after ${how}`)]);
      await patience;
      for (const name of [names[0] as string, `patient ${how}`, `after ${how}`]) await untilShown(name);
    });
  }

  it('shows every role which standbys are connected', async (t) => {
    await runAt(servers.primary, 'CREATE ROLE plain LOGIN');
    const database = await open(t, servers.primary.url('postgres').replace('sallyport@', 'plain@'));
    const connected = async () => (await serverHealth(database)).connectedStandbys;
    assert.deepEqual(await connected(), ['walreceiver']);
    await servers.takeAway('stopped');
    while ((await connected()).length > 0) await nextTurn();
    await servers.giveBack('stopped');
    while ((await connected()).length === 0) await nextTurn();
  });

  const ends = { ended: 'pg_terminate_backend', cancelled: 'pg_cancel_backend' } as const;
  for (const [what, end] of Object.entries(ends)) {
    for (const [kind, statement] of Object.entries({ list: insert, statement: insertOnce })) {
      it(`does not take a ${kind} for kept whose wait for the standby someone ${what}`, async (t) => {
        const database = await open(t);
        await database.get('SELECT 1', {});
        await away(t);
        const name = `${kind} ${what}`;
        const writing = database.commit([statement(name)]);
        const refused = assert.rejects(writing, unknown);
        const [waiting] = await untilWaiting(servers.primary);
        await runAt(servers.primary, `SELECT ${end}(${waiting})`);
        await refused;
        assert.equal(await countAt(servers.primary, name), 1);
        // A repeat writes nothing, and rests on what only the primary has.
        await assert.rejects(database.commit([statement(name)]), unknown);
        await assert.rejects(async () => database.confirm(performance.now()), unknown);
      });
    }
  }

  it('does not end its own transaction that waits for the standby when the answer to COMMIT is lost', async (t) => {
    const proxy = await startTcpProxy(t, servers.primary);
    const database = await open(t, `postgres://sallyport@127.0.0.1:${proxy.port}/postgres?sslmode=disable`);
    await (await patient(t)).commit([insert('before')]);
    await database.get('SELECT 1', {});
    await away(t);
    const broken = proxy.loseNext(COMMIT, 'wait');
    await assert.rejects(database.commit([insert('answer lost')]), unknown);
    await broken;
    assert.equal(await countAt(servers.primary, 'answer lost'), 0);
    assert.equal((await untilWaiting(servers.primary)).length, 1);
  });

  it('waits for the standby behind PgBouncer too', async (t) => {
    const pooler = await startPgBouncer(t, servers.primary);
    const database = await open(t, pooler.url('postgres'));
    await (await patient(t, pooler.url('postgres'))).commit([insert('pooled, before')]);
    await away(t);
    const refused = assert.rejects(database.commit([insertOnce('pooled')]), unknown);
    const [waiting] = await untilWaiting(servers.primary);
    await runAt(servers.primary, `SELECT pg_cancel_backend(${waiting})`);
    await refused;
    await assert.rejects(database.commit([insertOnce('pooled')]), unknown);
    await back('frozen');
    await (await patient(t, pooler.url('postgres'))).confirm(performance.now());
  });

  it('waits with a repeat after the primary has crashed and has what the standby has not', async (t) => {
    const database = await open(t);
    await (await patient(t)).commit([insert('before the crash')]);
    await away(t);
    const refused = assert.rejects(database.commit([insert('crashed')]), unknown);
    await untilWaiting(servers.primary);
    await servers.primary.crash();
    await refused;
    assert.equal(await countAt(servers.primary, 'crashed'), 1);
    const repeated = await open(t);
    await assert.rejects(repeated.commit([insert('crashed')]), unknown);
    await assert.rejects(async () => repeated.confirm(performance.now()), unknown);
    await back('frozen');
    await (await patient(t)).commit([insert('crashed')]);
    await untilShown('crashed');
  });

  it('waits for no standby where the role does not', async (t) => {
    const local = await patient(t, `${servers.primary.url('postgres')}?options=-csynchronous_commit%3Dlocal`);
    await away(t);
    for (let round = 1; round <= 2; round += 1) await local.commit([insert('local')]);
    await local.confirm(performance.now());
  });

  // The last one: the standby is promoted.
  it('does not take for kept what the promoted standby lacks, although that confirms a later commit', async (t) => {
    const addresses = [servers.primary, servers.standby].map(({ host, port }) => `${host}:${port}`).join(',');
    const query = 'sslmode=disable&target_session_attrs=read-write';
    const database = await patient(t, `postgres://sallyport@${addresses}/postgres?${query}`);
    const [list, alone] = [insert('lost list'), insertOnce('lost statement')];
    await database.commit([insert('before the promotion')]);
    const hold = { webhookNumber: 1, instance: 1, epoch: 1, timeline: await timelineOf(database) };
    await database.run(`
      CREATE TABLE webhook_hold (webhook_number bigint, holder bigint, epoch bigint); INSERT INTO webhook_hold VALUES (1, 1, 1)`);
    await database.commit([guardStatement(hold)]);
    const readSinceMs = performance.now();
    await database.get('SELECT 1', {});
    await database.confirm(readSinceMs);
    await servers.takeAway('cut');
    const refused = [list, alone].map((one) => assert.rejects(database.commit([one], undefined, true), unknown));
    for (const waiting of await untilWaiting(servers.primary, 2))
      await runAt(servers.primary, `SELECT pg_cancel_backend(${waiting})`);
    // Both wait again: nothing confirms them.
    await untilWaiting(servers.primary, 2);
    await servers.primary.kill();
    await servers.giveBack('cut');
    await servers.standby.promote();
    await waitForStandbys(servers.standby, false);
    await Promise.all(refused);
    for (const name of ['lost list', 'lost statement']) assert.equal(await countAt(servers.standby, name), 0);
    // Until it finds the promoted server, the driver says why it cannot write.
    const isConfirmed = async (): Promise<boolean> => {
      try {
        await database.confirm(performance.now());
        return true;
      } catch (error) {
        assert(error instanceof DatabaseUnavailable, String(error));
        return false;
      }
    };
    while (!(await isConfirmed())) await nextTurn();
    // What was read before the promotion may be missing too.
    await assert.rejects(async () => database.confirm(readSinceMs), unknown);
    // Nothing is written on the strength of it.
    await assert.rejects(database.commit([guardStatement(hold)], undefined, true), { name: 'StaleWrite' });
    await database.commit([guardStatement({ ...hold, timeline: await timelineOf(database) })]);
  });
});
