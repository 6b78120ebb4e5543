/**
 * Whether a transaction was committed whose COMMIT was not answered, and whether a synchronous standby has the committed data.
 *
 * A transaction that waits for the standby is not visible. It becomes visible only on the primary if someone ends or cancels its process,
 * or if the primary crashes and starts again. So an answer that depends on visible data may be lost with the primary. A record in the
 * write-ahead log that is committed later waits for everything that was committed before (PostgreSQL, "Synchronous Replication").
 */

import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseUnavailable } from '../../port/errors.ts';
import { POSTGRES_OUTCOME_MS } from './limits.ts';
import { type DatabaseSession, SERVER_START } from './session.ts';

/** A transaction of one run of a server. `number` is null if it wrote nothing. */
type Transaction = { readonly number: string | null; readonly serverRun: string };

/** A record in the write-ahead log, so that COMMIT waits for the standby also if the transaction wrote nothing. */
const MARK = "pg_logical_emit_message(true, 'sallyport', '')";
export const WAITS =
  "current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local')";
/** Makes COMMIT wait until a synchronous standby has everything that was committed before. Returns which server it was. */
export const WAIT_FOR_STANDBY = `SELECT CASE WHEN ${WAITS} THEN ${MARK} END AS mark, ${SERVER_START} AS started`;

/**
 * The last statement of a transaction: its number, which it has as soon as it has written, its process and its server. A transaction that
 * wrote nothing may have read what the standby does not have, for example the event of a repeated publish: it waits too.
 */
export const TRANSACTION_END = `
  SELECT CASE WHEN pg_current_xact_id_if_assigned() IS NULL AND ${WAITS} THEN ${MARK} END AS mark,
    CAST(pg_current_xact_id_if_assigned() AS text) AS number, pg_backend_pid() AS process, ${SERVER_START} AS started`;

const STATUS = 'SELECT pg_xact_status(CAST(CAST(@number AS text) AS xid8)) AS status';
// COMMIT never reached it, so it will be undone. This makes it happen now. A process that commits is not ended: it may wait for the
// standby.
const END = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE backend_xid = CAST(CAST(CAST(@number AS text) AS xid8) AS xid) AND state LIKE 'idle in transaction%'`;

/**
 * Asks the server until `POSTGRES_OUTCOME_MS` have passed. Throws `DatabaseUnavailable` (`unknown`) if it cannot be known: the server did
 * not answer, COMMIT still waits, or the server crashed or was replaced. Then another transaction may have got the same number, so only
 * `not committed` is certain. A transaction that was committed may be missing on the standby.
 */
export async function hasCommitted(
  transaction: Transaction,
  connect: () => Promise<DatabaseSession>,
): Promise<boolean> {
  if (transaction.number === null) return true;
  const until = performance.now() + POSTGRES_OUTCOME_MS;
  let cause: unknown;
  while (performance.now() < until) {
    try {
      const status = await statusOf(transaction, await connect());
      if (status === 'aborted') return false;
      if (status === 'committed') return true;
      if (status === null) break;
    } catch (error) {
      cause = error;
    }
    await pause(PAUSE_MS);
  }
  throw new DatabaseUnavailable('unknown', { cause });
}

const PAUSE_MS = 50;

type Status = 'aborted' | 'committed' | 'in progress' | null;

async function statusOf({ number, serverRun }: Transaction, session: DatabaseSession): Promise<Status> {
  const isSameRun = session.serverRun === serverRun;
  try {
    const { rows } = await session.run(STATUS, { number });
    const status = rows[0]?.status as Status;
    if (status === 'in progress' && isSameRun) await session.run(END, { number });
    return status === 'committed' && !isSameRun ? null : status;
  } catch (error) {
    // A number that the server has not given yet: a crash or a failover lost the transaction.
    if ((error as { code?: string }).code === '22023') return 'aborted';
    throw error;
  }
}
