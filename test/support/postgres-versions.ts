/** Servers of other versions of PostgreSQL than the installed one. */
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import type { TestContext } from 'node:test';
import { postgresPackage } from '../../scripts/runtimes/programs.ts';
import { cleanUp } from './cleanup.ts';

type Link = { readonly source: string; readonly target: string };

/**
 * The folder of the programs of a version. It is a copy, so that the user who runs the server can read it wherever the project is. It has
 * `initdb`, `pg_ctl` and `postgres` only.
 */
export function programsOfVersion(t: TestContext, version: 14 | 18): string {
  const from = postgresPackage(version);
  const folder = mkdtempSync(join(tmpdir(), `postgres-${version}-`));
  cleanUp(t, () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  cpSync(join(from, 'native'), join(folder, 'native'), { recursive: true });
  const links = JSON.parse(readFileSync(join(from, 'native', 'pg-symlinks.json'), 'utf8')) as readonly Link[];
  // `source` is the file, and `target` the link to it.
  for (const { source, target } of links) {
    symlinkSync(relative(dirname(target), source), join(folder, target));
  }
  return join(folder, 'native', 'bin');
}
