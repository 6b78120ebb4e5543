/** The requirements of the benchmarks: programs of the system, and the packages of the peers. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from './processes.ts';

/** Debian's packages, by the program that is looked for. */
const PACKAGES: Readonly<Record<string, string>> = {
  setpriv: 'util-linux',
  wrk: 'wrk',
  openssl: 'openssl',
  gpg: 'gnupg',
  'redis-server': 'redis-server',
  postgres: 'postgresql-15',
};

/** Those of the programs that are not on this machine. */
export function missingPrograms(programs: readonly string[]): string[] {
  return [...new Set(programs)].filter((name) => findProgram(name) === null);
}

/** How to get them. */
export function installationAdvice(missing: readonly string[]): string {
  const packages = missing.map((name) => PACKAGES[name] ?? name);
  return `${missing.join(', ')} missing: apt-get install --no-install-recommends ${packages.join(' ')}`;
}

const folder = fileURLToPath(new URL('..', import.meta.url));

/** Installs what this folder's lock file names, unless it is there. Throws when npm fails. */
export function installPeers(): void {
  if (isInstalled()) return;
  process.stderr.write('Installing the packages of scripts/bench/package-lock.json\n');
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, error } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 2, 2] });
  if (error !== undefined || status !== 0) throw new Error(`npm ci failed: ${error?.message ?? `status ${status}`}`);
}

function isInstalled(): boolean {
  const installed = join(folder, 'node_modules', '.package-lock.json');
  if (!existsSync(installed)) return false;
  const [wanted, present] = [join(folder, 'package-lock.json'), installed].map(readPackages);
  return Object.entries(wanted ?? {}).every(
    ([path, entry]) => path === '' || entry.optional === true || present?.[path]?.integrity === entry.integrity,
  );
}

type Packages = Readonly<Record<string, { readonly integrity?: string; readonly optional?: boolean }>>;

function readPackages(file: string): Packages {
  return (JSON.parse(readFileSync(file, 'utf8')) as { packages: Packages }).packages;
}
