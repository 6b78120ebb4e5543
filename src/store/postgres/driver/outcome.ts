/** Whether a transaction was committed whose COMMIT was not answered. */
import { setTimeout as pause } from 'node:timers/promises';
import { POSTGRES_OUTCOME_MS } from '../../../kernel/limits/postgres.ts';
import { DatabaseUnavailable } from '../../errors.ts';
import type { Session } from './session.ts';

/** A transaction of one run of a server. `number` is null if it wrote nothing. */
export type Transaction = { readonly number: string | null; readonly serverRun: string };

/** A transaction learns its number before COMMIT. It has one as soon as it has written. */
export const TRANSACTION_NUMBER = 'SELECT CAST(pg_current_xact_id_if_assigned() AS text) AS number';

const STATUS = 'SELECT pg_xact_status(CAST(CAST(@number AS text) AS xid8)) AS status';
// Its connection is lost, so it either committed or will be undone. This makes it happen now.
const END = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE backend_xid = CAST(CAST(CAST(@number AS text) AS xid8) AS xid) AND pid <> pg_backend_pid()`;

/**
 * Asks the server until `POSTGRES_OUTCOME_MS` have passed. Throws `DatabaseUnavailable` (`unknown`) if it cannot be known: the server did
 * not answer, or it crashed or was replaced. Then another transaction may have got the same number, so only `not committed` is certain.
 */
export async function hasCommitted(transaction: Transaction, connect: () => Promise<Session>): Promise<boolean> {
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

async function statusOf({ number, serverRun }: Transaction, session: Session): Promise<Status> {
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
