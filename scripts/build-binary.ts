/**
 * `npm run build:binary [-- --measure] [-- <file>]`: dist/sallyport-<platform>-<arch>, or the file named: the whole program in one
 * file that needs nothing else on the machine. A bundle of the sources (esbuild) becomes a single executable application of the
 * Node that the packages bring.
 */

import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  ASSETS,
  type AssetName,
  assetFile,
  THREAD_PROGRAMS,
  type ThreadProgram,
  threadAsset,
} from '../src/kernel/assets.ts';
import { ADDON_ASSET } from './binary/addon.ts';
import { bundle } from './binary/bundle.ts';
import { compileProgram } from './binary/compile.ts';
import { measureBinary } from './binary/measure.ts';
import { COMPILED_ASSET, PROGRAM_ASSET, WRAPPER } from './binary/program.ts';

const SUPPORTED = ['linux-x64', 'linux-arm64'];
/** What Node looks for in its own file; the second changes from unset to set where an application is inside. */
const SEGMENT = 'NODE_SEA_BLOB';
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/**
 * The binary is for small machines. V8 would let garbage lie until there is as much as the machine has room for, and then some more
 * before each sweep: with 100,000 events of 1 KiB queued and delivered in batches of 100 the process grew to 400 MB, with the bounds
 * of the two halves of its heap to 230; a record then took 26 µs of the processors instead of 19. The mode takes 20 MB off what it is
 * now. For what threads made last boot.ts has another bound.
 */
const MEMORY_FLAGS = ['--memory-saver-mode', '--max-semi-space-size=4', '--heap-growing-percent=50'];

const THREADS = Object.keys(THREAD_PROGRAMS) as ThreadProgram[];

const root = resolve(import.meta.dirname, '..');
const packages = join(root, 'node_modules');
const platform = `${process.platform}-${process.arch}`;
const node = join(packages, `node-${platform}`, 'bin', 'node');

const { values, positionals } = parseArgs({ options: { measure: { type: 'boolean' } }, allowPositionals: true });
const target = resolve(positionals[0] ?? join(root, 'dist', `sallyport-${platform}`));
if (!SUPPORTED.includes(platform)) {
  throw new Error(`a binary can be made on ${SUPPORTED.join(' and ')}, not on ${platform}`);
}
const folder = mkdtempSync(join(tmpdir(), 'build-binary-'));
try {
  await bundle(join(root, 'src', 'main.ts'), join(folder, PROGRAM_ASSET), WRAPPER);
  for (const name of THREADS) {
    await bundle(join(root, 'src', `${THREAD_PROGRAMS[name]}.ts`), join(folder, threadAsset(name)));
  }
  await bundle(join(root, 'scripts', 'binary', 'boot.ts'), join(folder, 'boot.js'));
  await compileProgram({ node, flags: MEMORY_FLAGS, folder, assets: assetsOf(folder) });
  makeApplication(folder, join(folder, 'application'));
  mkdirSync(dirname(target), { recursive: true });
  putTogether(join(folder, 'application'), `${target}.${process.pid}.new`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(`${target}\n`);
if (values.measure === true) {
  for await (const { line, isKept } of measureBinary(target)) {
    process.stdout.write(`${line}\n`);
    if (!isKept) process.exitCode = 1;
  }
}

/** Where each asset is while the binary is put together. */
function assetsOf(folder: string): Record<string, string> {
  const assets = Object.keys(ASSETS).map((name) => [name, pathOf(assetFile(name as AssetName))]);
  const addon = join(packages, 'better-sqlite3', 'prebuilds', `${platform}.node`);
  const made = [PROGRAM_ASSET, COMPILED_ASSET, ...THREADS.map(threadAsset)].map((name) => [name, join(folder, name)]);
  return { ...Object.fromEntries(assets), ...Object.fromEntries(made), [ADDON_ASSET]: addon };
}

/** The program with its assets, as Node wants it. */
function makeApplication(folder: string, output: string): void {
  const configuration = {
    main: join(folder, 'boot.js'),
    output,
    disableExperimentalSEAWarning: true,
    // NODE_OPTIONS is for whoever develops with Node.
    execArgvExtension: 'none',
    execArgv: MEMORY_FLAGS,
    assets: assetsOf(folder),
  };
  const file = `${output}.json`;
  writeFileSync(file, JSON.stringify(configuration));
  run(node, ['--experimental-sea-config', file]);
}

function pathOf(file: URL | string): string {
  return typeof file === 'string' ? file : fileURLToPath(file);
}

function putTogether(application: string, unfinished: string): void {
  const copy = `${unfinished}.copy`;
  try {
    copyFileSync(node, unfinished);
    chmodSync(unfinished, 0o755);
    // Before the application goes in: afterwards strip would damage it.
    run('strip', ['--strip-all', unfinished]);
    const inject = join(packages, 'postject', 'dist', 'cli.js');
    run(process.execPath, [inject, unfinished, SEGMENT, application, '--sentinel-fuse', FUSE]);
    // Of a file that was put together the system keeps larger pieces in memory, all of which count as the process's: up to 20 MB more
    // than of a copy.
    copyFileSync(unfinished, copy);
    renameSync(copy, target);
  } finally {
    for (const file of [unfinished, copy]) rmSync(file, { force: true });
  }
}

/** What the program says is shown where it fails. */
function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, { stdio: 'pipe' });
}
