/**
 * Checks once a second whether the database's files are still in their places, so that the log reports a problem before the next write. The
 * commit itself refuses such a write.
 */

import type { Log } from '../kernel/log.ts';
import type { DatabaseUnavailable } from '../store/port/errors.ts';

/** How often a server checks that the files are in their places. */
const FILES_WATCH_MS = 1000;

export const LOG_SAVED = 'everything acknowledged is in the database file now; restart Sallyport';
const FILES_BACK = 'the files of the database are in their places again';

type Watched = {
  /** Null if the database has no files of its own on this machine. */
  readonly files: {
    problem(): DatabaseUnavailable | null;
    saveLog(): Promise<boolean>;
  } | null;
  readonly dataDir: string;
  readonly log: Log;
};

/** Returns a function that stops the checks. */
export function watchStorage({ files, dataDir, log }: Watched): () => void {
  if (files === null) return () => {};
  let logged: DatabaseUnavailable['reason'] | null = null;
  let isSaving = false;
  let isSaved = false;
  const look = async (): Promise<void> => {
    const problem = files.problem();
    const reason = problem?.reason ?? null;
    if (reason !== logged) {
      if (problem === null) log.info({ dataDir }, FILES_BACK);
      else log.error({ dataDir, reason }, problem.message);
      logged = reason;
    }
    if (problem === null || isSaving || isSaved) return;
    isSaving = true;
    try {
      isSaved = await files.saveLog();
    } finally {
      isSaving = false;
    }
    if (isSaved) log.warn({ dataDir }, LOG_SAVED);
  };
  const watch = setInterval(
    () => void look().catch((err: unknown) => log.error({ err }, 'the log of the database could not be saved')),
    FILES_WATCH_MS,
  );
  watch.unref();
  return () => clearInterval(watch);
}
