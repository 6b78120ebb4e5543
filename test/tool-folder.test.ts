/** Where tests install tools: one process installs, and the others wait for it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { temporaryFolder } from './support/service.ts';
import { toolFolder } from './support/tool-folder.ts';

const run = promisify(execFile);
const MODULE = new URL('./support/tool-folder.ts', import.meta.url).href;

/** The file that lists the versions; its content makes the folder one of this test alone. */
function versionsFile(t: TestContext): string {
  const versions = join(temporaryFolder(t), 'versions');
  writeFileSync(versions, `${process.pid} ${Math.random()}`);
  return versions;
}

function removedAfter(t: TestContext, folder: string): string {
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const nothing = (): void => {};

describe('the folder of a tool', () => {
  it('is installed once, by two processes at the same time', async (t) => {
    const versions = versionsFile(t);
    const log = `${versions}.log`;
    const program = `
      import { appendFileSync } from 'node:fs';
      import { toolFolder } from ${JSON.stringify(MODULE)};
      process.stdout.write(toolFolder('test', ${JSON.stringify(versions)}, () => {
        appendFileSync(${JSON.stringify(log)}, 'installed ');
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
      }));`;
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
    const [one, other] = await Promise.all([1, 2].map(() => run(process.execPath, args)));
    const folder = removedAfter(t, one?.stdout ?? '');
    assert.ok(existsSync(folder));
    assert.equal(other?.stdout, folder);
    assert.equal(readFileSync(log, 'utf8'), 'installed ');
    assert.equal(existsSync(`${folder}.installing`), false);
  });

  it('is installed after a process that was killed while it installed, and after an installation that failed', async (t) => {
    const versions = versionsFile(t);
    const install = (): never => {
      throw new Error('no network');
    };
    assert.throws(() => toolFolder('test', versions, install), /no network/);
    const folder = removedAfter(t, toolFolder('test', versions, nothing));
    assert.ok(dirname(folder).endsWith('test-tools'));
    rmSync(folder, { recursive: true });
    // No process has this number.
    writeFileSync(`${folder}.installing`, '4194305');
    assert.equal(toolFolder('test', versions, nothing), folder);
    assert.equal(existsSync(`${folder}.installing`), false);
  });
});
