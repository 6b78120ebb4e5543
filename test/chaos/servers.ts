/** A primary with a standby that confirms every commit, and the ways to them: two hosts in a URL, a network that can fail, and PgBouncer. */
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { cleanUp } from '../support/cleanup.ts';
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { type Cluster, startCluster } from '../support/postgres.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

const DURABLE = { synchronous_commit: 'on', full_page_writes: 'on' };

/** How an instance reaches the database, as settings of Sallyport. */
export type Way = Readonly<Record<string, string>>;

export type Servers = {
  primary(): Cluster;
  /** Instance 0 names both servers, instance 1 reaches them over a network that can fail, and instance 2 goes through PgBouncer. */
  readonly ways: readonly [Way, Way, Way];
  /** Kills the primary, promotes the standby, and builds a new standby. `promoted` is called as soon as the new primary takes writes. */
  failOver(promoted: () => Promise<void>): Promise<void>;
  /** The network of instance 1 passes nothing on for so long. */
  cutNetwork(forMs: number): Promise<void>;
  readonly pooler: PgBouncer;
};

export async function startServers(t: TestContext): Promise<Servers> {
  let primary = await startCluster(DURABLE);
  let standby = await addStandby(primary);
  cleanUp(t, () => {
    for (const server of [standby, primary]) server.stop();
  });
  // A server has the same place in every URL as long as it lives. `current` is always the primary.
  const places = [addressOf(primary), addressOf(standby)];
  const current = addressOf(primary);
  const proxies = async () => Promise.all(places.map((place) => startTcpProxy(t, place)));
  const [direct, network] = [await proxies(), await proxies()];
  const bouncer = await startTcpProxy(t, current);
  const pooler = await startPgBouncer(t, { host: '127.0.0.1', port: bouncer.port });
  const url = (ways: typeof direct): string =>
    `postgres://sallyport@${ways.map(({ port }) => `127.0.0.1:${port}`).join(',')}/postgres?sslmode=disable&target_session_attrs=read-write`;
  return {
    primary: () => primary,
    ways: [
      { SALLYPORT_DATABASE_URL: url(direct) },
      { SALLYPORT_DATABASE_URL: url(network) },
      { SALLYPORT_DATABASE_URL: pooler.url('postgres'), SALLYPORT_DATABASE_LISTEN_URL: url(direct) },
    ],
    failOver: async (promoted) => {
      const lost = primary;
      await lost.kill();
      await standby.promote();
      primary = standby;
      Object.assign(current, addressOf(primary));
      // As Patroni does. Until then commits wait for a standby that does not exist yet.
      await waitForStandbys(primary, false);
      await promoted();
      lost.stop();
      standby = await addStandby(primary);
      const free = places.find(({ port }) => port === lost.port);
      if (free !== undefined) Object.assign(free, addressOf(standby));
    },
    cutNetwork: async (forMs) => {
      for (const proxy of network) proxy.silence(true);
      await sleep(forMs);
      for (const proxy of network) proxy.resume();
    },
    pooler,
  };
}

function addressOf({ host, port }: Cluster): { host: string; port: number } {
  return { host, port };
}

/** Resolves when the standby confirms every commit. */
async function addStandby(primary: Cluster): Promise<Cluster> {
  const standby = await primary.addStandby();
  await waitForStandbys(primary, true);
  const client = new pg.Client({ connectionString: primary.url('postgres') });
  await client.connect();
  while ((await client.query("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")).rows.length === 0)
    await sleep(20);
  await client.end();
  return standby;
}

async function waitForStandbys(server: Cluster, wanted: boolean): Promise<void> {
  const client = new pg.Client({ connectionString: server.url('postgres') });
  await client.connect();
  await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${wanted ? '*' : ''}'`);
  await client.query('SELECT pg_reload_conf()');
  await client.end();
}
