/** The findings of `sallyport doctor` about the state of a PostgreSQL server. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { examineHealth } from '../../src/cli/doctor/postgres.ts';
import { type ServerHealth, serverHealth } from '../../src/store/postgres/health.ts';
import { databaseStatus } from '../../src/store/postgres/status.ts';
import { cleanUp } from '../support/cleanup.ts';
import { newDatabase, openAt, openClient } from '../support/postgres.ts';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-11-21T05:00:00.000Z');
const HEALTHY: ServerHealth = {
  foreignTables: [],
  synchronousCommit: 'on',
  synchronousStandbys: '*',
  connectedStandbys: ['db2'],
  fsync: true,
  autovacuum: true,
  seesOthers: true,
  oldestSnapshot: { ageMs: 60_000, process: 7 },
  preparedTransactions: 0,
  idleSlots: [],
  connections: 10,
  connectionsMax: 97,
  now: NOW,
  partitionsEndAt: { event: NOW + 15 * DAY_MS, attempt: NOW + 20 * DAY_MS },
};

const WRONG: readonly (readonly [what: string, health: Partial<ServerHealth>, status: string, detail: RegExp])[] = [
  [
    'tables of another role',
    { foreignTables: ['a', 'b', 'c', 'd'] },
    'problem',
    /^app does not own 4 tables \(a, b, c\).*GRANT/,
  ],
  ['fsync off', { fsync: false }, 'problem', /^fsync is off.*set fsync = on$/],
  [
    'commits that are not on disk',
    { synchronousCommit: 'off' },
    'problem',
    /^synchronous_commit is off: a crash .* 202$/,
  ],
  ['no standby that confirms commits', { synchronousStandbys: '' }, 'warning', /^no standby confirms commits/],
  ['commits that do not wait for the standbys', { synchronousCommit: 'local' }, 'warning', /set it to on$/],
  [
    'a synchronous standby that is named and not connected',
    { synchronousStandbys: 'FIRST 1 (db1)' },
    'problem',
    /^commits wait for FIRST 1 \(db1\) .*, and not connected: db1: every write waits, and is refused with 503; start/,
  ],
  ['no standby at all', { connectedStandbys: [] }, 'problem', /too few standbys are connected: every write waits/],
  [
    'one of two synchronous standbys gone',
    { synchronousStandbys: 'ANY 1 (DB2, "db3")' },
    'warning',
    /not connected: db3: the others confirm commits; start the standby$/,
  ],
  ['autovacuum off', { autovacuum: false }, 'problem', /^autovacuum is off/],
  [
    'an old transaction',
    { oldestSnapshot: { ageMs: 6 * 60_000, process: 7 } },
    'warning',
    /^process 7 .* for 6 minutes.*: end it$/,
  ],
  ['transactions that the role may not see', { seesOthers: false }, 'warning', /: GRANT pg_read_all_stats TO app$/],
  ['prepared transactions', { preparedTransactions: 2 }, 'warning', /^2 prepared transactions/],
  ['a slot that nobody reads', { idleSlots: ['old'] }, 'warning', /keep the write-ahead log: old$/],
  ['tables without partitions', { partitionsEndAt: { event: NOW } }, 'problem', /^event cannot take new rows/],
  [
    'tables with partitions for a few days',
    { partitionsEndAt: { event: NOW + 6 * DAY_MS } },
    'warning',
    /^event have partitions for less/,
  ],
  ['hardly any connection left', { connections: 92 }, 'warning', /^92 of 97 .* raise max_connections$/],
  [
    'a database whose clock is behind',
    { now: NOW - 100_000 },
    'warning',
    /^it is 100 s ahead of the clock of the database/,
  ],
];

describe('doctor on the state of PostgreSQL', () => {
  it('finds nothing wrong with a healthy server', () => {
    assert.deepEqual(new Set(examineHealth(HEALTHY, 'app', NOW).map(({ status }) => status)), new Set(['ok']));
  });

  for (const [what, health, status, detail] of WRONG) {
    it(`reports ${what}, and nothing else`, () => {
      const found = examineHealth({ ...HEALTHY, ...health }, 'app', NOW).filter((one) => one.status !== 'ok');
      assert.equal(found[0]?.status, status);
      assert.match(found[0]?.detail ?? '', detail);
      // Commits that are not on disk do not wait for standbys either.
      assert.equal(found.length, health.synchronousCommit === 'off' ? 2 : 1);
    });
  }

  it('sees a transaction of another role only with pg_read_all_stats', async (t) => {
    const url = await newDatabase(t);
    const [administrator, role] = [await openAt(t, url), `plain_${randomUUID().replaceAll('-', '')}`];
    await administrator.run(`CREATE ROLE ${role} LOGIN`);
    cleanUp(t, () => administrator.run(`DROP ROLE ${role}`));
    const holder = await openClient(t, url);
    await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    const { rows } = await holder.query('SELECT pg_backend_pid() AS process');
    const plain = await openAt(t, url.replace('sallyport@', `${role}@`));
    const before = await serverHealth(plain);
    assert.deepEqual([before.seesOthers, before.oldestSnapshot], [false, null]);
    assert.equal((await databaseStatus(plain)).oldestSnapshotMs, null);
    await administrator.run(`GRANT pg_read_all_stats TO ${role}`);
    const after = await serverHealth(plain);
    assert.deepEqual([after.seesOthers, after.oldestSnapshot?.process], [true, rows[0].process]);
    assert.ok(((await databaseStatus(plain)).oldestSnapshotMs ?? -1) >= 0);
    await holder.query('COMMIT');
    assert.equal((await serverHealth(plain)).oldestSnapshot, null);
    assert.equal((await databaseStatus(plain)).oldestSnapshotMs, 0);
  });
});
