/**
 * A primary with a standby that confirms every commit, and the ways to them: two hosts in a URL, a network that can fail, and PgBouncer.
 */
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanUpAlways } from '../support/cleanup.ts';
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { type Cluster, startCluster } from '../support/postgres.ts';
import { type Absence, addWaitedFor, DURABLE, untilConfirmed, waitForStandbys } from '../support/standby.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

/** How an instance reaches the database, as settings of Sallyport. */
type Way = Readonly<Record<string, string>>;

export type Servers = {
  primary(): Cluster;
  /** Instance 0 names both servers, instance 1 reaches them over a network that can fail, and instance 2 goes through PgBouncer. */
  readonly ways: readonly [Way, Way, Way];
  /**
   * Kills the primary, promotes the standby, and builds a new standby. `promoted` is called as soon as the new primary takes writes.
   * `gone`: how the standby was taken away before, if it was.
   */
  failOver(promoted: () => Promise<void>, gone?: Absence): Promise<void>;
  /** From now on commits wait. */
  takeStandbyAway(how: Absence): Promise<void>;
  /** Resolves when commits are confirmed again. */
  giveStandbyBack(how: Absence): Promise<void>;
  /** The network of instance 1 passes nothing on for so long. */
  cutNetwork(forMs: number): Promise<void>;
  readonly pooler: PgBouncer;
};

export async function startServers(t: TestContext): Promise<Servers> {
  let primary = await startCluster(DURABLE);
  cleanUpAlways(t, () => primary.stop());
  let waitedFor = await addWaitedFor(t, primary);
  // A server has the same place in every URL as long as it lives. `current` is always the primary.
  const places = [addressOf(primary), addressOf(waitedFor.standby)];
  const current = addressOf(primary);
  const proxies = async () => Promise.all(places.map((place) => startTcpProxy(t, place)));
  const [direct, network] = [await proxies(), await proxies()];
  const bouncer = await startTcpProxy(t, current);
  const pooler = await startPgBouncer(t, { host: '127.0.0.1', port: bouncer.port });
  const url = (ways: typeof direct): string =>
    `postgres://sallyport@${ways.map(({ port }) => `127.0.0.1:${port}`).join(',')}/postgres` +
    '?sslmode=disable&target_session_attrs=read-write';
  return {
    primary: () => primary,
    ways: [
      { SALLYPORT_DATABASE_URL: url(direct) },
      { SALLYPORT_DATABASE_URL: url(network) },
      { SALLYPORT_DATABASE_URL: pooler.url('postgres'), SALLYPORT_DATABASE_LISTEN_URL: url(direct) },
    ],
    failOver: async (promoted, gone) => {
      const lost = primary;
      const { standby } = waitedFor;
      await lost.kill();
      if (gone !== undefined) await waitedFor.giveBack(gone);
      await standby.promote();
      primary = standby;
      Object.assign(current, addressOf(primary));
      // As Patroni does. Until then commits wait for a standby that does not exist yet.
      await waitForStandbys(primary, false);
      await promoted();
      lost.stop();
      waitedFor = await addWaitedFor(t, primary);
      const free = places.find(({ port }) => port === lost.port);
      if (free !== undefined) Object.assign(free, addressOf(waitedFor.standby));
    },
    takeStandbyAway: (how) => waitedFor.takeAway(how),
    giveStandbyBack: async (how) => {
      await waitedFor.giveBack(how);
      await untilConfirmed(primary);
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
