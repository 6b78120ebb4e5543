import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

test('publint, attw and knip report no problems', () => {
  const script = fileURLToPath(new URL('../../scripts/check-package.ts', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', script], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stdout + stderr);
  assert.equal(stdout.match(/: clean$/gm)?.length, 5);
});
