/** `npm run guards` writes the files of test/guards/. Read the difference before you commit it. */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

for (const [tests, database] of [
  ['test/guards/statements.test.ts', { TEST_DATABASE: 'postgres' }],
  ['test/guards/statements.test.ts', {}],
  ['test/guards', {}],
] as const) {
  const { status } = spawnSync(process.execPath, ['scripts/suite.ts', tests], {
    cwd: resolve(import.meta.dirname, '..'),
    stdio: 'inherit',
    env: { ...process.env, ...database, GUARDS: 'write' },
  });
  if (status !== 0) process.exit(status ?? 1);
}
