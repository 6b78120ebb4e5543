/** The checks of `sallyport doctor` on a PostgreSQL database. */

import { type Config, databaseName } from '../../config/config.ts';
import { connect, refuseUnfinishedMove, requireSchema } from '../../data/postgres.ts';
import type { Secret } from '../../kernel/secret.ts';
import type { Database } from '../../store/port/database.ts';
import { CLOCK_BEHIND_MAX_MS } from '../../store/port/limits.ts';
import { POSTGRES_READERS, POSTGRES_WRITERS } from '../../store/postgres/driver/limits.ts';
import type { PostgresDatabase } from '../../store/postgres/driver/postgres.ts';
import { isPooled, type ServerHealth, serverHealth } from '../../store/postgres/health.ts';
import { PARTITIONS_AHEAD_MIN_MS } from '../../store/postgres/partitions.ts';
import { examineSchema } from '../../store/postgres/schema.ts';
import { serverFacts } from '../../store/postgres/server.ts';
import { missingStandbys, readStandbyNames } from '../../store/postgres/standby-names.ts';
import { examineContents } from './contents.ts';
import { type Finding, finding, findings, ok, problem, warning } from './finding.ts';
import { examinePositions } from './positions.ts';
import { examineLocks, examineObjects, examineSettings, examineTables } from './postgres-schema.ts';

/** The connections of an instance: the pool, one that listens, and one for the thread that makes large bodies. */
const POSTGRES_CONNECTIONS: number = POSTGRES_WRITERS + POSTGRES_READERS + 2;

/** A snapshot of this age keeps the versions that updates leave behind, so tables grow. */
const SNAPSHOT_OLD_MS = 5 * 60_000;

export async function examinePostgres(config: Config, now: number): Promise<Finding[]> {
  let db: PostgresDatabase;
  try {
    db = await connect(config);
  } catch (error) {
    return [problem('database', (error as Error).message)];
  }
  try {
    return await examineConnected(config, db, now);
  } finally {
    await db.close();
  }
}

async function examineConnected(config: Config, db: PostgresDatabase, now: number): Promise<Finding[]> {
  const url = config.databaseUrl as Secret;
  const facts = await serverFacts(db);
  const { version, role } = facts;
  const database = ok('database', `${databaseName(url)}, PostgreSQL ${version}, as ${role}`);
  // The checks that read tables would wait too.
  const locks = await finding('locks', () => examineLocks(db));
  if (locks.status === 'problem') return [database, locks];
  const schema = await finding('schema', async () => {
    await requireSchema(config, db);
    await refuseUnfinishedMove(config, db);
    return ok('schema', 'the schema is current');
  });
  const objects = facts.schema === null ? [] : await findings('objects', () => examineObjects(db, facts));
  if (schema.status === 'problem') {
    // An empty database and one of an older version lack more, but that says nothing.
    const isOther = (await examineSchema(db).catch(() => null))?.ok === true;
    return [database, locks, schema, ...(isOther ? [] : objects.filter(({ status }) => status === 'problem'))];
  }
  const health = await serverHealth(db);
  return [
    database,
    locks,
    schema,
    ...objects,
    await finding('settings', () => examineSettings(db)),
    ...examineHealth(health, role, now),
    await finding('pooler', () => examinePooler(config)),
    ...(await findings('instances', async () => [await examineInstances(db)])),
    await finding('positions', () => examinePositions(db)),
    await finding('tables', () => examineTables(db)),
    ...(await examineContents(config, db, health.now)),
  ];
}

/** Returns findings about the state of the server. `now`: the clock of this machine. */
export function examineHealth(health: ServerHealth, role: string, now: number): Finding[] {
  return [
    examineOwners(health, role),
    ...examineDurability(health),
    ...examineVacuum(health, role),
    examinePartitions(health),
    examineConnections(health),
    examineMachineClock(health, now),
  ];
}

function examineOwners({ foreignTables }: ServerHealth, role: string): Finding {
  const check = 'privileges';
  if (foreignTables.length === 0) return ok(check, `${role} owns all tables`);
  const shown = foreignTables.slice(0, 3).join(', ');
  return problem(
    check,
    `${role} does not own ${foreignTables.length} tables (${shown}), so it cannot make partitions or migrate: ` +
      `use the role that owns them, or GRANT that role TO ${role}`,
  );
}

/** Checks that the server keeps the promise of an answer 202. */
function examineDurability(health: ServerHealth): Finding[] {
  const { fsync, synchronousCommit, synchronousStandbys } = health;
  const commit = 'commits';
  const findingOfCommit = !fsync
    ? problem(commit, 'fsync is off: a crash of the server can destroy the database; set fsync = on')
    : synchronousCommit === 'off'
      ? problem(commit, 'synchronous_commit is off: a crash of the server loses events that were acknowledged with 202')
      : ok(commit, `they are on disk before they are acknowledged (synchronous_commit = ${synchronousCommit})`);
  const replication = 'replication';
  const isLocal = ['off', 'local'].includes(synchronousCommit);
  const findingOfReplication =
    synchronousStandbys === ''
      ? warning(
          replication,
          'no standby confirms commits (synchronous_standby_names is empty): if this server is lost, and a ' +
            'standby or a backup takes over, the last acknowledged events, tokens and revocations are lost',
        )
      : isLocal
        ? warning(
            replication,
            `synchronous_commit = ${synchronousCommit} does not wait for the standbys (${synchronousStandbys}): set it to on`,
          )
        : examineStandbys(health);
  return [findingOfCommit, findingOfReplication];
}

