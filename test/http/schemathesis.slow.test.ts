/**
 * Tests the API against its document with all checks of schemathesis: with the document's examples, valid values at the bounds of each
 * schema, random values, valid and not, and calls that follow from each other. Its settings cover what a schema cannot express.
 * `SCHEMATHESIS=full` adds a request for each way to break a schema, and twice as many random ones: three times as many requests in all.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { succeeded, tokenFor } from '../support/client.ts';
import { pythonWithTools } from '../support/python-tools.ts';
import { spawnService, temporaryFolder } from '../support/service.ts';

const SETTINGS = fileURLToPath(new URL('../tools/schemathesis.toml', import.meta.url));
const HOOKS = fileURLToPath(new URL('../tools/schemathesis_hooks.py', import.meta.url));
const isFull = process.env.SCHEMATHESIS === 'full';
const RANDOM_CASES_PER_OPERATION = isFull ? 12 : 6;
const ONLY_VALID_AT_BOUNDS = '\n[phases.coverage.generation]\nmode = "positive"\n';
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
  const folder = temporaryFolder(t);
  const settings = join(folder, 'settings.toml');
  writeFileSync(settings, readFileSync(SETTINGS, 'utf8') + (isFull ? '' : ONLY_VALID_AT_BOUNDS));
  const run = spawn(
    python,
    [
      '-m',
      'schemathesis.cli',
      '--config-file',
      settings,
      'run',
      `${url}/services/api/openapi.json`,
      '--checks',
      'all',
      '--max-examples',
      String(RANDOM_CASES_PER_OPERATION),
      '--seed',
      '1',
      '--no-color',
      '--suppress-health-check',
      'all',
    ],
    {
      cwd: folder,
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
  // The settings were understood.
  assert.match(said, /\d+ generated, \d+ passed/);
  t.diagnostic(/\d+ generated, .*/.exec(said)?.[0] ?? '');
});
