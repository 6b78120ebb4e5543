/**
 * A program whose file size is limited by the shell. It writes with threads until the log can no longer be copied into the database file,
 * continues to write, and prints the result as JSON.
 */
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';

export type FullFile = {
  readonly faults: readonly string[];
  readonly commits: number;
  readonly emptied: boolean;
  readonly later: number;
};

const path = process.argv[2];
if (path !== undefined) await fill(path);

async function fill(path: string): Promise<void> {
  const faults: string[] = [];
  const note = ({ message, cause }: Error): void => void faults.push(`${message}: ${(cause as Error)?.message}`);
  const db = openSqlite(path, { writerThread: { onEnd: note, onCheckpointFailure: note } });
  db.connection.exec('CREATE TABLE kept (value TEXT) STRICT');
  const insert = (): Promise<unknown> =>
    db.commit([{ sql: 'INSERT INTO kept VALUES (@value)', params: { value: 'x'.repeat(100_000) } }]);
  let commits = 0;
  for (; faults.length === 0 && commits < 2000; commits += 1) await insert();
  const emptied = await db.forgetOverwritten();
  // Enough writes for another checkpoint, which also fails.
  let later = 0;
  for (; later < 60; later += 1) await insert();
  const told: FullFile = { faults, commits, emptied, later };
  process.stdout.write(JSON.stringify(told), () => process.exit(0));
}
