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
import { build, type Plugin } from 'esbuild';
import { ASSETS, type AssetName, assetFile } from '../src/assets.ts';
import { ADDON_ASSET } from './binary/addon.ts';
import { measureBinary } from './binary/measure.ts';

const SUPPORTED = ['linux-x64', 'linux-arm64'];
/** What Node looks for in its own file; the second changes from unset to set where an application is inside. */
const SEGMENT = 'NODE_SEA_BLOB';
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

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
  await bundle(join(folder, 'main.cjs'));
  makeApplication(join(folder, 'main.cjs'), join(folder, 'application'));
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

async function bundle(outfile: string): Promise<void> {
  await build({
    entryPoints: [join(root, 'src', 'main.ts')],
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
}

/** The bundle with its assets, as Node wants it. */
function makeApplication(main: string, output: string): void {
  const assets = Object.keys(ASSETS).map((name) => [name, pathOf(assetFile(name as AssetName))]);
  const addon = join(packages, 'better-sqlite3', 'prebuilds', `${platform}.node`);
  const configuration = {
    main,
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: true,
    // NODE_OPTIONS is for whoever develops with Node.
    execArgvExtension: 'none',
    assets: { ...Object.fromEntries(assets), [ADDON_ASSET]: addon },
  };
  const file = `${output}.json`;
  writeFileSync(file, JSON.stringify(configuration));
  run(node, ['--experimental-sea-config', file]);
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
