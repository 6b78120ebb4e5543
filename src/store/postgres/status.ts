/** The state of the database as an instance sees it, for metrics and the portal. */
import type { Database } from '../port/database.ts';
import type { DatabaseStatus, Standby } from '../port/instances.ts';
import { listPartitions, partitionsEndAt } from './partitions.ts';

const NOW = 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now';
// A standby that has replayed everything has no lag, or the lag of the last commit before it became idle.
const STANDBYS = `
  SELECT coalesce(nullif(application_name, ''), host(client_addr), 'a standby') AS name, state, sync_state IN ('sync',
    'quorum') AS synchronous,
    CASE WHEN replay_lsn >= sent_lsn THEN 0 ELSE floor(extract(epoch FROM replay_lag) * 1000) END AS lag
  FROM pg_stat_replication ORDER BY name`;
const FACTS = `
  SELECT current_setting('synchronous_standby_names') <> ''
    AND current_setting('synchronous_commit') NOT IN ('off', 'local') AS is_synchronous,
    pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees_others,
    (SELECT floor(extract(epoch FROM clock_timestamp() - min(xact_start)) * 1000) FROM pg_stat_activity
     WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database()
       AND backend_type <> 'autovacuum worker') AS snapshot`;

export async function databaseStatus(db: Pick<Database, 'get' | 'all'>): Promise<DatabaseStatus> {
  const from = performance.now();
  const row = await db.get(NOW, {});
  const roundTripMs = performance.now() - from;
  const clockAheadMs = Date.now() - roundTripMs / 2 - Number(row?.now);
  const [facts, standbys, partitions] = await Promise.all([
    db.get(FACTS, {}),
    db.all(STANDBYS, {}),
    listPartitions(db),
  ]);
  return {
    roundTripMs,
    clockAheadMs,
    isSynchronous: facts?.is_synchronous === 1,
    oldestSnapshotMs: facts?.snapshot == null ? (facts?.sees_others === 1 ? 0 : null) : Number(facts.snapshot),
    standbys: standbys.map(
      ({ name, state, synchronous, lag }): Standby => ({
        name: String(name),
        state: state === null ? null : String(state),
        isSynchronous: synchronous === 1,
        lagMs: lag === null ? null : Number(lag),
      }),
    ),
    partitionsEndAt: Math.min(...Object.values(partitionsEndAt(partitions))),
  };
}
