/** Runs statements as one transaction. */

import { setTimeout as pause } from 'node:timers/promises';
import type { Statement, StatementResult } from '../../port/database.ts';
import { DatabaseUnavailable, StaleWrite } from '../../port/errors.ts';
import type { Connection } from './connection.ts';
import { isLost, isStaleSession, isWorthAnother, leavesOutcomeOpen, portError } from './errors.ts';
import { POSTGRES_LOST_ROUNDS, POSTGRES_OUTCOME_MS } from './limits.ts';
import { hasCommitted, TRANSACTION_END, WAIT_FOR_STANDBY } from './outcome.ts';
import type { Answered } from './pipeline.ts';
import { BEGIN, type DatabaseSession } from './session.ts';

/** How long a statement waits for a lock, and how long the server keeps a transaction whose client sends nothing more. */
const POSTGRES_LOCK_MS = 5000;
const POSTGRES_IDLE_TRANSACTION_MS = 5000;

/** How often a transaction is run again that others kept from finishing. */
const POSTGRES_ROUNDS = 20;

export type PostgresStatement = Statement & {
  /**
   * If the list has only this statement: what to run if a connection broke and nobody knows whether `sql` was committed. It returns what
   * `sql` would have returned, and changes nothing twice. Such a statement takes one round trip instead of two.
   */
  readonly again?: string;
};

/** How far a transaction is, and whether its caller still waits for it. */
export type CommitProgress = {
  /** COMMIT is sent. From now on the transaction may be kept. */
  committing(): void;
  /** The caller has been answered. The transaction is not run again, and nobody asks for its outcome. */
  isGivenUp(): boolean;
};

/**
 * Runs the statements as one transaction, and again if another transaction or a lost connection kept it from finishing. Resolves when the
 * synchronous standby, if there is one, has everything that was committed before and by this transaction. Throws `StaleWrite`,
 * `ConstraintViolation` or `DatabaseUnavailable`, with nothing kept except for the reason `unknown`.
 */
export async function runTransaction(
  writer: Connection,
  statements: readonly PostgresStatement[],
  progress: CommitProgress,
): Promise<readonly StatementResult[]> {
  const [first] = statements;
  const repeatable = statements.length === 1 && first?.again !== undefined ? first : null;
  let lost = 0;
  let mayBeCommitted = false;
  for (let round = 1; ; round += 1) {
    let session: DatabaseSession | null = null;
    try {
      session = await writer.session();
      // Behind a pooler, the settings need a transaction.
      session.takeWarning();
      if (repeatable === null || session.process === null) return await runOnce(session, writer, statements, progress);
      const result = await runAlone(session, repeatable, mayBeCommitted, progress);
      // It wrote nothing, or someone cancelled its wait for the standby.
      if (session.takeWarning() || result.changes === 0) await confirm(session.serverStart, writer, progress);
      return [result];
    } catch (error) {
      if (progress.isGivenUp()) throw portError(error);
      if (isLost(error)) {
        session?.destroy();
        lost += 1;
        mayBeCommitted ||= repeatable !== null && session !== null;
        if (session === null || lost > POSTGRES_LOST_ROUNDS) {
          throw mayBeCommitted ? new DatabaseUnavailable('unknown', { cause: error }) : portError(error);
        }
        continue;
      }
      if (isStaleSession(error)) session?.destroy();
      else if (!isWorthAnother(error)) throw portError(error);
      if (round === POSTGRES_ROUNDS) throw portError(error);
      await pause(Math.random() * 10 * round);
    }
  }
}

/** Runs a statement that is its own transaction. */
async function runAlone(
  session: DatabaseSession,
  { sql, params, again = sql }: PostgresStatement,
  mayBeCommitted: boolean,
  progress: CommitProgress,
): Promise<StatementResult> {
  const sent = mayBeCommitted ? [{ sql: again, params }, WAIT] : [{ sql, params }];
  progress.committing();
  const [, [answer]] = await Promise.all([limit(session), session.commit(session.process, () => session.runAll(sent))]);
  return resultOf(answer as Answered[number]);
}

const LAST: Statement = { sql: TRANSACTION_END, params: {} };
const WAIT: Statement = { sql: WAIT_FOR_STANDBY, params: {} };
const LOCK_AUDIT: Statement = { sql: 'LOCK TABLE audit IN EXCLUSIVE MODE', params: {} };
// If this process stops or is cut off, the server gives its locks free soon. A COMMIT that did not wait for the standby ends with a
// warning.
const limits = (
  set: 'SET' | 'SET LOCAL',
): string => `${set} lock_timeout = ${POSTGRES_LOCK_MS}; ${set} client_min_messages = warning;
  ${set} idle_in_transaction_session_timeout = ${POSTGRES_IDLE_TRANSACTION_MS}`;

