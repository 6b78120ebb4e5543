/** Runs statements as one transaction. */
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import {
  POSTGRES_IDLE_TRANSACTION_MS,
  POSTGRES_LOCK_MS,
  POSTGRES_LOST_ROUNDS,
  POSTGRES_ROUNDS,
} from '../../../kernel/limits/postgres.ts';
import type { Row, Statement, StatementResult } from '../../database.ts';
import { StaleWrite } from '../../errors.ts';
import type { Connection } from './connection.ts';
import { isLost, isStaleSession, isWorthAnother, leavesOutcomeOpen, portError } from './errors.ts';
import { hasCommitted, TRANSACTION_NUMBER } from './outcome.ts';
import { planning, type Session } from './session.ts';

/**
 * Runs the statements as one transaction, and again if another transaction or a lost connection kept it from finishing. Throws `StaleWrite`,
 * `ConstraintViolation` or `DatabaseUnavailable`, with nothing kept except for the reason `unknown`.
 */
export async function runTransaction(
  writer: Connection,
  statements: readonly Statement[],
): Promise<readonly StatementResult[]> {
  let lost = 0;
  for (let round = 1; ; round += 1) {
    let session: Session | null = null;
    try {
      session = await writer.session();
      return await runOnce(session, writer, statements);
    } catch (error) {
      if (isLost(error)) {
        session?.destroy();
        lost += 1;
        if (session === null || lost > POSTGRES_LOST_ROUNDS) throw portError(error);
        continue;
      }
      if (isStaleSession(error)) session?.destroy();
      else if (!isWorthAnother(error)) throw portError(error);
      if (round === POSTGRES_ROUNDS) throw portError(error);
      await pause(Math.random() * 10 * round);
    }
  }
}

const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';
// If this process stops or is cut off, the server gives its locks free soon.
const limits = (set: 'SET' | 'SET LOCAL'): string => `${set} lock_timeout = ${POSTGRES_LOCK_MS};
  ${set} idle_in_transaction_session_timeout = ${POSTGRES_IDLE_TRANSACTION_MS}`;

/** Sessions that have their limits. */
const limited = new WeakSet<Session>();

/** Begins a transaction with limits. Behind a pooler, a session is on another connection in each transaction. */
function begin(session: Session): Promise<pg.QueryResult<Row>>[] {
  if (session.process === null) {
    return [session.query(`${BEGIN}; ${limits('SET LOCAL')}; ${planning('SET LOCAL')}`)];
  }
  if (limited.has(session)) return [session.query(BEGIN)];
  limited.add(session);
  return [session.query(limits('SET')), session.query(BEGIN)];
}
const LOCK_AUDIT: Statement = { sql: 'LOCK TABLE audit IN EXCLUSIVE MODE', params: {} };

async function runOnce(
  session: Session,
  writer: Connection,
  statements: readonly Statement[],
): Promise<readonly StatementResult[]> {
  // Administrative changes come one after another: each entry of the audit log needs the one before.
  const locks = statements.some(({ sql }) => sql.includes('INSERT INTO audit ')) ? [LOCK_AUDIT] : [];
  const begun = begin(session);
  const answers = await allOf([
    ...begun,
    ...[...locks, ...statements].map(({ sql, params }) => session.run(sql, params)),
    session.run(TRANSACTION_NUMBER, {}),
  ]);
  const failed = answers.find((answer) => answer instanceof Failure);
  const results = answers
    .slice(begun.length + locks.length, -1)
    .map((answer): StatementResult => (answer instanceof Failure ? NOTHING : resultOf(answer)));
  const refusal = failed === undefined ? staleWrite(statements, results) : failed.error;
  if (refusal !== null) {
    await session.query('ROLLBACK').catch(() => undefined);
    throw refusal;
  }
  const number = (answers.at(-1) as pg.QueryResult<Row>).rows[0]?.number as string | null;
  try {
    await session.query('COMMIT');
  } catch (error) {
    if (!leavesOutcomeOpen(error)) throw error;
    session.destroy();
    // Nobody knows whether the server got it.
    if (!(await hasCommitted({ number, serverRun: session.serverRun }, writer.session))) throw error;
  }
  return results;
}

const NOTHING: StatementResult = { changes: 0, rows: [] };

function resultOf({ rowCount, rows }: pg.QueryResult<Row>): StatementResult {
  return { changes: rowCount ?? 0, rows };
}

function staleWrite(statements: readonly Statement[], results: readonly StatementResult[]): StaleWrite | null {
  for (const [at, { sql, expectChanges }] of statements.entries()) {
    const { changes = 0 } = results[at] ?? {};
    if (expectChanges !== undefined && changes !== expectChanges) return new StaleWrite(sql, expectChanges, changes);
  }
  return null;
}

class Failure {
  readonly error: unknown;
  constructor(error: unknown) {
    this.error = error;
  }
}

/** Waits for all answers, so that nothing of the transaction is under way when it ends. */
function allOf(answers: readonly Promise<pg.QueryResult<Row>>[]): Promise<readonly (pg.QueryResult<Row> | Failure)[]> {
  return Promise.all(answers.map((answer) => answer.catch((error: unknown) => new Failure(error))));
}
