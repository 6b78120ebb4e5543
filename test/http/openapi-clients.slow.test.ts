/** Generates clients from the OpenAPI document with the generators' own settings, compiles them, and uses them with the service. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { succeeded } from '../support/client.ts';
import { npmModules } from '../support/npm-tools.ts';
import { pythonWithTools } from '../support/python-tools.ts';
import { startService, temporaryFolder } from '../support/service.ts';

const run = promisify(execFile);
const tools = fileURLToPath(new URL('../tools', import.meta.url));

/** A service with one webhook, the address of its document, and the arguments of a program that uses a client. */
async function startSeeded(t: TestContext): Promise<{ readonly described: string; readonly args: readonly string[] }> {
  const { url, admin, credentials } = await startService(t);
  await succeeded(admin.post('webhooks', { name: 'Orders', mode: 'pull', eventTypes: ['order.*'] }));
  const { clientId, clientSecret } = credentials;
  return { described: `${url}/services/api/openapi.json`, args: [url, clientId, clientSecret] };
}

describe('a generated client gets a token, lists webhooks, and creates an endpoint and a customer', () => {
  it('in TypeScript, with openapi-typescript and openapi-fetch', async (t) => {
    const modules = npmModules('openapi-typescript');
    const { described, args } = await startSeeded(t);
    const folder = temporaryFolder(t);
    symlinkSync(modules, join(folder, 'node_modules'));
    copyFileSync(join(tools, 'openapi-typescript/client.mts.txt'), join(folder, 'client.mts'));
    const node = (...command: string[]) => run(process.execPath, command, { cwd: folder });
    await node(join(modules, 'openapi-typescript/bin/cli.js'), described, '-o', 'sallyport.d.ts');
    const settings = [
      '--strict',
      '--noEmit',
      '--target',
      'es2024',
      '--module',
      'nodenext',
      '--allowImportingTsExtensions',
    ];
    await node(join(modules, 'typescript/bin/tsc'), ...settings, 'sallyport.d.ts', 'client.mts').catch(failWithOutput);
    const { stdout } = await node('client.mts', ...args);
    assert.equal(stdout, 'ok\n');
  });

  it('in Python, with openapi-python-client', async (t) => {
    const python = pythonWithTools();
    const { described, args } = await startSeeded(t);
    const folder = temporaryFolder(t);
    const env = {
      // The generator runs ruff.
      PATH: [dirname(python), process.env.PATH].join(delimiter),
      PYTHONPATH: folder,
      PYTHONDONTWRITEBYTECODE: '1',
    };
    const generate = ['generate', '--url', described, '--meta', 'none', '--output-path', 'sallyport_client'];
    await run(python, ['-m', 'openapi_python_client', ...generate, '--fail-on-warning'], { cwd: folder, env }).catch(
      failWithOutput,
    );
    const { stdout } = await run(python, [join(tools, 'openapi_client.py'), ...args], { cwd: folder, env });
    assert.equal(stdout, 'ok\n');
  });
});

/** Compilers and generators print their errors to standard output. */
function failWithOutput({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }): never {
  assert.fail(`${stdout}\n${stderr}`);
}
