/** A primary whose commits wait for a standby, and the ways in which the standby is taken away. */
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { cleanUp, cleanUpAlways } from './cleanup.ts';
import { type Cluster, startCluster } from './postgres.ts';
import { startTcpProxy } from './tcp-proxy.ts';

/** `stopped`: it ends without a checkpoint. `frozen`: it stands still (SIGSTOP). `cut`: the network passes nothing on. */
export const ABSENCES = ['stopped', 'frozen', 'cut'] as const;
export type Absence = (typeof ABSENCES)[number];

export type WaitedFor = {
  readonly standby: Cluster;
  takeAway(how: Absence): Promise<void>;
  /** Resolves when commits are confirmed again. */
  giveBack(how: Absence): Promise<void>;
};

export const DURABLE: Readonly<Record<string, string>> = { synchronous_commit: 'on', full_page_writes: 'on' };

/** A standby of `primary` that confirms every commit, until the test ends. */
export async function addWaitedFor(t: TestContext, primary: Cluster): Promise<WaitedFor> {
  const network = await startTcpProxy(t, primary);
  const standby = await primary.addStandby(network.port);
  let isFrozen = false;
  cleanUpAlways(t, () => {
    try {
      if (isFrozen) standby.thaw();
    } finally {
      standby.stop();
    }
  });
  await waitForStandbys(primary, true);
  await untilConfirmed(primary);
  return {
    standby,
    takeAway: async (how) => {
      if (how === 'stopped') await standby.kill();
      else if (how === 'cut') network.silence(true);
      else {
        standby.freeze();
        isFrozen = true;
      }
    },
    giveBack: async (how) => {
      if (how === 'stopped') await standby.start();
      else if (how === 'cut') network.resume();
      else {
        standby.thaw();
        isFrozen = false;
      }
    },
  };
}

/** A primary with such a standby. */
export async function startWaitedFor(t: TestContext): Promise<WaitedFor & { readonly primary: Cluster }> {
  const primary = await startCluster(DURABLE);
  cleanUp(t, primary.stop);
  return { ...(await addWaitedFor(t, primary)), primary };
}

/** A server that stands still answers nothing, and closes no connection either. */
const CONNECTED_WITHIN_MS = 10_000;
const ANSWERED_WITHIN_MS = 30_000;
const CLOSED_WITHIN_MS = 2000;
/** A standby that follows again, or processes that wait for it. */
const ROWS_WITHIN_MS = 90_000;

/** Runs SQL at a server on a connection of its own. */
export async function runAt(server: Cluster, ...sql: readonly string[]): Promise<pg.QueryResult[]> {
  const client = new pg.Client({
    connectionString: server.url('postgres'),
    connectionTimeoutMillis: CONNECTED_WITHIN_MS,
    query_timeout: ANSWERED_WITHIN_MS,
  });
  // The server may end between two queries. The next query fails then.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const results: pg.QueryResult[] = [];
    for (const text of sql) results.push(await client.query(text));
    return results;
  } finally {
    const ended = client.end().catch(() => undefined);
    await Promise.race([ended, pause(CLOSED_WITHIN_MS, undefined, { ref: false })]);
  }
}

/** Whether commits at `server` wait for a standby. */
export async function waitForStandbys(server: Cluster, wanted: boolean): Promise<void> {
  await runAt(server, `ALTER SYSTEM SET synchronous_standby_names = '${wanted ? '*' : ''}'`, 'SELECT pg_reload_conf()');
}

/** Resolves when a standby confirms commits. */
export async function untilConfirmed(server: Cluster): Promise<void> {
  await untilRows(server, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
}

/** Resolves with the processes that wait for the standby, as soon as there are so many. */
export async function untilWaiting(server: Cluster, count = 1): Promise<number[]> {
  const rows = await untilRows(server, "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'", count);
  return rows.map(({ pid }) => Number(pid));
}

/**
 * Resolves once transactions that wrote these tables, partitions included, wait for the standby: they still have their locks. The service
 * also writes in the background.
 */
export async function untilWritten(server: Cluster, tables: readonly string[]): Promise<void> {
  const names = tables.map((name) => `'${name}'`).join(', ');
  const sql = `
    SELECT DISTINCT t.name FROM unnest(ARRAY[${names}]) AS t (name)
    JOIN pg_class AS c ON c.relname = t.name OR c.relname LIKE t.name || '\\_%'
    JOIN pg_locks AS l ON l.relation = c.oid AND l.mode = 'RowExclusiveLock'
    JOIN pg_stat_activity AS a ON a.pid = l.pid AND a.wait_event = 'SyncRep'`;
  await untilRows(server, sql, tables.length);
}

async function untilRows(server: Cluster, sql: string, count = 1): Promise<pg.QueryResult['rows']> {
  const giveUpAt = performance.now() + ROWS_WITHIN_MS;
  for (;;) {
    const [found] = await runAt(server, sql);
    if (found !== undefined && found.rows.length >= count) return found.rows;
    if (performance.now() > giveUpAt) {
      const [replication] = await runAt(server, 'SELECT application_name, state, sync_state FROM pg_stat_replication');
      throw new Error(
        `less than ${count} rows within ${ROWS_WITHIN_MS / 1000} s: ${sql}; standbys: ${JSON.stringify(replication?.rows)}`,
      );
    }
    await pause(20);
  }
}
