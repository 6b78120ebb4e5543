import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { baseEnvironment } from '../support/environment.ts';

const DEMO = fileURLToPath(new URL('../../scripts/demo-cluster.ts', import.meta.url));

test('npm run demo:cluster kills an instance, crashes PostgreSQL and loses nothing', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', DEMO], {
    encoding: 'utf8',
    env: baseEnvironment(),
    timeout: 180_000,
  });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /[1-9]\d* events acknowledged, .* lost: 0\n$/);
});
