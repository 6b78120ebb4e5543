/**
 * `npm run build:receiver` makes the npm package `sallyport-receiver` from src/receiver and what it imports: its folder,
 * dist/sallyport-receiver, and the file to publish or install, dist/sallyport-receiver-<version>.tgz. With an argument it makes that folder
 * only.
 */
import { copyFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { VERSION } from '../src/kernel/version.ts';
import { compile, emptyFolder, entry, PUBLISHED, pack, root, unlinkMissing, writeJson } from './build/package.ts';

/** The edition of Node 20, which many customers still use. */
const EDITION = 'es2023';

const folder = resolve(process.argv[2] ?? join(root, 'dist', 'sallyport-receiver'));

emptyFolder(folder);
compile(['receiver/index.ts', 'receiver/pgp.ts'], folder, EDITION);
copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
writeFileSync(join(folder, 'README.md'), readme());
cpSync(join(root, 'test', 'vectors'), join(folder, 'vectors'), { recursive: true });
unlinkMissing(folder);
writeJson(join(folder, 'package.json'), {
  name: 'sallyport-receiver',
  version: VERSION,
  description:
    'Receives webhooks of Sallyport: verifies, decrypts, decompresses, drops duplicates, and hands over records.',
  license: 'MIT',
  type: 'module',
  sideEffects: false,
  exports: {
    '.': entry('./receiver/index'),
    './pgp': entry('./receiver/pgp'),
    './vectors/*.json': './vectors/*.json',
    './package.json': './package.json',
  },
  ...PUBLISHED,
  engines: { node: '>=20' },
  peerDependencies: { openpgp: '>=6' },
  peerDependenciesMeta: { openpgp: { optional: true } },
  keywords: ['sallyport', 'webhooks', 'hmac', 'signature', 'receiver'],
});
process.stdout.write(`${relative(process.cwd(), process.argv[2] === undefined ? pack(folder) : folder) || '.'}\n`);

/** The pages about the package, as one. */
function readme(): string {
  const pages = ['how-to/receive-in-javascript.md', 'how-to/decrypt-deliveries.md', 'receiver-reference.md'];
  const [first = '', ...others] = pages.map((page) => readFileSync(join(root, 'docs', page), 'utf8'));
  return [first, ...others.map((text) => text.replaceAll(/^#+ /gm, '#$&'))].join('\n');
}