/** A commit waits for standbys that are not connected until they are. */
function examineStandbys({ synchronousStandbys, connectedStandbys }: ServerHealth): Finding {
  const check = 'replication';
  const { missing, isBlocked } = missingStandbys(readStandbyNames(synchronousStandbys), connectedStandbys);
  const waits = `commits wait for ${synchronousStandbys} (synchronous_standby_names)`;
  if (missing.length === 0 && !isBlocked) return ok(check, waits);
  const gone = missing.length === 0 ? 'too few standbys are connected' : `not connected: ${missing.join(', ')}`;
  return isBlocked
    ? problem(
        check,
        `${waits}, and ${gone}: every write waits, and is refused with 503; start the standby, or take it out of synchronous_standby_names`,
      )
    : warning(check, `${waits}, and ${gone}: the others confirm commits; start the standby`);
}

function examineVacuum(
  { autovacuum, seesOthers, oldestSnapshot, preparedTransactions, idleSlots }: ServerHealth,
  role: string,
): Finding[] {
  const check = 'vacuum';
  const findings = [
    ...(autovacuum ? [] : [problem(check, 'autovacuum is off: tables grow and slow down; set autovacuum = on')]),
    ...(oldestSnapshot !== null && oldestSnapshot.ageMs > SNAPSHOT_OLD_MS
      ? [
          warning(
            check,
            `process ${oldestSnapshot.process} has held a transaction open for ` +
              `${Math.round(oldestSnapshot.ageMs / 60_000)} minutes, so old versions of rows are kept and ` +
              'tables grow: end it',
          ),
        ]
      : []),
    ...(seesOthers
      ? []
      : [
          warning(
            check,
            `${role} cannot see how old the transactions of other roles are: GRANT pg_read_all_stats TO ${role}`,
          ),
        ]),
    ...(preparedTransactions > 0
      ? [
          warning(
            check,
            `${preparedTransactions} prepared transactions keep locks and old versions of rows: commit or roll them back`,
          ),
        ]
      : []),
    ...(idleSlots.length > 0
      ? [warning(check, `replication slots that nobody reads keep the write-ahead log: ${idleSlots.join(', ')}`)]
      : []),
  ];
  return findings.length > 0
    ? findings
    : [ok(check, 'autovacuum is on, and no old transaction keeps it from its work')];
}

function examinePartitions({ partitionsEndAt, now }: ServerHealth): Finding {
  const check = 'partitions';
  const ends = Object.entries(partitionsEndAt).map(([table, endAt]) => ({ table, endAt }));
  const missing = ends.filter(({ endAt }) => endAt <= now).map(({ table }) => table);
  if (missing.length > 0)
    return problem(check, `${missing.join(', ')} cannot take new rows: start an instance, which makes partitions`);
  const soon = ends.filter(({ endAt }) => endAt - now < PARTITIONS_AHEAD_MIN_MS).map(({ table }) => table);
  if (soon.length > 0)
    return warning(check, `${soon.join(', ')} have partitions for less than a week: see the log of the instances`);
  const end = Math.min(...ends.map(({ endAt }) => endAt));
  return ok(check, `there are partitions until ${new Date(end).toISOString().slice(0, 10)}`);
}

function examineConnections({ connections, connectionsMax }: ServerHealth): Finding {
  const detail = `${connections} of ${connectionsMax} connections are used`;
  return connectionsMax - connections < POSTGRES_CONNECTIONS
    ? warning('connections', `${detail}: another instance needs ${POSTGRES_CONNECTIONS}; raise max_connections`)
    : ok('connections', detail);
}

async function examinePooler({ databaseUrl, databaseListenUrl }: Config): Promise<Finding> {
  const check = 'pooler';
  if (!(await isPooled(databaseUrl as Secret))) return ok(check, 'connections lead to the server itself');
  if (databaseListenUrl === null) {
    return warning(
      check,
      'the URL leads to a pooler such as PgBouncer: in transaction mode it passes no notifications on, so set ' +
        'SALLYPORT_DATABASE_LISTEN_URL to the server itself',
    );
  }
  return (await isPooled(databaseListenUrl))
    ? warning(check, 'SALLYPORT_DATABASE_LISTEN_URL leads to a pooler too: name the server itself')
    : ok(check, 'connections lead through a pooler, and notifications to the server itself');
}

/** Instances use the clock of the database, but certificates are judged by the clock of the machine. */
function examineMachineClock({ now: theirs }: ServerHealth, own: number): Finding {
  const check = 'clock of this machine';
  const differenceMs = own - theirs;
  const shown = `${Math.abs(Math.round(differenceMs / 1000))} s ${differenceMs > 0 ? 'ahead of' : 'behind'} the clock of the database`;
  return Math.abs(differenceMs) > CLOCK_BEHIND_MAX_MS
    ? warning(check, `it is ${shown}: synchronise both with NTP`)
    : ok(check, 'it agrees with the clock of the database');
}

const INSTANCES = `
  SELECT count(*) AS listed, count(*) FILTER (WHERE expires_at > extract(epoch FROM clock_timestamp()) * 1000) AS alive FROM instance`;

async function examineInstances(db: Database): Promise<Finding> {
  const row = await db.get(INSTANCES, {});
  const [listed, alive] = [Number(row?.listed), Number(row?.alive)];
  if (listed > alive && alive === 0)
    return warning('instances', 'none is running, and the last one did not stop in order');
  return ok('instances', `${alive} running`);
}
