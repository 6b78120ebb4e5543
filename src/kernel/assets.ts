/** The files that the program reads at run time, and where they are. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VERSION } from './version.ts';

/** Each is a path from the root of the project, or `npm:` and a path in a package. The single binary contains them by name. */
export const ASSETS = {
  'schema.sql': 'schema.sql',
  'postgres/schema.sql': 'src/store/postgres/schema.sql',
  'openapi-examples.json': 'docs/examples/openapi.json',
  'portal/tokens.css': 'src/portal/assets/tokens.css',
  'portal/base.css': 'src/portal/assets/base.css',
  'portal/layout.css': 'src/portal/assets/layout.css',
  'portal/forms.css': 'src/portal/assets/forms.css',
  'portal/parts.css': 'src/portal/assets/parts.css',
  'portal/lists.css': 'src/portal/assets/lists.css',
  'portal/behaviour.js': 'src/portal/assets/behaviour.js',
  'portal/passkeys.js': 'src/portal/assets/passkeys.js',
  'portal/failures.js': 'src/portal/assets/failures.js',
  'portal/choices.js': 'src/portal/assets/choices.js',
  'portal/forms.js': 'src/portal/assets/forms.js',
  'portal/filter.js': 'src/portal/assets/filter.js',
  'portal/suggestions.js': 'src/portal/assets/suggestions.js',
  'portal/combobox.js': 'src/portal/assets/combobox.js',
  'portal/filter-rows.js': 'src/portal/assets/filter-rows.js',
  'portal/recent.js': 'src/portal/assets/recent.js',
  'portal/search.js': 'src/portal/assets/search.js',
  'portal/search.css': 'src/portal/assets/search.css',
  'portal/chart.js': 'src/portal/assets/chart.js',
  'portal/webhooks.css': 'src/portal/assets/webhooks.css',
  'portal/deliveries.css': 'src/portal/assets/deliveries.css',
  'portal/documentation.css': 'src/portal/assets/documentation.css',
  'portal/live.js': 'src/portal/assets/live.js',
  'portal/panel.js': 'src/portal/assets/panel.js',
  'portal/frame.js': 'src/portal/assets/frame.js',
  'portal/embed.js': 'src/portal/assets/embed.js',
  'portal/customers.css': 'src/portal/assets/customers.css',
  'hand-out': 'docs/hand-out.md',
  'receivers/javascript': 'docs/how-to/receive-in-javascript.md',
  'receivers/node': 'docs/receivers/receiver.mjs',
  'receivers/python': 'docs/receivers/receiver.py',
  'receivers/go': 'docs/receivers/receiver.go',
  'receivers/java': 'docs/receivers/Receiver.java',
  'receivers/csharp': 'docs/receivers/Receiver.cs',
  'receivers/php': 'docs/receivers/receiver.php',
  'receivers/ruby': 'docs/receivers/receiver.rb',
  'htmx.licence': 'npm:htmx.org/LICENSE',
  'htmx.js': 'npm:htmx.org/dist/htmx.min.js',
  'htmx-sse.js': 'npm:htmx.org/dist/ext/hx-sse.min.js',
  'uplot.licence': 'npm:uplot/LICENSE',
  'uplot.js': 'npm:uplot/dist/uPlot.iife.min.js',
  'uplot.css': 'npm:uplot/dist/uPlot.min.css',
} as const;

export type AssetName = keyof typeof ASSETS;

/** The text of an asset. */
export function readAsset(name: AssetName): string {
  const sea = seaOf();
  if (sea !== null) return sea.getAsset(name, 'utf8');
  return readFileSync(assetFile(name), 'utf8');
}

/** The file of an asset if the program is not a binary. */
export function assetFile(name: AssetName): URL | string {
  const place = ASSETS[name];
  // Packages may be in a parent folder.
  if (place.startsWith(PACKAGE)) return createRequire(import.meta.url).resolve(place.slice(PACKAGE.length));
  return new URL(`../../${place}`, import.meta.url);
}

const PACKAGE = 'npm:';

const DOCUMENTS = 'docs/';

/** The files of the documentation, as paths in `docs`. */
export function documentFiles(): readonly string[] {
  const sea = seaOf();
  if (sea !== null) {
    const names = sea.getAssetKeys().filter((name) => name.startsWith(DOCUMENTS));
    return names.map((name) => name.slice(DOCUMENTS.length)).sort();
  }
  const folder = fileURLToPath(new URL(`../../${DOCUMENTS}`, import.meta.url));
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)).replaceAll(sep, '/'))
    .sort();
}

/** The bytes of a file of `documentFiles`. */
export function readDocument(file: string): Buffer {
  const sea = seaOf();
  if (sea !== null) return Buffer.from(sea.getAsset(DOCUMENTS + file));
  return readFileSync(new URL(`../../${DOCUMENTS}${file}`, import.meta.url));
}

/** The script that starts the program in a checkout. It may not exist; null in the binary. */
export function checkoutScript(): string | null {
  return seaOf() === null ? fileURLToPath(new URL('../../scripts/sallyport', import.meta.url)) : null;
}

/** The folder beside the packages for the compiled code of a checkout. It may not exist; null if the code is compiled already. */
export function compiledCodePlace(): URL | null {
  const isCheckout = seaOf() === null && import.meta.url.endsWith('.ts');
  return isCheckout ? new URL('../../node_modules/.compiled', import.meta.url) : null;
}

/** The file of the receiver's npm package, and its name in the binary. */
export const RECEIVER_PACKAGE = `sallyport-receiver-${VERSION}.tgz`;

/** The npm package of the receiver. The binary and the npm package contain it; null in a checkout where it was not built. */
export function receiverPackage(): { read(): Buffer } | null {
  const sea = seaOf();
  if (sea !== null) return { read: () => Buffer.from(sea.getAsset(RECEIVER_PACKAGE)) };
  const file = new URL(`../../dist/${RECEIVER_PACKAGE}`, import.meta.url);
  try {
    return existsSync(file) ? { read: () => readFileSync(file) } : null;
  } catch {
    // Deno may not read the folder.
    return null;
  }
}

/** Node's interface to the binary's own file; null if the program is not a binary. */
function seaOf(): typeof import('node:sea') | null {
  const sea = process.getBuiltinModule('node:sea') as typeof import('node:sea') | undefined;
  return sea?.isSea() === true ? sea : null;
}

/** The programs of threads: their sources without extension. */
export const THREAD_PROGRAMS = {
  database: 'store/sqlite/driver/thread',
  largeBodies: 'delivery/large-bodies-thread',
} as const;

export type ThreadProgram = keyof typeof THREAD_PROGRAMS;

/** Its name in the binary. */
export function threadAsset(name: ThreadProgram): string {
  return `${name}-thread.js`;
}

/** The program of a thread: its text in the binary, else its source or compiled file. */
export function threadProgram(name: ThreadProgram): string | URL {
  const sea = seaOf();
  if (sea !== null) return sea.getAsset(threadAsset(name), 'utf8');
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`../${THREAD_PROGRAMS[name]}.${extension}`, import.meta.url);
}
