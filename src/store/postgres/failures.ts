/** Failed authentications on PostgreSQL (`authentication_failure`), which all instances share. */
import {
  type Attempt,
  CLIENT_FAILURES_MAX,
  clientDigest,
  FAILURE_WINDOW_MS,
  type FailedAuthentication,
  NETWORK_FAILURES_MAX,
  waitMsOf,
} from '../../domain/throttle.ts';
import { createLru } from '../../kernel/lru.ts';
import type { Database, Row, Statement } from '../port/database.ts';
import type { FailurePurpose, FailureStore, Throttle } from '../port/failures.ts';
import { batched, READS } from './batched.ts';

/** Each holds the locks of its networks until the transaction ends, which is not more than some milliseconds. */
const COUNTS_MAX = 100;
/** If more networks fail within a minute, a success of the oldest is held back by no failure that was counted since it began. */
const NETWORKS_REMEMBERED = 10_000;

// Index: authentication_failure_network. At most a hundred rows a network, because blocked attempts are not recorded.
const LOGS = `
  SELECT network, client, at FROM authentication_failure
  WHERE network IN (SELECT wanted.value FROM texts(@networks) AS wanted) AND at > @since ORDER BY at`;
// Failures of a network are counted one after another. Each later statement sees what the holder of the lock before has committed.
const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('authentication_failure ' || @network, 0))";
const RECENT = 'SELECT count(*) FROM authentication_failure WHERE network = @network AND at > @since AND at < @until';
const COUNT = `
  INSERT INTO authentication_failure (network, client, at)
  SELECT @network, @client, @now
  WHERE (${RECENT}) < ${NETWORK_FAILURES_MAX} AND (${RECENT} AND client = @client) < ${CLIENT_FAILURES_MAX}`;

type Asked = { readonly network: string; readonly client: string; readonly now: number };

export function failureStore(db: Database): FailureStore {
  const blocked = batched<Asked, number | null>(async (asked) => {
    const rows = await db.all(LOGS, logsOf(asked));
    return waits(asked, rows);
  }, READS);
  const count = batched<Asked, number | null>((asked) => countAll(db, asked), {
    inProgressMax: 1,
    callsMax: COUNTS_MAX,
  });
  /** The last count in progress of each network. Counts end in the order in which they begin. */
  const counting = new Map<string, Promise<unknown>>();
  /** When this process last counted a failure of each network. */
  const lastCounted = createLru<string, number>({ max: NETWORKS_REMEMBERED });
  const countedLately = ({ network, now }: Asked): boolean =>
    Math.abs(now - (lastCounted.get(network) ?? Number.NEGATIVE_INFINITY)) < FAILURE_WINDOW_MS;
  const blockedAfterCounts = async (asked: Asked): Promise<number | null> => {
    // A read is faster than a count. Without this wait, a success would overtake the failures of a burst that came before it.
    await counting.get(asked.network)?.catch(() => undefined);
    return blocked(asked);
  };
  return {
    throttle: (purpose): Throttle => ({
      blockedForMs: (attempt, now) => blockedAfterCounts(askedBy(purpose, attempt, now)),
      blockedHereForMs: (attempt, now) => {
        const asked = askedBy(purpose, attempt, now);
        return countedLately(asked) ? blockedAfterCounts(asked) : null;
      },
      countFailure: async (attempt, now) => {
        const asked = askedBy(purpose, attempt, now);
        const counted = count(asked);
        counting.set(asked.network, counted);
        lastCounted.set(asked.network, now);
        try {
          return await counted;
        } finally {
          if (counting.get(asked.network) === counted) counting.delete(asked.network);
        }
      },
    }),
  };
}

function askedBy(purpose: FailurePurpose, { network, clientId }: Attempt, now: number): Asked {
  return { network: `${purpose} ${network}`, client: clientDigest(clientId), now };
}

/** Counts failures in one transaction. The result of a blocked one is its wait, as before it. */
async function countAll(db: Database, asked: readonly Asked[]): Promise<(number | null)[]> {
  // In one order, so that two instances cannot deadlock.
  const networks = networksOf(asked);
  const locks = networks.map((network): Statement => ({ sql: LOCK, params: { network } }));
  const counts = asked.map(({ network, client, now }): Statement => {
    const [since, until] = [now - FAILURE_WINDOW_MS, now + FAILURE_WINDOW_MS];
    return { sql: COUNT, params: { network, client, now, since, until } };
  });
  const results = await db.commit([...locks, ...counts, { sql: LOGS, params: logsOf(asked) }]);
  const found = waits(asked, results.at(-1)?.rows ?? []);
  // A later failure of the same transaction may be in the log, but a blocked attempt stays blocked.
  return asked.map((_, at) => (results[locks.length + at]?.changes === 1 ? null : (found[at] ?? 1)));
}

function networksOf(asked: readonly Asked[]): string[] {
  return [...new Set(asked.map(({ network }) => network))].sort();
}

function logsOf(asked: readonly Asked[]) {
  const since = Math.min(...asked.map(({ now }) => now)) - FAILURE_WINDOW_MS;
  return { networks: JSON.stringify(networksOf(asked)), since };
}

function waits(asked: readonly Asked[], rows: readonly Row[]): (number | null)[] {
  const logs = Map.groupBy(
    rows.map((row): FailedAuthentication & { readonly network: string } => ({
      network: String(row.network),
      client: String(row.client),
      at: Number(row.at),
    })),
    ({ network }) => network,
  );
  return asked.map(({ network, client, now }) => waitMsOf(logs.get(network) ?? [], client, now));
}
