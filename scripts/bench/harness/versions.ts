/** The versions of the contenders, by their names in the report. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import BetterSqlite3 from 'better-sqlite3';
import { VERSION } from '../../../src/kernel/version.ts';
import { findProgram } from './processes.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const bench = fileURLToPath(new URL('..', import.meta.url));

const OWN = ['better-sqlite3', 'undici', 'openpgp'];
const PEERS = [
  'oidc-provider',
  '@node-oauth/oauth2-server',
  'express',
  'bullmq',
  'ioredis',
  'pg-boss',
  'graphile-worker',
];
/** How a program says its version, and where in what it says. */
const PROGRAMS: Readonly<Record<string, readonly [flag: string, pattern: RegExp, name: string]>> = {
  wrk: ['-v', /wrk (\S+)/, 'wrk'],
  'redis-server': ['--version', /v=(\S+)/, 'Redis'],
  postgres: ['--version', /(\d[\d.]*)/, 'PostgreSQL'],
  gpg: ['--version', /(\d[\d.]+)/, 'GnuPG'],
};

/** `programs` that are there, and the peers' packages if they took part. */
export function versionsOf(programs: readonly string[], withPeers: boolean): Record<string, string> {
  return {
    Sallyport: VERSION,
    Node: process.versions.node,
    SQLite: sqliteVersion(),
    ...Object.fromEntries(OWN.map((name) => [name, packageVersion(root, name)])),
    ...(withPeers ? Object.fromEntries(PEERS.map((name) => [name, packageVersion(bench, name)])) : {}),
    ...Object.fromEntries(programs.flatMap(programVersion)),
  };
}

function sqliteVersion(): string {
  const database = new BetterSqlite3(':memory:');
  const version = String(database.prepare('SELECT sqlite_version()').pluck().get());
  database.close();
  return version;
}

function packageVersion(folder: string, name: string): string {
  const path = join(folder, 'node_modules', name, 'package.json');
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}

function programVersion(program: string): [string, string][] {
  const asked = PROGRAMS[program];
  const path = findProgram(program);
  if (asked === undefined || path === null) return [];
  const [flag, pattern, name] = asked;
  // wrk says its version, and then complains that it has nothing to do.
  const said = execFileSync('sh', ['-c', `"${path}" ${flag} 2>&1 || true`], { encoding: 'utf8' });
  const version = pattern.exec(said)?.[1];
  return version === undefined ? [] : [[name, version]];
}
