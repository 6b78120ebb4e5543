/** `npm run guards` writes the files of test/guards/. Read the difference before you commit it. */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

const { status } = spawnSync(process.execPath, ['scripts/test-suite.ts', 'test/guards'], {
  cwd: resolve(import.meta.dirname, '..'),
  stdio: 'inherit',
  env: { ...process.env, GUARDS: 'write' },
});
process.exitCode = status ?? 1;
