import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { baseEnvironment } from '../support/environment.ts';

const DEMO = fileURLToPath(new URL('../../scripts/demo-customers.ts', import.meta.url));

test('npm run demo:customers shows two customers, a framed portal, and that nothing crosses', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', DEMO, '--json'],
    { encoding: 'utf8', env: baseEnvironment(), timeout: 120_000 },
  );
  assert.equal(status, 0, stdout + stderr);
  const told = JSON.parse(stdout) as { ok: boolean; steps: { step: string; ok: boolean }[] };
  assert.equal(told.ok, true);
  const steps = told.steps.filter(({ ok }) => ok).map(({ step }) => step);
  for (const step of ['push', 'pull', 'delivered', 'read', 'isolation', 'opened', 'framed'])
    assert.ok(steps.includes(step), step);
});
