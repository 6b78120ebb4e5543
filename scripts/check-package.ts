/**
 * `npm run check:package` checks both packages, as they would be published, with publint and attw (are the types wrong?), and the project
 * with knip, which finds unused files, exports and dependencies. Exits with 1 if any of them reports something.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './build/package.ts';

const PACKAGES = { sallyport: 'build-package.ts', 'sallyport-receiver': 'build-receiver.ts' };

const folder = mkdtempSync(join(tmpdir(), 'check-package-'));
try {
  for (const [name, script] of Object.entries(PACKAGES)) {
    const built = join(folder, name);
    execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', join(root, 'scripts', script), built]);
    check(`publint ${name}`, 'publint/src/cli.js', ['run', built, '--strict']);
    check(`attw ${name}`, '@arethetypeswrong/cli/dist/index.js', ['--pack', built, '--profile', 'esm-only']);
  }
  check('knip', 'knip/bin/knip.js', ['--no-progress', '--treat-config-hints-as-errors']);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Shows the output of the program only if it reports something. */
function check(what: string, program: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'node_modules', program), ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  process.stdout.write(`${what}: ${status === 0 ? 'clean' : 'not clean'}\n`);
  if (status === 0) return;
  process.stdout.write(`${stdout}${stderr}\n`);
  process.exitCode = 1;
}
