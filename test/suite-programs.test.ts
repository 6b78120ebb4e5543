/** What the test suite does on a machine that lacks programs (README, "Test"). */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

const root = join(import.meta.dirname, '..');
/** Files that need a shell, gpg, Chromium and PostgreSQL. */
const FILES = ['cli/completion', 'wire/pgp', 'portal/accessibility', 'store/postgres/dialect'];

/** Runs the suite with an empty PATH, as on a machine without any of the programs. */
function runSuite(env: Readonly<Record<string, string>>, files: readonly string[]) {
  const args = ['--disable-warning=ExperimentalWarning', 'scripts/suite.ts', ...files];
  return spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    env: { HOME: root, PATH: '', TEST_POSTGRES_PROGRAMS: '/nowhere', ...env },
  });
}

describe('the test suite on a machine without the programs that tests run', () => {
  const files = FILES.map((name) => `test/${name}.test.ts`);

  it('skips what needs them, and lists them with the packages that have them', () => {
    const { status, stdout, stderr } = runSuite({}, files);
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /^\d+ tests of 1 files in .*\. All passed\.$/m);
    const note = /^Skipped: 3 files and \d+ tests\. .*$/m.exec(stdout)?.[0] ?? '';
    for (const name of ['zsh', 'gnupg', 'chromium-headless-shell', 'postgresql-15'])
      assert.ok(note.includes(name), note);
  });

  it('says so if nothing can run', () => {
    const { status, stderr } = runSuite({}, ['test/wire/pgp.test.ts']);
    assert.equal(status, 1);
    assert.match(stderr, /^No test can run here: .*gpg.*apt-get install .*gnupg/m);
  });

  it('skips nothing with CI=1, and fails', () => {
    const { status, stdout } = runSuite({ CI: '1' }, ['test/cli/completion.test.ts']);
    assert.equal(status, 1);
    assert.match(stdout, /^ℹ skipped 0$/m);
    assert.match(stdout, /spawnSync zsh ENOENT/);
  });
});

describe('node --test', () => {
  it('takes no program of scripts/ for a test', () => {
    const taken = ['test.*', 'test-*', '*-test.*', '*_test.*', '*.test.*'];
    assert.deepEqual(globSync(taken, { cwd: join(root, 'scripts') }), []);
  });
});