/** Statements that are answered together. The time limit of an answer is for all of them. */
const TOGETHER_MAX = 50;

/** Sessions that have their limits. */
const limited = new WeakSet<DatabaseSession>();

/** Sends the limits with the first statement of a session. */
async function limit(session: DatabaseSession): Promise<void> {
  if (limited.has(session)) return;
  limited.add(session);
  await session.query(limits('SET'));
}

/** Sends the statements of a transaction that is not committed yet, and returns their answers. Rejects with the first error. */
async function send(session: DatabaseSession, statements: readonly Statement[]): Promise<Answered> {
  const before: Promise<unknown>[] = [];
  const sent = [...statements];
  if (session.process === null) {
    // Behind a pooler, a session is on another connection in each transaction.
    before.push(session.query(`${BEGIN}; ${session.settings}; ${limits('SET LOCAL')}`));
  } else {
    before.push(limit(session));
    sent.unshift({ sql: BEGIN, params: {} });
  }
  const answers: Promise<Answered>[] = [];
  for (let at = 0; at < sent.length; at += TOGETHER_MAX)
    answers.push(session.runAll(sent.slice(at, at + TOGETHER_MAX)));
  // Waits for all, so that no statement of the transaction is in progress when it ends.
  for (const outcome of await Promise.allSettled([...before, ...answers])) {
    if (outcome.status === 'rejected') throw outcome.reason;
  }
  return (await Promise.all(answers)).flat().slice(sent.length - statements.length);
}

async function runOnce(
  session: DatabaseSession,
  writer: Connection,
  statements: readonly Statement[],
  progress: CommitProgress,
): Promise<readonly StatementResult[]> {
  // Administrative changes come one after another: each entry of the audit log needs the one before.
  const locks = statements.some(({ locks }) => locks === 'audit') ? [LOCK_AUDIT] : [];
  let last: Answered[number]['rows'][number] | undefined;
  let results: readonly StatementResult[];
  try {
    const answers = await send(session, [...locks, ...statements, LAST]);
    last = answers.at(-1)?.rows[0];
    results = answers.slice(locks.length, -1).map(resultOf);
    const stale = staleWrite(statements, results);
    if (stale !== null) throw stale;
  } catch (error) {
    await session.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
  let isConfirmed = true;
  try {
    progress.committing();
    await session.commit(Number(last?.process), () => session.query('COMMIT'));
    // Someone cancelled its wait for the standby.
    if (session.takeWarning()) isConfirmed = false;
  } catch (error) {
    if (!leavesOutcomeOpen(error)) throw error;
    session.destroy();
    if (progress.isGivenUp()) throw error;
    // Nobody knows whether the server got it.
    const transaction = { number: last?.number as string | null, serverRun: session.serverRun };
    if (!(await hasCommitted(transaction, writer.session))) throw error;
    isConfirmed = false;
  }
  if (!isConfirmed) await confirm(String(last?.started), writer, progress);
  return results;
}

/**
 * Resolves when the standby has everything that was committed before at the server that started at `serverStart`. Throws
 * `DatabaseUnavailable` (`unknown`) if another server answers, which may lack it, or if its connection is lost, or its wait cancelled, for
 * `POSTGRES_OUTCOME_MS`.
 */
async function confirm(serverStart: string, writer: Connection, progress: CommitProgress): Promise<void> {
  const until = performance.now() + POSTGRES_OUTCOME_MS;
  for (;;) {
    let cause: unknown;
    try {
      const session = await writer.session();
      session.takeWarning();
      const [answer] = await send(session, [LAST]);
      const { process, started } = answer?.rows[0] ?? {};
      await session.commit(Number(process), () => session.query('COMMIT'));
      if (started !== serverStart) break;
      if (!session.takeWarning()) return;
    } catch (error) {
      cause = error;
      writer.current()?.destroy();
    }
    if (performance.now() >= until || progress.isGivenUp()) throw new DatabaseUnavailable('unknown', { cause });
    await pause(CONFIRM_PAUSE_MS);
  }
  throw new DatabaseUnavailable('unknown');
}

const CONFIRM_PAUSE_MS = 50;

function resultOf({ rowCount, rows }: Answered[number]): StatementResult {
  return { changes: rowCount ?? 0, rows };
}

function staleWrite(statements: readonly Statement[], results: readonly StatementResult[]): StaleWrite | null {
  for (const [at, { sql, expectChanges }] of statements.entries()) {
    const { changes = 0 } = results[at] ?? {};
    if (expectChanges !== undefined && changes !== expectChanges) return new StaleWrite(sql, expectChanges, changes);
  }
  return null;
}
