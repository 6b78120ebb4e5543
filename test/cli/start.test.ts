/** The modules that a start loads. Each of these takes memory and up to a tenth of the start, and few services need it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { it } from 'node:test';
import { baseEnvironment } from '../support/environment.ts';

const PROGRAM = `
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ load: (url, context, next) => {
    loaded.push(url);
    return next(url, context);
  } });
  await import('${new URL('../../src/open.ts', import.meta.url)}');
  console.log(JSON.stringify([...loaded, ...process.moduleLoadList]));
`;

it('a start loads neither undici nor Ajv, OpenPGP, WebAuthn or the driver of PostgreSQL', () => {
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', PROGRAM];
  const output = execFileSync(process.execPath, flags, { env: baseEnvironment(), encoding: 'utf8' });
  const loaded = JSON.parse(output) as string[];
  const isLoaded = (name: RegExp): boolean => loaded.some((one) => name.test(one));
  // A package of either kind, and a module of Node.
  for (const name of [/node_modules\/prom-client\//, /node_modules\/zod\//, /NativeModule http$/])
    assert.ok(isLoaded(name));
  const unneeded = /undici|node_modules\/(ajv|openpgp|@simplewebauthn|pg)\//;
  assert.deepEqual(
    loaded.filter((one) => unneeded.test(one)),
    [],
  );
});
