/**
 * `npm run build:binary [-- --measure] [-- <file>]` builds dist/sallyport-<platform>-<arch>, or the given file: the whole program in one
 * file. It bundles the sources (esbuild) into a single executable application of the project's Node.
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
  documentFiles,
  RECEIVER_PACKAGE,
  THREAD_PROGRAMS,
  type ThreadProgram,
  threadAsset,
} from '../src/kernel/assets.ts';
import { ADDON_ASSET } from './binary/addon.ts';
import { bundle } from './binary/bundle.ts';
import { compileProgram } from './binary/compile.ts';
import { measureBinary } from './binary/measure.ts';
import { COMPILED_ASSET, PROGRAM_ASSET, WRAPPER } from './binary/program.ts';
import { packReceiver } from './build/package.ts';

const SUPPORTED = ['linux-x64', 'linux-arm64'];
/** Node looks for these in its own file. The fuse is set if the file contains an application. */
const SEGMENT = 'NODE_SEA_BLOB';
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/**
 * The binary is for small machines. By default V8 sizes its heap by the memory of the machine: with 100,000 events of 1 KiB queued and
 * delivered in batches of 100, the process grew to 400 MB. With these bounds of the young and old generation it grew to 230 MB, and a
 * record took 26 µs of the processors instead of 19. The memory-saver mode saves another 20 MB. boot.ts has another bound for threads.
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
  throw new Error(`the binary can be built on ${SUPPORTED.join(' and ')}, not on ${platform}`);
}
const folder = mkdtempSync(join(tmpdir(), 'build-binary-'));
try {
  packReceiver(folder);
  await bundle(join(root, 'src', 'main.ts'), join(folder, PROGRAM_ASSET), WRAPPER);
  for (const name of THREADS) {
    await bundle(join(root, 'src', `${THREAD_PROGRAMS[name]}.ts`), join(folder, threadAsset(name)));
  }
  await bundle(join(root, 'scripts', 'binary', 'boot.ts'), join(folder, 'boot.js'));
  await compileProgram({ node, flags: MEMORY_FLAGS, folder, assets: assetsOf(folder) });
  makeApplication(folder, join(folder, 'application'));
  mkdirSync(dirname(target), { recursive: true });
  injectApplication(join(folder, 'application'), `${target}.${process.pid}.new`);
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

/** The file of each asset during the build. */
function assetsOf(folder: string): Record<string, string> {
  const assets = Object.keys(ASSETS).map((name) => [name, pathOf(assetFile(name as AssetName))]);
  const addon = join(packages, 'better-sqlite3', 'prebuilds', `${platform}.node`);
  const made = [PROGRAM_ASSET, COMPILED_ASSET, ...THREADS.map(threadAsset)].map((name) => [name, join(folder, name)]);
  const documents = documentFiles().map((name) => [`docs/${name}`, join(root, 'docs', name)]);
  const all = Object.fromEntries([...assets, ...made, ...documents]) as Record<string, string>;
  return { ...all, [ADDON_ASSET]: addon, [RECEIVER_PACKAGE]: join(folder, RECEIVER_PACKAGE) };
}

/** Makes the blob of the program and its assets for Node's single executable application. */
function makeApplication(folder: string, output: string): void {
  const configuration = {
    main: join(folder, 'boot.js'),
    output,
    disableExperimentalSEAWarning: true,
    // Ignores NODE_OPTIONS, which may be set for other programs.
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

function injectApplication(application: string, unfinished: string): void {
  const copy = `${unfinished}.copy`;
  try {
    copyFileSync(node, unfinished);
    chmodSync(unfinished, 0o755);
    // Before the application is injected: strip would damage it.
    run('strip', ['--strip-all', unfinished]);
    const inject = join(packages, 'postject', 'dist', 'cli.js');
    run(process.execPath, [inject, unfinished, SEGMENT, application, '--sentinel-fuse', FUSE]);
    // A copy, because the page cache of a file that was just modified has larger pages, which all count as memory of the process: up to
    // 20 MB more.
    copyFileSync(unfinished, copy);
    renameSync(copy, target);
  } finally {
    for (const file of [unfinished, copy]) rmSync(file, { force: true });
  }
}

/** Shows the output of the program only if it fails. */
function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, { stdio: 'pipe' });
}
