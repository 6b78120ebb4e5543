/**
 * `npm run build` makes the npm package `sallyport`, with the service to embed and the command line: its folder, dist/sallyport, and the
 * file to publish or install, dist/sallyport-<version>.tgz. With an argument it makes that folder only.
 * Its package.json is derived from the project's: it exports the compiled code, and omits what only a checkout needs, such as the
 * project's Node.
 */
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ASSETS, type AssetName, assetFile, THREAD_PROGRAMS } from '../src/kernel/assets.ts';
import {
  compile,
  emptyFolder,
  entry,
  PUBLISHED,
  pack,
  packReceiver,
  root,
  unlinkMissing,
  writeJson,
} from './build/package.ts';

type Project = {
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
};

/** Next to schema.sql and one level deep, like src/, so that src/kernel/assets.ts finds the files that it reads. */
const CODE = 'lib';
const MAIN = 'main';
/** Packages of types that this package's declarations import. */
const TYPES = '@types/better-sqlite3';
/** Only who uses PostgreSQL installs it. */
const OPTIONAL = 'pg';

const folder = resolve(process.argv[2] ?? join(root, 'dist', 'sallyport'));
const project = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Project;
const sources = Object.values(project.exports).map((path) => path.replace('./src/', ''));

emptyFolder(folder);
mkdirSync(join(folder, CODE));
// Listed here because nothing imports the programs of threads.
const threads = Object.values(THREAD_PROGRAMS).map((path) => `${path}.ts`);
compile([...sources, `${MAIN}.ts`, ...threads], join(folder, CODE), 'es2024');
makeCommand(join(folder, CODE, `${MAIN}.js`));
const assets = Object.keys(ASSETS).flatMap(ownFile);
for (const path of [...assets, 'LICENSE', 'CHANGELOG.md', 'SECURITY.md']) copy(path);
writeFileSync(join(folder, 'README.md'), packageReadme());
cpSync(join(root, 'docs'), join(folder, 'docs'), { recursive: true });
unlinkMissing(folder);
// The portal serves it.
mkdirSync(join(folder, 'dist'));
packReceiver(join(folder, 'dist'));
const { name, version, description, license, type, keywords, engines } = project;
const { [OPTIONAL]: optional = '', ...dependencies } = project.dependencies;
writeJson(join(folder, 'package.json'), {
  name,
  version,
  description,
  license,
  type,
  keywords,
  exports: {
    ...Object.fromEntries(sources.map((path, at) => [Object.keys(project.exports)[at], published(path)])),
    './package.json': './package.json',
  },
  bin: { sallyport: `./${CODE}/${MAIN}.js` },
  files: [CODE, ...assets.filter((path) => !path.startsWith('docs/')), 'docs', 'dist', 'CHANGELOG.md', 'SECURITY.md'],
  ...PUBLISHED,
  engines,
  dependencies: { ...dependencies, [TYPES]: project.devDependencies[TYPES] },
  // A minor release may change what `store/postgres/driver/pg-internals.ts` uses.
  peerDependencies: { [OPTIONAL]: `~${optional}` },
  peerDependenciesMeta: { [OPTIONAL]: { optional: true } },
});
process.stdout.write(`${relative(process.cwd(), process.argv[2] === undefined ? pack(folder) : folder) || '.'}\n`);

/** The file of an asset, or null if it comes with a dependency. */
function ownFile(name: string): string[] {
  const file = assetFile(name as AssetName);
  return file instanceof URL ? [relative(root, fileURLToPath(file))] : [];
}

function published(source: string): ReturnType<typeof entry> {
  return entry(`./${CODE}/${source.replace(/\.ts$/, '')}`);
}

function makeCommand(file: string): void {
  writeFileSync(file, `#!/usr/bin/env node\n${readFileSync(file, 'utf8')}`, { mode: 0o755 });
}

/** The package's README includes the page about settings. */
function packageReadme(): string {
  const page = readFileSync(join(root, 'docs', 'configuration.md'), 'utf8');
  const configuration = page.replace('# ', '## ').replaceAll('](', '](docs/');
  const text = readFileSync(join(root, 'scripts', 'build', 'sallyport.md'), 'utf8');
  return text.replace('{{Configuration}}', () => configuration.trimEnd());
}

function copy(path: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  copyFileSync(join(root, path), join(folder, path));
}
