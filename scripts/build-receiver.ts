/**
 * `npm run build:receiver`: makes the npm package `sallyport-receiver` of src/receiver and what it uses of src/wire, in
 * dist/receiver or the folder that is named. The compiler makes one file of each source, so that a reader finds here what runs
 * there.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { VERSION } from '../src/version.ts';

const root = resolve(import.meta.dirname, '..');
const folder = resolve(process.argv[2] ?? join(root, 'dist', 'receiver'));

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
compile();
copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
copyFileSync(join(root, 'docs', 'receive-webhooks.md'), join(folder, 'README.md'));
cpSync(join(root, 'test', 'vectors'), join(folder, 'vectors'), { recursive: true });
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(describePackage(), null, 2)}\n`);
process.stdout.write(`${relative(process.cwd(), folder) || '.'}\n`);

/** JavaScript and types, from the entries to all that they import. */
function compile(): void {
  const settings = join(folder, 'tsconfig.json');
  const entries = ['index.ts', 'pgp.ts'].map((file) => join(root, 'src', 'receiver', file));
  writeFileSync(
    settings,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        rootDir: join(root, 'src'),
        outDir: folder,
        typeRoots: [join(root, 'node_modules', '@types')],
      },
      files: entries,
      include: [],
    }),
  );
  execFileSync(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', settings], {
    stdio: 'inherit',
  });
  rmSync(settings);
  // The compiler gives imports the new ending in code alone.
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.d.ts')) continue;
    const file = join(folder, name);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'"));
  }
}

function describePackage(): Readonly<Record<string, unknown>> {
  const entry = (name: string): Record<string, string> => ({
    types: `./receiver/${name}.d.ts`,
    default: `./receiver/${name}.js`,
  });
  return {
    name: 'sallyport-receiver',
    version: VERSION,
    description:
      'Receives the webhooks that Sallyport sends: verifies, decrypts, unzips, drops repeats, hands over records.',
    license: 'MIT',
    type: 'module',
    sideEffects: false,
    exports: {
      '.': entry('index'),
      './pgp': entry('pgp'),
      './vectors/*.json': './vectors/*.json',
      './package.json': './package.json',
    },
    engines: { node: '>=20' },
    peerDependencies: { openpgp: '>=6' },
    peerDependenciesMeta: { openpgp: { optional: true } },
    keywords: ['sallyport', 'webhooks', 'hmac', 'signature', 'receiver'],
  };
}
