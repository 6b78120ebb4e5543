/** How lists of statements are committed. A database gets its writer when it is opened and keeps it. */
import { BUSY_GIVE_UP_MS, BUSY_PAUSE_MS, LISTS_PER_COMMIT } from '../../../kernel/limits/database.ts';
import { isBusy, unavailableError } from './connection.ts';
import type { Answer, Statement, StatementResult, WriteTime } from './database.ts';
import type { CommitLists } from './transaction.ts';

/** A list of statements, when its wait began by the process's monotonic clock, and who waits for it. */
export type WaitingList = {
  readonly statements: readonly Statement[];
  readonly since: number;
  readonly resolve: (results: readonly StatementResult[]) => void;
  readonly reject: (error: unknown) => void;
  readonly onWritten: ((took: WriteTime) => void) | undefined;
};

export type Writer = {
  /** Commits lists after those before. Each is answered. */
  commit(lists: readonly WaitingList[]): void;
  /** A list handed over now is committed while the event loop goes on. */
  canBegin(): boolean;
  /** Empties the log. Resolves to false if another connection reads it, or if it cannot be copied. */
  truncateLog(): Answer<boolean>;
  /** Commits what waits, and refuses what cannot be committed now. */
  close(): Answer<void>;
};

export type InlineWriterParts = {
  readonly commitLists: CommitLists<WaitingList>;
  /** Called before and after each commit. */
  readonly beforeCommit: () => void;
  readonly onCommit: () => void;
  readonly truncateLog: () => boolean;
};

/** Commits in the event loop, which stands still meanwhile: for commands, and for databases that are only read. */
export function createInlineWriter({ commitLists, beforeCommit, onCommit, truncateLog }: InlineWriterParts): Writer {
  let waiting: WaitingList[] = [];
  let next: NodeJS.Timeout | NodeJS.Immediate | null = null;

  const commitNext = (): void => {
    next = null;
    beforeCommit();
    let lists = waiting.slice(0, LISTS_PER_COMMIT);
    const answers: (() => void)[] = [];
    try {
      const { outcomes, commitMs } = commitLists(lists);
      for (const [at, outcome] of outcomes.entries()) {
        const list = lists[at];
        answers.push(() => {
          if (!outcome.ok) return list?.reject(outcome.error);
          list?.resolve(outcome.results);
          list?.onWritten?.({ statementsMs: outcome.statementsMs, commitMs });
        });
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
