/**
 * `npm run build:binary [-- --measure] [-- <file>]`: dist/sallyport-<platform>-<arch>, or the file named: the whole program in one
 * file that needs nothing else on the machine. A bundle of the sources (esbuild) becomes a single executable application of the
 * Node that the packages bring.
 */

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build, type Plugin } from 'esbuild';
import { ASSETS, type AssetName, assetFile, THREAD_PROGRAM } from '../src/assets.ts';
import { ADDON_ASSET } from './binary/addon.ts';
import { measureBinary } from './binary/measure.ts';

const SUPPORTED = ['linux-x64', 'linux-arm64'];
/** What Node looks for in its own file; the second changes from unset to set where an application is inside. */
const SEGMENT = 'NODE_SEA_BLOB';
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/**
 * The binary is for small machines. V8 would let garbage lie until there is as much as the machine has room for, and then some more
 * before each sweep: with 30,000 events of 1 KiB queued and delivered the process grew to 410 MB, with these to 230.
 */
const MEMORY_FLAGS = ['--max-semi-space-size=4', '--heap-growing-percent=20'];

const root = resolve(import.meta.dirname, '..');
const packages = join(root, 'node_modules');
const platform = `${process.platform}-${process.arch}`;
const node = join(packages, `node-${platform}`, 'bin', 'node');

/** In place of better-sqlite3's search for its addon among files. */
const addonFromAsset: Plugin = {
  name: 'addon-from-asset',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\/binding$/ }, ({ importer }) =>
      importer.includes('/better-sqlite3/') ? { path: join(root, 'scripts', 'binary', 'addon.ts') } : undefined,
    );
  },
};

const { values, positionals } = parseArgs({ options: { measure: { type: 'boolean' } }, allowPositionals: true });
const target = resolve(positionals[0] ?? join(root, 'dist', `sallyport-${platform}`));
if (!SUPPORTED.includes(platform)) {
  throw new Error(`a binary can be made on ${SUPPORTED.join(' and ')}, not on ${platform}`);
}
const folder = mkdtempSync(join(tmpdir(), 'build-binary-'));
try {
  await bundle('main.ts', join(folder, 'main.cjs'));
  await bundle(join('store', 'sqlite-thread.ts'), join(folder, THREAD_PROGRAM));
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

async function bundle(entry: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [join(root, 'src', entry)],
    outfile,
    bundle: true,
    minify: true,
    // Stack traces in the log name functions.
    keepNames: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    // What is imported when it is needed is a part of the bundle that runs when it is needed; Node's own modules likewise.
    supported: { 'dynamic-import': false },
    plugins: [addonFromAsset],
    logLevel: 'warning',
    // src/assets.ts reads it where the program is not a binary, and nothing else does.
    define: { 'import.meta.url': '"file:///"' },
  });
  // Pages and patterns are left as they are written. V8 keeps all of a text that has one such character in twice the memory: 3 MB.
  const escaped = readFileSync(outfile, 'utf8').replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  writeFileSync(outfile, escaped);
}

/** The bundle with its assets, as Node wants it. */
function makeApplication(bundles: string, output: string): void {
  const assets = Object.keys(ASSETS).map((name) => [name, pathOf(assetFile(name as AssetName))]);
  const addon = join(packages, 'better-sqlite3', 'prebuilds', `${platform}.node`);
  const configuration = {
    main: join(bundles, 'main.cjs'),
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    // NODE_OPTIONS is for whoever develops with Node.
    execArgvExtension: 'none',
    execArgv: MEMORY_FLAGS,
    assets: {
      ...Object.fromEntries(assets),
      [ADDON_ASSET]: addon,
      [THREAD_PROGRAM]: join(bundles, THREAD_PROGRAM),
    },
  };
  const file = `${output}.json`;
  writeFileSync(file, JSON.stringify(configuration));
  // What it compiles beforehand is good for a program with the same flags alone.
  run(node, [...MEMORY_FLAGS, '--experimental-sea-config', file]);
}

function pathOf(file: URL | string): string {
  return typeof file === 'string' ? file : fileURLToPath(file);
}

function putTogether(application: string, unfinished: string): void {
  try {
    copyFileSync(node, unfinished);
    chmodSync(unfinished, 0o755);
    // Before the application goes in: afterwards strip would damage it.
    run('strip', ['--strip-all', unfinished]);
    const inject = join(packages, 'postject', 'dist', 'cli.js');
    run(process.execPath, [inject, unfinished, SEGMENT, application, '--sentinel-fuse', FUSE]);
    renameSync(unfinished, target);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

/** What the program says is shown where it fails. */
function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, { stdio: 'pipe' });
}
