/** Tests the API against its document with all checks of schemathesis. Its settings cover what a schema cannot express. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { succeeded, tokenFor } from '../support/client.ts';
import { pythonWithTools } from '../support/python-tools.ts';
import { spawnService, temporaryFolder } from '../support/service.ts';

const SETTINGS = fileURLToPath(new URL('../tools/schemathesis.toml', import.meta.url));
const HOOKS = fileURLToPath(new URL('../tools/schemathesis_hooks.py', import.meta.url));
const CASES_PER_OPERATION = '12';
/** The run would change everything that it finds in lists. */
const KEPT = ['applications', 'users'];

it('schemathesis finds no reply that the description does not name', { timeout: 1_500_000 }, async (t) => {
  // First: while it installs packages, this process would not see the server close its connections.
  const python = pythonWithTools();
  const { url, admin, credentials } = await spawnService(t, { logLevel: 'warn' });
  const ids: string[] = [];
  for (const path of KEPT) {
    const { items } = await succeeded<{ items: { id: string }[] }>(admin.get(path));
    ids.push(...items.map(({ id }) => id));
  }
  const run = spawn(
    python,
    [
      '-m',
      'schemathesis.cli',
      '--config-file',
      SETTINGS,
      'run',
      `${url}/services/api/openapi.json`,
      '--checks',
      'all',
      '--max-examples',
      CASES_PER_OPERATION,
      '--seed',
      '1',
      '--no-color',
      '--suppress-health-check',
      'all',
    ],
    {
      cwd: temporaryFolder(t),
      env: {
        PATH: process.env.PATH,
        SCHEMATHESIS_HOOKS: HOOKS,
        PYTHONDONTWRITEBYTECODE: '1',
        RUN_TOKEN: await tokenFor(url, credentials),
        RUN_IDS: ids.join(','),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const [said, failed, code] = await Promise.all([
    text(run.stdout),
    text(run.stderr),
    new Promise<number | null>((resolve) => run.once('close', resolve)),
  ]);
  assert.equal(code, 0, `${said}\n${failed}`);
  assert.match(said, /passed/);
});
