/**
 * Finds the runtimes that tests run on, and other programs that npm brings. Installs the packages of scripts/runtimes when they are first
 * needed.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toolFolder } from '../../test/support/tool-folder.ts';

export const RUNTIMES = ['node22', 'node24', 'node26', 'deno'] as const;
export type Runtime = (typeof RUNTIMES)[number];

/** The newest Deno, and the oldest that the README supports. */
export const DENOS = ['deno', 'deno-oldest'] as const;

const platform = `${process.platform}-${process.arch}`;

/** The path and the version of a runtime. Throws if it does not exist for this system. */
export function programOf(runtime: Runtime | (typeof DENOS)[number]): {
  readonly path: string;
  readonly version: string;
} {
  const path = pathOf(runtime);
  if (!existsSync(path)) throw new Error(`no ${runtime} for ${platform}: ${path} is missing`);
  const [version = ''] = execFileSync(path, ['--version'], { encoding: 'utf8' }).split('\n');
  return { path, version: runtime.startsWith('deno') ? version : `node ${version.slice(1)}` };
}

/** The folder of the package of a PostgreSQL. Its `native` has the server, without the links of `pg-symlinks.json`. */
export function postgresPackage(version: 14 | 18): string {
  const path = join(packages(), `postgres${version}-${platform}`);
  if (!existsSync(path)) throw new Error(`no PostgreSQL ${version} for ${platform}: ${path} is missing`);
  return path;
}

/** The Nu Html Checker, a program for Java. */
export function htmlChecker(): string {
  return join(packages(), 'vnu-jar', 'build', 'dist', 'vnu.jar');
}

function pathOf(runtime: Parameters<typeof programOf>[0]): string {
  // If this script runs on Deno, use that Deno.
  if (runtime === 'deno' && 'deno' in process.versions) return process.execPath;
  // The project's Node, found as in scripts/install.mjs.
  if (runtime === 'node24') return join(import.meta.dirname, '../../node_modules', `node-${platform}`, 'bin', 'node');
  if (runtime === 'deno' || runtime === 'deno-oldest') return join(packages(), `${runtime}-${platform}`, 'deno');
  return join(packages(), `${runtime}-${platform}`, 'bin', 'node');
}

/** The `node_modules` with the packages of scripts/runtimes. The first call in a checkout installs them. */
function packages(): string {
  const folder = toolFolder('runtimes', join(import.meta.dirname, 'package-lock.json'), install);
  return join(folder, 'node_modules');
}

function install(fresh: string): void {
  process.stderr.write('Installing the runtimes of scripts/runtimes/package.json\n');
  for (const file of ['package.json', 'package-lock.json', '.npmrc'])
    copyFileSync(join(import.meta.dirname, file), join(fresh, file));
  const args = ['ci', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, error } = spawnSync('npm', args, { cwd: fresh, stdio: ['ignore', 2, 2] });
  if (error !== undefined || status !== 0) throw new Error(`npm ci failed: ${error?.message ?? `status ${status}`}`);
  // npm leaves optional packages out without an error if it cannot install them, and those for other systems.
  const lacking = neededPackages().filter((path) => !existsSync(join(fresh, path)));
  if (lacking.length > 0) throw new Error(`npm ci left out ${lacking.join(', ')}`);
}

type Package = { readonly os?: string | readonly string[]; readonly cpu?: string | readonly string[] };

/** The packages of the lock file for this system, as `node_modules/<name>`. */
function neededPackages(): string[] {
  const text = readFileSync(join(import.meta.dirname, 'package-lock.json'), 'utf8');
  const { packages: locked } = JSON.parse(text) as { packages: Record<string, Package> };
  return Object.entries(locked)
    .filter(([path, { os, cpu }]) => path !== '' && isFor(os, process.platform) && isFor(cpu, process.arch))
    .map(([path]) => path);
}

function isFor(systems: Package['os'], mine: string): boolean {
  return systems === undefined || [systems].flat().includes(mine);
}
