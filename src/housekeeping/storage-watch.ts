/**
 * Checks once a second whether the database's files are still in their places, so that the log reports a problem before the next write. The
 * commit itself refuses such a write.
 */
import { FILES_WATCH_MS } from '../kernel/limits/database.ts';
import type { Log } from '../observe/log.ts';
import { DatabaseUnavailable } from '../store/errors.ts';
import type { SqliteDatabase } from '../store/sqlite/driver/sqlite.ts';

export const LOG_SAVED = 'everything acknowledged is in the database file now; restart Sallyport';
const FILES_BACK = 'the files of the database are in their places again';

type Watched = {
  readonly db: Pick<SqliteDatabase, 'filesProblem' | 'saveLog'>;
  readonly dataDir: string;
  readonly log: Log;
};

/** Returns a function that stops the checks. */
export function watchStorage({ db, dataDir, log }: Watched): () => void {
  let told: ReturnType<typeof db.filesProblem> = null;
  let isSaving = false;
  let isSaved = false;
  const look = async (): Promise<void> => {
    const problem = db.filesProblem();
    if (problem !== told) {
      if (problem === null) log.info({ dataDir }, FILES_BACK);
      else log.error({ dataDir, reason: problem }, new DatabaseUnavailable(problem).message);
      told = problem;
    }
    if (problem === null || isSaving || isSaved) return;
    isSaving = true;
    try {
      isSaved = await db.saveLog();
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
