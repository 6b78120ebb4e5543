/** The program that runs the tests: its order, how it ends, and what it does on a machine that lacks programs (README, "Test"). */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { grouped, measuredFiles, secondsOf } from '../scripts/suite/jobs.ts';
import { temporaryFolder } from './support/store.ts';

const root = join(import.meta.dirname, '..');
/** Files that need a shell, gpg, Chromium and PostgreSQL. */
const FILES = ['cli/completion', 'wire/pgp', 'portal/access', 'store/postgres/dialect'];

const SUITE = ['--disable-warning=ExperimentalWarning', 'scripts/suite.ts'];

const { NODE_COMPILE_CACHE } = process.env;
const compiled = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };

/** Runs the suite with an empty PATH, as on a machine without any of the programs. */
function runSuite(env: Readonly<Record<string, string>>, files: readonly string[]) {
  return spawnSync(process.execPath, [...SUITE, ...files], {
    cwd: root,
    encoding: 'utf8',
    env: { HOME: root, PATH: '', TEST_POSTGRES_PROGRAMS: '/nowhere', ...compiled, ...env },
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

describe('the processes of the test suite', () => {
  const files = globSync('**/*.test.ts', { cwd: import.meta.dirname }).map((file) => join(import.meta.dirname, file));
  const fast = files.filter((file) => !file.endsWith('.slow.test.ts'));

  it('run every file once', () => {
    assert.deepEqual(grouped(files).flat().toSorted(), files.toSorted());
  });

  it('take less than a quarter of what a processor has to do, so that none is left for the end', () => {
    const all = grouped(fast).map(secondsOf);
    const quarter = all.reduce((sum, one) => sum + one, 0) / 8;
    assert.ok(Math.max(...all) < quarter, `${Math.max(...all)} of ${quarter}`);
  });

  it('are told apart by measured files that exist', () => {
    const known = new Set(files.map((file) => file.slice(import.meta.dirname.length + 1)));
    assert.deepEqual(
      measuredFiles().filter((file) => !known.has(file)),
      [],
    );
  });
});

describe('the test suite', () => {
  it('says what it does', () => {
    const { status, stdout } = runSuite({}, ['--help']);
    assert.equal(status, 0);
    assert.match(stdout, /^npm test .*--slow.*--all.*--coverage/);
  });

  it('fails for a file that throws while it loads, also after a test of it was registered', (t) => {
    const file = join(temporaryFolder(t), 'halved.test.ts');
    writeFileSync(
      file,
      `import { it } from 'node:test';\nit('first', () => {});\nthrow new Error('the second is missing');`,
    );
    const { status, stdout } = runSuite({}, [file]);
    assert.equal(status, 1, stdout);
    assert.match(stdout, /halved\.test\.ts did not load to its end: Error: the second is missing/);
  });

  it('ends its tests and the programs that they started if it is interrupted', async (t) => {
    const folder = temporaryFolder(t);
    const [file, path] = [join(folder, 'hanging.test.ts'), join(folder, 'socket')];
    writeFileSync(
      file,
      `import { spawn } from 'node:child_process';
       import { it } from 'node:test';
       it('hangs', () => new Promise(() => {
         spawn(process.execPath, ['--eval', 'require("net").connect("${path}").resume()'], { stdio: 'inherit' });
       }));`,
    );
    const server = createServer().listen(path);
    const suite = spawn(process.execPath, [...SUITE, file], { cwd: root, stdio: 'ignore' });
    const ended = once(suite, 'close');
    t.after(() => {
      suite.kill('SIGKILL');
      server.close();
    });
    const [connection] = (await once(server, 'connection')) as [Socket];
    const closed = once(connection.resume(), 'close');
    suite.kill('SIGINT');
    assert.deepEqual(await ended, [1, null]);
    await closed;
  });
});

describe('node --test', () => {
  it('takes no program of scripts/ for a test', () => {
    const taken = ['test.*', 'test-*', '*-test.*', '*_test.*', '*.test.*'];
    assert.deepEqual(globSync(taken, { cwd: join(root, 'scripts') }), []);
  });
});
