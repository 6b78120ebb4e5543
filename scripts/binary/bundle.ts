/** Bundles sources with everything that they import into one file for Node (esbuild). */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';

const root = join(import.meta.dirname, '..', '..');

/** `around` is the text before and after the bundle. */
export async function bundle(
  entry: string,
  outfile: string,
  around: readonly [string, string] = ['', ''],
): Promise<void> {
  const [before, after] = around;
  await build({
    entryPoints: [entry],
    outfile,
    banner: { js: before },
    footer: { js: after },
    bundle: true,
    minify: true,
    // For the stack traces in the log.
    keepNames: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    // A module that is imported dynamically becomes part of the bundle and runs at its first import.
    supported: { 'dynamic-import': false },
    plugins: [addonFromAsset],
    logLevel: 'warning',
    // Only src/kernel/assets.ts reads it, and not in a binary.
    define: { 'import.meta.url': '"file:///"' },
  });
  // Escapes non-ASCII characters: one of them doubles the memory of the whole text in V8, by 3 MB.
  const escaped = readFileSync(outfile, 'utf8').replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  writeFileSync(outfile, escaped);
}

/** Replaces better-sqlite3's search for its addon. */
const addonFromAsset: Plugin = {
  name: 'addon-from-asset',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\/binding$/ }, ({ importer }) =>
      importer.includes('/better-sqlite3/') ? { path: join(root, 'scripts', 'binary', 'addon.ts') } : undefined,
    );
  },
};
