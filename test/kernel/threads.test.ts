import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { THREADS } from '../../src/kernel/threads.ts';
import { cleanUp } from '../support/cleanup.ts';

const src = (file: string): string => fileURLToPath(new URL(`../../src/${file}`, import.meta.url));

/** Blocks a number of threads on a pipe, and then looks up a name. */
const PROGRAM = `
import ${JSON.stringify(src('kernel/threads.ts'))};
import { open } from 'node:fs';
import { lookup } from 'node:dns';
console.log('begun');
for (let n = 0; n < Number(process.argv[2]); n += 1) open(process.argv[1], 'r', () => console.log('released'));
lookup('localhost', () => console.log('looked up'));
`;

/** The next output of a process with that many blocked threads. After `graceMs`, if given, they are released. */
async function saysNext(t: TestContext, held: number, more: { env?: object; graceMs?: number } = {}): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'threads-'));
  cleanUp(t, () => rmSync(folder, { recursive: true }));
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const { UV_THREADPOOL_SIZE, ...env } = process.env;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM, pipe, String(held)], {
    env: { ...env, ...more.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // It cannot end while its threads are blocked.
  cleanUp(t, () => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, 'begun');
  const next = lines.next();
  if (more.graceMs !== undefined) {
    await Promise.race([next, setTimeout(more.graceMs)]);
    // Both ends, so that opening does not wait.
    const writer = openSync(pipe, 'r+');
    cleanUp(t, () => closeSync(writer));
  }
  return String((await next).value);
}

describe('the threads of the process', () => {
  it('are more than hanging look-ups can occupy', async (t) => {
    assert.equal(await saysNext(t, THREADS - 1), 'looked up');
    assert.equal(await saysNext(t, THREADS, { graceMs: 300 }), 'released');
  });

  it('follow the environment variable if it is set', async (t) => {
    assert.equal(await saysNext(t, 4, { env: { UV_THREADPOOL_SIZE: '4' }, graceMs: 300 }), 'released');
  });

  it('are set before anything else is loaded', () => {
    const [first] = readFileSync(src('main.ts'), 'utf8').match(/^import .*$/m) ?? [];
    assert.equal(first, "import './kernel/threads.ts';");
  });
});
