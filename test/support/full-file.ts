/**
 * A program whose file size is limited by the shell. Its arguments are the path and the limit in bytes. It first fills the database file
 * up to 4 MiB below the limit, and writes with threads until the log can no longer be copied into that file. The log itself begins empty,
 * so it stays far below the limit however late it is copied. Then the program continues to write, and prints the result as JSON.
 */
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';

export type FullFile = {
  readonly faults: readonly string[];
  readonly commits: number;
  readonly emptied: boolean;
  readonly later: number;
};

const [path = '', limitBytes = ''] = process.argv.slice(2);
await fill(path, Number(limitBytes) - 4 * 1024 ** 2);

async function fill(path: string, filledBytes: number): Promise<void> {
  const faults: string[] = [];
  const note = ({ message, cause }: Error): void => void faults.push(`${message}: ${(cause as Error)?.message}`);
  const db = openSqlite(path, { writerThread: { onEnd: note, onCheckpointFailure: note } });
  db.connection.exec('CREATE TABLE kept (value TEXT) STRICT');
  const insert = (length: number): Promise<unknown> =>
    db.commit([{ sql: 'INSERT INTO kept VALUES (@value)', params: { value: 'x'.repeat(length) } }]);
  await insert(filledBytes);
  if (!(await db.forgetOverwritten())) throw new Error('the log was not emptied');
  let commits = 0;
  for (; faults.length === 0 && commits < 2000; commits += 1) await insert(100_000);
  const emptied = await db.forgetOverwritten();
  // Enough writes for another checkpoint, which also fails.
  let later = 0;
  for (; later < 60; later += 1) await insert(100_000);
  const told: FullFile = { faults, commits, emptied, later };
  process.stdout.write(JSON.stringify(told), () => process.exit(0));
}
