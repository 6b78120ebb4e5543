import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type BuildResult, buildSync } from 'esbuild';

const KIB = 1024;
const source = fileURLToPath(new URL('../../src/receiver/', import.meta.url));

/** Bundles a program. */
function bundle(program: string): BuildResult<{ write: false; metafile: true }> & { readonly bytes: number } {
  const result = buildSync({
    stdin: { contents: program, resolveDir: source, loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2023',
    external: ['openpgp'],
    metafile: true,
    write: false,
  });
  return { ...result, bytes: result.outputFiles[0]?.contents.length ?? 0 };
}

const WORKER = `
  import { createReceiver, fetchHandler } from './index.ts';
  export default { fetch: fetchHandler(createReceiver({ secrets: 's', onRecords: () => {} })) };
`;

describe('the receiver', () => {
  it('adds less than 13 KiB to a worker', () => {
    const { bytes } = bundle(WORKER);
    assert.ok(bytes > 5 * KIB && bytes < 13 * KIB, `${bytes} bytes`);
  });

  it('adds less than 18 KiB to a worker that reads every format', () => {
    const program = WORKER.replace('onRecords: () => {}', 'events: eventFormats({ onEvents: () => {} })');
    const { bytes } = bundle(program.replace('{ createReceiver', '{ eventFormats, createReceiver'));
    assert.ok(bytes > 14 * KIB && bytes < 18 * KIB, `${bytes} bytes`);
  });

  it('adds less than 15 KiB with every adapter and Standard Webhooks', () => {
    const names = 'createReceiver, fastifyPlugin, fetchHandler, memorySeen, nodeHandler, standardWebhooks';
    const { bytes } = bundle(`export { ${names} } from './index.ts';`);
    assert.ok(bytes < 15 * KIB, `${bytes} bytes`);
  });

  it('adds less than 7 KiB to a program that only catches up', () => {
    const { bytes } = bundle("export { catchUp } from './index.ts';");
    assert.ok(bytes < 7 * KIB, `${bytes} bytes`);
  });

  it('imports no module of Node and no package, except openpgp for PGP', () => {
    const imports = (program: string): string[] =>
      Object.values(bundle(program).metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
    assert.deepEqual(imports("export * from './index.ts';"), []);
    assert.deepEqual([...new Set(imports("export * from './pgp.ts';"))], ['openpgp']);
  });
});
