/** The state of the PostgreSQL server behind a database, for the operator. Only reads. */
import type { Secret } from '../../kernel/secret.ts';
import type { Database } from '../port/database.ts';
import { connectFirst } from './driver/connect.ts';
import { planConnections } from './driver/url.ts';
import { listPartitions, partitionsEndAt } from './partitions.ts';

export type ServerHealth = {
  /** Tables that the role does not own, so that it cannot make partitions of them or migrate them. */
  readonly foreignTables: readonly string[];
  readonly synchronousCommit: string;
  /** Empty: a commit waits for no standby. */
  readonly synchronousStandbys: string;
  /** The names of the standbys that follow the server now. */
  readonly connectedStandbys: readonly string[];
  readonly fsync: boolean;
  readonly autovacuum: boolean;
  /** Whether the role sees the transactions of other roles (`pg_read_all_stats`). */
  readonly seesOthers: boolean;
  /** The age of the oldest transaction that keeps old versions of rows, and its process; null without one that the role sees. */
  readonly oldestSnapshot: { readonly ageMs: number; readonly process: number } | null;
  readonly preparedTransactions: number;
  /** Replication slots that nobody reads: they keep all of the write-ahead log since then. */
  readonly idleSlots: readonly string[];
  readonly connections: number;
  readonly connectionsMax: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** When each partitioned table runs out of partitions, in milliseconds since 1970. */
  readonly partitionsEndAt: Readonly<Record<string, number>>;
};

const HEALTH = `
  SELECT current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('synchronous_standby_names') AS synchronous_standbys,
    current_setting('fsync') = 'on' AS fsync, current_setting('autovacuum') = 'on' AS autovacuum,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
    CAST(current_setting('max_connections') AS bigint) - CAST(current_setting('superuser_reserved_connections') AS bigint)
      AS connections_max,
    pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees_others,
    (SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()) AS prepared,
    floor(extract(epoch FROM clock_timestamp()) * 1000) AS now`;
const FOREIGN = `
  SELECT c.relname AS name FROM pg_class AS c
  WHERE c.relnamespace = CAST(quote_ident(current_schema()) AS regnamespace) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND NOT pg_has_role(current_user, c.relowner, 'MEMBER') ORDER BY c.relname`;
// Its own snapshot is always new. A standby with feedback and a slot hold snapshots too. Those of other databases keep nothing in this one.
const SNAPSHOT = `
  SELECT pid, floor(extract(epoch FROM clock_timestamp() - xact_start) * 1000) AS age FROM pg_stat_activity
  WHERE backend_xmin IS NOT NULL AND xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'
    AND (datname = current_database() OR backend_type = 'walsender') ORDER BY xact_start LIMIT 1`;
// The state is null for a role without pg_read_all_stats. A standby that catches up or takes a backup confirms nothing.
const STANDBYS = `
  SELECT application_name AS name FROM pg_stat_replication WHERE coalesce(state, 'streaming') = 'streaming' ORDER BY application_name`;
const SLOTS = 'SELECT slot_name AS name FROM pg_replication_slots WHERE NOT active ORDER BY slot_name';

export async function serverHealth(db: Database): Promise<ServerHealth> {
  const [row, foreign, snapshot, slots, standbys, partitions] = await Promise.all([
    db.get(HEALTH, {}),
    db.all(FOREIGN, {}),
    db.get(SNAPSHOT, {}),
    db.all(SLOTS, {}),
    db.all(STANDBYS, {}),
    listPartitions(db),
  ]);
  return {
    foreignTables: foreign.map(({ name }) => String(name)),
    synchronousCommit: String(row?.synchronous_commit),
    synchronousStandbys: String(row?.synchronous_standbys),
    connectedStandbys: standbys.map(({ name }) => String(name)),
    fsync: row?.fsync === 1,
    autovacuum: row?.autovacuum === 1,
    seesOthers: row?.sees_others === 1,
    oldestSnapshot: snapshot === undefined ? null : { ageMs: Number(snapshot.age), process: Number(snapshot.pid) },
    preparedTransactions: Number(row?.prepared),
    idleSlots: slots.map(({ name }) => String(name)),
    connections: Number(row?.connections),
    connectionsMax: Number(row?.connections_max),
    now: Number(row?.now),
    partitionsEndAt: partitionsEndAt(partitions),
  };
}

/** Whether the URL leads to a pooler such as PgBouncer. */
export async function isPooled(url: Secret): Promise<boolean> {
  const session = await connectFirst(planConnections(url.reveal()));
  await session.end();
  return session.process === null;
}
