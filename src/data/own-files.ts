/** The files that a data folder cannot lose. Commands that write a file for people refuse to replace one of them. */
import { type BigIntStats, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Config } from '../config/config.ts';
import { masterKeyPath } from './data.ts';
import { databasePath } from './data-folder.ts';

/** The file of the data folder that `path` names, also through links or in another spelling. Null: it is another file. */
export function ownFile(config: Config, path: string): string | null {
  const database = databasePath(config);
  // SQLite creates those of the database when it needs them: a file with such a name would then be taken for one of its own.
  const own = [database, `${database}-wal`, `${database}-shm`, `${database}-journal`, masterKeyPath(config)];
  return own.find((one) => isSame(one, path)) ?? null;
}

function isSame(one: string, other: string): boolean {
  const [first, second] = [statOf(one), statOf(other)];
  if (first !== null && second !== null) return first.dev === second.dev && first.ino === second.ino;
  return placeOf(one) === placeOf(other);
}

function statOf(path: string): BigIntStats | null {
  try {
    return statSync(path, { bigint: true });
  } catch {
    return null;
  }
}

/** A file that does not exist has no other names, but its folder may. */
function placeOf(path: string): string {
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return path;
  }
}
