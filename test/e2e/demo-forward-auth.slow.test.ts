import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const DEMO = fileURLToPath(new URL('../../scripts/demo-forward-auth.ts', import.meta.url));

test('the forward auth demo runs, and all its checks pass', async () => {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', DEMO, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  const told = JSON.parse(output) as { ok: boolean; error: string | null; steps: { step: string; ok: boolean }[] };
  assert.equal(told.error, null);
  assert.equal(code, 0);
  const steps = told.steps.filter(({ ok }) => ok).map(({ step }) => step);
  for (const step of ['allowed', 'forged', 'anonymous', 'scope', 'rules', 'claims', 'paths', 'revoked']) {
    assert.ok(steps.includes(step), step);
  }
});
