/**
 * Checks that the files of an open database are still at their paths. SQLite keeps writing to files that were deleted or moved: commits
 * to such files are lost when the process ends, and no other process can read them.
 */
import { statSync } from 'node:fs';
import { FILES_CHECK_MS } from '../../../kernel/limits/database.ts';
import { DatabaseUnavailable } from '../../errors.ts';

/** Device and inode of the database's file, of its log and of the log's index; null for a missing file. */
export type FileIdentities = readonly (string | null)[];

export type FileCheck = {
  /** Checks the files before a commit if the last check is too old or failed. Throws `DatabaseUnavailable`. */
  before(): void;
  /** Checks the files after a commit, before anybody hears that it is durable. Throws `DatabaseUnavailable`. */
  after(): void;
};

const ENDINGS = ['', '-wal', '-shm'] as const;

export function identitiesOf(path: string): FileIdentities {
  return ENDINGS.map((ending) => identityOf(path + ending));
}

export function identityOf(path: string): string | null {
  const found = stat(path);
  return found === null ? null : `${found.dev}:${found.ino}`;
}

export type FilesProblem = 'missing' | 'replaced';

/** Why a database that was opened with these files cannot be written; null if they are at their paths. */
export function filesProblem(path: string, opened: FileIdentities): FilesProblem | null {
  const now = identitiesOf(path);
  if (now.every((identity, at) => identity === opened[at])) return null;
  return now.some((identity, at) => identity !== null && identity !== opened[at]) ? 'replaced' : 'missing';
}

/** Whether the log was deleted and no other process can have begun another one in its place. */
export function isLogAloneMissing(path: string, opened: FileIdentities): boolean {
  const [database, log, index] = identitiesOf(path);
  return database === opened[0] && log === null && (index === null || index === opened[2]);
}

/** Costs three `stat` calls a commit, 14 µs together, beside commits of 2 to 5 ms that many requests share. */
export function createFileCheck(path: string, opened: FileIdentities): FileCheck {
  let checkedAt = Number.NEGATIVE_INFINITY;
  const check = (): void => {
    checkedAt = Number.NEGATIVE_INFINITY;
    const problem = filesProblem(path, opened);
    if (problem !== null) throw new DatabaseUnavailable(problem);
    checkedAt = performance.now();
  };
  return {
    before: () => {
      if (performance.now() - checkedAt > FILES_CHECK_MS) check();
    },
    after: check,
  };
}

/** Null for a missing file, and for a file in a folder that this process may not enter any more. */
function stat(path: string): { readonly dev: bigint; readonly ino: bigint } | null {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}
