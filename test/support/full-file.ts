/**
 * A program of its own, whose files may not grow beyond a limit that a shell has set: writes with threads until the log cannot be
 * copied into the database's file any more, then goes on. Says as JSON what came of it.
 */
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';

/** `writtenHere`: rows that the event loop had to write, not the thread. */
export type FullFile = {
  readonly faults: readonly string[];
  readonly commits: number;
  readonly emptied: boolean;
  readonly later: number;
  readonly writtenHere: number;
};

const path = process.argv[2];
if (path !== undefined) await fill(path);

async function fill(path: string): Promise<void> {
  const db = openSqlite(path);
  db.connection.exec('CREATE TABLE kept (value TEXT) STRICT');
  const faults: string[] = [];
  await db.startThreads(({ message, cause }) => void faults.push(`${message}: ${(cause as Error)?.message}`));
  const writtenBefore = changes(db);
  const insert = (): Promise<unknown> =>
    db.commit([{ sql: 'INSERT INTO kept VALUES (@value)', params: { value: 'x'.repeat(100_000) } }]);
  let commits = 0;
  for (; faults.length === 0 && commits < 2000; commits += 1) await insert();
  const emptied = await db.forgetOverwritten();
  // So much that it is tried again, and fails again.
  let later = 0;
  for (; later < 60; later += 1) await insert();
  const told: FullFile = { faults, commits, emptied, later, writtenHere: changes(db) - writtenBefore };
  process.stdout.write(JSON.stringify(told), () => process.exit(0));
}

function changes({ connection }: ReturnType<typeof openSqlite>): number {
  return Number(connection.prepare('SELECT total_changes()').pluck().get());
}
