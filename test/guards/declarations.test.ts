/** The declarations of each entry of the package, for programs that import Sallyport or its receiver. */
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { declarationsReport, emitDeclarations } from '../support/declarations.ts';
import { guardFolder } from '../support/guards.ts';
import { temporaryFolder } from '../support/store.ts';

it('every entry of the package declares the same', (t) => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { exports } = JSON.parse(text) as { readonly exports: Readonly<Record<string, string>> };
  const entries = Object.values(exports).map((path) => path.replace('./src/', ''));
  const folder = temporaryFolder(t);
  emitDeclarations(entries, folder);
  const reports = Object.entries(exports).map(([name, path]): [string, string] => [
    `sallyport${name.slice(1).replaceAll('/', '-')}.txt`,
    declarationsReport(folder, path.replace('./src/', '').replace(/\.ts$/, '.d.ts')),
  ]);
  guardFolder('declarations', new Map(reports));
});
