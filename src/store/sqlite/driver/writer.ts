/**
 * Commits lists of statements: many in one transaction, hence one fsync. A refused list is undone without the others. Also decides when the
 * log is copied into the file.
 */

import BetterSqlite3 from 'better-sqlite3';
import type { Answer, Row, SqlValue, Statement, StatementResult, WriteTime } from '../../port/database.ts';
import { StaleWrite } from '../../port/errors.ts';
import type { Connection, FileCheck, PreparedStatement } from './connection.ts';
import { isBusy, portError, unavailableError } from './errors.ts';
import { BUSY_GIVE_UP_MS, BUSY_PAUSE_MS, CHECKPOINT_PAGES, COMMIT_STATEMENTS_MS, LISTS_PER_COMMIT } from './limits.ts';

/** The pages that the writer copies itself between two commits, and the number above which the checkpoint thread does not keep up. */
const CHECKPOINT_FINISH_PAGES = 200;
const CHECKPOINT_PAGES_MAX = 16_384;

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
type Committed = { readonly outcomes: readonly ListOutcome[]; readonly commitMs: number };

/**
 * Commits as many of `lists` as one commit takes, and returns their outcomes. An error of `bind` refuses its list. Throws if all of them
 * failed together and nothing was kept: another process holds the file, or the disk is full. Throws too if the files are gone after the
 * commit: a write to files that nobody can open must not be acknowledged.
 */
type CommitLists<List> = (lists: readonly List[]) => Committed;

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

  /** Runs a list in a savepoint, so that it can be undone without the others: costs 1 µs and a copy of each page that it changes. */
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

/** A list of statements, when its wait began by the process's monotonic clock, and who waits for it. */
export type WaitingList = {
  readonly statements: readonly Statement[];
  readonly since: number;
  readonly resolve: (results: readonly StatementResult[]) => void;
  readonly reject: (error: unknown) => void;
  readonly onWritten: ((took: WriteTime) => void) | undefined;
};

export function answerList(list: WaitingList | undefined, outcome: ListOutcome, commitMs: number): void {
  if (outcome.ok) {
    list?.resolve(outcome.results);
    list?.onWritten?.({ statementsMs: outcome.statementsMs, commitMs });
  } else list?.reject(outcome.error);
}

export type Writer = {
  /** Commits lists after those before. Each is answered. */
  commit(lists: readonly WaitingList[]): void;
  /** A list handed over now is committed while the event loop continues. */
  canBegin(): boolean;
  /** Empties the log. Resolves to false if another connection reads it, or if it cannot be copied. */
  truncateLog(): Answer<boolean>;
  /** Commits the waiting lists, and refuses lists that cannot be committed now. */
  close(): Answer<void>;
};

type InlineWriterParts = {
  readonly commitLists: CommitLists<WaitingList>;
  /** Called before and after each commit. */
  readonly beforeCommit: () => void;
  readonly onCommit: () => void;
  readonly truncateLog: () => boolean;
};

/** Commits in the event loop, which it blocks: for commands, and for databases that are only read. */
export function createInlineWriter({ commitLists, beforeCommit, onCommit, truncateLog }: InlineWriterParts): Writer {
  let waiting: WaitingList[] = [];
  let next: NodeJS.Timeout | NodeJS.Immediate | null = null;

  const commitNext = (): void => {
    next = null;
    // The database was closed before the time of this commit.
    if (waiting.length === 0) return;
    beforeCommit();
    let lists = waiting.slice(0, LISTS_PER_COMMIT);
    const answers: (() => void)[] = [];
    try {
      const { outcomes, commitMs } = commitLists(lists);
      for (const [at, outcome] of outcomes.entries()) {
        const list = lists[at];
        answers.push(() => answerList(list, outcome, commitMs));
      }
    } catch (error) {
      if (isBusy(error)) {
        // Another process holds the database: lists keep their places for the next attempt until they have waited too long.
        const now = performance.now();
        lists = waiting.filter(({ since }) => now - since > BUSY_GIVE_UP_MS);
        if (waiting.length > lists.length) next = setTimeout(commitNext, BUSY_PAUSE_MS);
      }
      const refusal = unavailableError(error);
      for (const { reject } of lists) answers.push(() => reject(refusal));
    }
    waiting = waiting.slice(answers.length);
    if (waiting.length > 0) next ??= setImmediate(commitNext);
    onCommit();
    for (const answer of answers) answer();
  };

  return {
    commit: (lists) => {
      waiting.push(...lists);
      if (next === null && waiting.length > 0) commitNext();
    },
    canBegin: () => false,
    truncateLog,
    close: () => {
      for (let before = waiting.length + 1; waiting.length > 0 && waiting.length < before; commitNext()) {
        before = waiting.length;
      }
      for (const { reject } of waiting) reject(new Error('the database was closed'));
      waiting = [];
    },
  };
}

/** The pages in the log, and how many of them are in the database's file too. `busy`: another connection stopped the checkpoint. */
export type LogState = { readonly busy: boolean; readonly pages: number; readonly copied: number };

type Checkpoints = {
  /** Takes the state of the log after each commit. */
  committed(log: LogState): void;
  /** Resolves once no checkpoint is in progress. */
  settled(): Promise<void>;
};

/** `copy` and `finish` copy what they can without waiting, and may reject. */
type CheckpointParts = {
  copy(): Promise<LogState>;
  finish(): Promise<LogState>;
  readonly onFailure: (error: Error) => void;
};

/**
 * Decides when the log is copied into the file. The second thread copies the bulk while others write. The writer copies the small rest
 * between two commits: only then nothing is left to copy and the log starts again from its beginning.
 *
 * A reader that stays in the log, such as a backup, keeps pages from being copied, and so does a full disk: the log then grows. The next
 * attempt comes after a further thousand pages, not after every commit. If more is written than the second thread copies, the writer
 * copies the rest itself, however long that takes, so the log stays bounded.
 */
export function createCheckpoints({ copy, finish, onFailure }: CheckpointParts): Checkpoints {
  let log: LogState = { busy: false, pages: 0, copied: 0 };
  let nextAt = CHECKPOINT_PAGES;
  let inProgress: Promise<void> | null = null;
  let isFailing = false;
  const pagesLeft = (): number => log.pages - log.copied;

  /** Copies until the rest is small, or too large. Returns false if no more can be copied now. */
  const copyBulk = async (): Promise<boolean> => {
    while (pagesLeft() > CHECKPOINT_FINISH_PAGES && pagesLeft() < CHECKPOINT_PAGES_MAX) {
      const before = log.copied;
      const { pages, copied } = await copy();
      // Commits during the copy have reported more pages.
      log = { busy: false, pages: Math.max(pages, log.pages), copied };
      if (copied <= before && pagesLeft() > 0) return false;
    }
    return true;
  };

  const run = async (): Promise<void> => {
    try {
      if (await copyBulk()) log = await finish();
      isFailing = false;
    } catch (cause) {
      // A thread that ended is reported by its own event.
      if (!isFailing && cause instanceof BetterSqlite3.SqliteError) {
        isFailing = true;
        onFailure(new Error('the log could not be copied into the database', { cause }));
      }
    }
    nextAt = pagesLeft() + CHECKPOINT_PAGES;
    inProgress = null;
  };

  return {
    committed: (state) => {
      log = state;
      if (inProgress === null && pagesLeft() >= nextAt) inProgress = run();
    },
    settled: async () => {
      await inProgress;
    },
  };
}
