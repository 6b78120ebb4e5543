/** Builds and packs a package, and installs its tarball into an empty project, as users do. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMPILER } from '../../scripts/build/compiler.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const FLAGS = ['--disable-warning=ExperimentalWarning'];

export type Project = {
  readonly folder: string;
  /** Paths in the tarball. */
  readonly packed: readonly string[];
};

/** Builds the package with a script of scripts/ that takes the target folder as argument. Removed when the process ends. */
export function installPacked(script: string): Project {
  const parent = mkdtempSync(join(tmpdir(), 'packed-'));
  process.once('exit', () => rmSync(parent, { recursive: true, force: true }));
  const build = join(parent, 'build');
  const folder = join(parent, 'project');
  execFileSync(process.execPath, [...FLAGS, join(root, 'scripts', script), build], { stdio: 'pipe' });
  const [packed] = JSON.parse(npm(build, 'pack', '--json', '--pack-destination', parent)) as [
    { files: { path: string }[] },
  ];
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"type": "module", "private": true}');
  const { dependencies = {} } = JSON.parse(readFileSync(join(build, 'package.json'), 'utf8')) as {
    dependencies?: object;
  };
  if (Object.keys(dependencies).length > 0) copyDependencies(folder);
  const [tarball = ''] = readdirSync(parent).filter((name) => name.endsWith('.tgz'));
  // npm does not download installed packages, so this needs no registry and uses the versions of the lock file.
  npm(folder, 'install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', join(parent, tarball));
  return { folder, packed: packed.files.map(({ path }) => path).sort() };
}

type LockEntry = {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
  readonly bin?: Readonly<Record<string, string>>;
};

function copyDependencies(folder: string): void {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockEntry>;
  };
  for (const [path, { dev, devOptional, optional, bin = {} }] of Object.entries(lock.packages)) {
    const isForTypes = TYPES.includes(path);
    if (path === '' || (!isForTypes && (dev || devOptional || optional))) continue;
    cpSync(join(root, path), join(folder, path), { recursive: true });
    for (const name of Object.keys(bin)) {
      const link = join('node_modules', '.bin', name);
      cpSync(join(root, link), join(folder, link), { verbatimSymlinks: true });
    }
  }
}

/** The files that the types of the package `sallyport` refer to, directly or not. */
const TYPES = ['@types/better-sqlite3', '@types/node', 'undici-types'].map((name) => `node_modules/${name}`);

function npm(folder: string, ...args: readonly string[]): string {
  return execFileSync('npm', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The links on the pages of an installed package to files that it does not contain. */
export function deadLinks({ folder, packed }: Project, name: string): string[] {
  const pages = packed.filter((path) => path.endsWith('.md'));
  assert.ok(pages.includes('README.md'));
  return pages.flatMap((page) => {
    const text = readFileSync(join(folder, 'node_modules', name, page), 'utf8');
    const targets = Array.from(text.matchAll(/\]\((?!#|\w+:)([^)#]+)/g), ([, target = '']) =>
      join(dirname(page), target),
    );
    return targets
      .filter((target) => !packed.some((path) => path === target || path.startsWith(`${target.replace(/\/$/, '')}/`)))
      .map((target) => `${page}: ${target}`);
  });
}

/** Makes a package of this checkout available to the project, or with a scope all of its packages. */
export function borrow(project: Project, name: string): void {
  if (/^@[^/]+$/.test(name)) {
    // One by one: other tests of the process may have borrowed some of them.
    for (const one of readdirSync(join(root, 'node_modules', name))) borrow(project, `${name}/${one}`);
    return;
  }
  const { folder } = project;
  const link = join(folder, 'node_modules', name);
  mkdirSync(dirname(link), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(join(root, 'node_modules', name), link);
}

/** Runs a program in the project with this standard input. Returns its output. */
export function runFile({ folder }: Project, name: string, program: string, input = ''): string {
  writeFileSync(join(folder, name), program);
  return execFileSync(process.execPath, [...FLAGS, name], { cwd: folder, encoding: 'utf8', input });
}

/** The compiler's errors for files of the project, or an empty text. */
export function typeErrors({ folder }: Project, files: readonly string[], compilerOptions: object): string {
  const settings = {
    compilerOptions: {
      target: 'es2023',
      module: 'nodenext',
      strict: true,
      noEmit: true,
      types: [],
      ...compilerOptions,
    },
    include: files,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  try {
    return execFileSync(process.execPath, [...COMPILER.args, '-p', folder], {
      encoding: 'utf8',
      env: { ...process.env, ...COMPILER.env },
    });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
