/** Group commit: many lists of statements in one transaction, hence one fsync. A list that is refused is undone alone. */
import { COMMIT_STATEMENTS_MS, LISTS_PER_COMMIT } from '../../../kernel/limits/database.ts';
import { StaleWrite } from '../../errors.ts';
import { type Connection, type PreparedStatement, portError } from './connection.ts';
import type { Row, SqlValue, StatementResult } from './database.ts';
import type { FileCheck } from './database-files.ts';

/** A statement ready to run, with its values in the order of its parameters. */
export type Bound = {
  readonly prepared: PreparedStatement;
  readonly values: readonly SqlValue[];
  readonly expectChanges: number | undefined;
};

/** The result of one list. A refused list left nothing behind. */
export type ListOutcome =
  | { readonly ok: true; readonly results: readonly StatementResult[]; readonly statementsMs: number }
  | { readonly ok: false; readonly error: unknown };

/** The outcomes of the first lists of those handed over: as many as one commit takes. */
export type Committed = { readonly outcomes: readonly ListOutcome[]; readonly commitMs: number };

/**
 * Commits as many of `lists` as one commit takes, and returns their outcomes. An error of `bind` refuses its list. Throws if all of them
 * failed together and nothing was kept: another process holds the file, or the disk is full. Throws too if the files are gone after the
 * commit: a write to files that nobody can open must not be acknowledged.
 */
export type CommitLists<List> = (lists: readonly List[]) => Committed;

export function createCommitLists<List>(
  connection: Connection,
  files: FileCheck,
  bind: (list: List) => readonly Bound[],
): CommitLists<List> {
  const begin = connection.prepare('BEGIN IMMEDIATE');
  const commit = connection.prepare('COMMIT');
  const rollback = connection.prepare('ROLLBACK');
  const save = connection.prepare('SAVEPOINT list');
  const release = connection.prepare('RELEASE list');
  const undo = connection.prepare('ROLLBACK TO list');

  /** Runs a list in a savepoint, so that it can be undone alone: costs 1 µs and a copy of each page that it changes. */
  const runSaved = (list: readonly Bound[]): StatementResult[] => {
    save.run();
    try {
      const results = list.map(runStatement);
      release.run();
      return results;
    } catch (error) {
      // A full disk or an I/O error ends the whole transaction, and the savepoint with it.
      if (connection.inTransaction) {
        undo.run();
        release.run();
      }
      throw error;
    }
  };

  const runList = (list: List): ListOutcome => {
    try {
      const bound = bind(list);
      const startedAt = performance.now();
      const results = undoesItself(bound) ? bound.map(runStatement) : runSaved(bound);
      return { ok: true, results, statementsMs: performance.now() - startedAt };
    } catch (error) {
      // The error ended the whole transaction.
      if (!connection.inTransaction) throw error;
      return { ok: false, error: portError(error) };
    }
  };

  return (lists) => {
    begin.run();
    try {
      files.before();
      const outcomes: ListOutcome[] = [];
      const startedAt = performance.now();
      let at = startedAt;
      for (const list of lists) {
        if (outcomes.length === LISTS_PER_COMMIT || at - startedAt > COMMIT_STATEMENTS_MS) break;
        outcomes.push(runList(list));
        at = performance.now();
      }
      commit.run();
      files.after();
      return { outcomes, commitMs: performance.now() - at };
    } catch (error) {
      if (connection.inTransaction) rollback.run();
      throw error;
    }
  };
}

/** A list that needs no savepoint: SQLite itself undoes a single statement that fails. */
function undoesItself(list: readonly Bound[]): boolean {
  return list.length === 1 && list[0]?.expectChanges === undefined;
}

function runStatement({ prepared: { sql, statement }, values, expectChanges }: Bound): StatementResult {
  let result: StatementResult;
  if (statement.reader) {
    const rows = statement.all(values) as Row[];
    result = { changes: rows.length, rows };
  } else {
    result = { changes: statement.run(values).changes, rows: NO_ROWS };
  }
  if (expectChanges !== undefined && result.changes !== expectChanges) {
    throw new StaleWrite(sql, expectChanges, result.changes);
  }
  return result;
}

const NO_ROWS: readonly Row[] = [];
