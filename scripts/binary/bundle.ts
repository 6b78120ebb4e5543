/** Our sources with everything that they import, in one file for Node (esbuild). */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';

const root = join(import.meta.dirname, '..', '..');

/** `around` is what to put before the bundle and behind it. */
export async function bundle(
  entry: string,
  outfile: string,
  around: readonly [string, string] = ['', ''],
): Promise<void> {
  const [before, after] = around;
  await build({
    ...{ entryPoints: [entry], outfile, banner: { js: before }, footer: { js: after } },
    bundle: true,
    minify: true,
    // Stack traces in the log name functions.
    keepNames: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    // What is imported when it is needed is a part of the bundle that runs when it is needed; Node's own modules likewise.
    supported: { 'dynamic-import': false },
    plugins: [addonFromAsset, clientAlone],
    logLevel: 'warning',
    // src/kernel/assets.ts reads it where the program is not a binary, and nothing else does.
    define: { 'import.meta.url': '"file:///"' },
  });
  // Pages and patterns are left as they are written. V8 keeps all of a text that has one such character in twice the memory: 3 MB.
  const escaped = readFileSync(outfile, 'utf8').replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  writeFileSync(outfile, escaped);
}

/** In place of better-sqlite3's search for its addon among files. */
const addonFromAsset: Plugin = {
  name: 'addon-from-asset',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\/binding$/ }, ({ importer }) =>
      importer.includes('/better-sqlite3/') ? { path: join(root, 'scripts', 'binary', 'addon.ts') } : undefined,
    );
  },
};

/**
 * Of undici's parts its HTTP/1.1 client alone, without fetch, WebSocket, caches and mocks: loading those took 40 ms of a start and 0.5 MB
 * of the file; and of Node's HTTP/2, which that client would speak if it were told to, 12 ms.
 */
const CLIENT_ALONE = `
  exports.Client = require('undici/lib/dispatcher/client.js');
  exports.errors = require('undici/lib/core/errors.js');`;
const clientAlone: Plugin = {
  name: 'client-alone',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, namespace: 'alone' }));
    onResolve({ filter: /^node:http2$/ }, ({ path }) => ({ path, namespace: 'alone' }));
    onLoad({ filter: /./, namespace: 'alone' }, ({ path }) => ({
      contents: path === 'undici' ? CLIENT_ALONE : 'exports.constants = {};',
      resolveDir: root,
    }));
  },
};
