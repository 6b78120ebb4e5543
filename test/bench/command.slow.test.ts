/** Runs the benchmark command to its end, and interrupts it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readResults, type StoredResult } from '../../scripts/bench/report/stored.ts';

const PROGRAM = fileURLToPath(new URL('../../scripts/bench/bench.ts', import.meta.url));

/** Benchmarks refuse a folder in memory, as /tmp is on some systems. */
function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync('/var/tmp/bench-test-');
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type Run = { readonly status: Promise<number | null>; readonly stdout: () => string; readonly stderr: () => string };

function run(
  t: TestContext,
  folder: string,
  args: readonly string[],
): Run & { readonly kill: (signal: NodeJS.Signals) => void } {
  const all = [...args, '--quick', '--folder', folder, '--results', join(folder, 'results')];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', PROGRAM, ...all], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return {
    status: once(child, 'close').then(([status]) => status as number | null),
    stdout: () => stdout,
    stderr: () => stderr,
    kill: (signal) => void child.kill(signal),
  };
}

/** Processes that have the folder on their command line. */
function processesIn(folder: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return line.includes(folder) ? [line] : [];
    } catch {
      return [];
    }
  });
}

describe('the benchmark command', () => {
  it('measures, prints and keeps a result, and leaves nothing else', async (t) => {
    const folder = temporaryFolder(t);
    const running = run(t, folder, ['start']);
    assert.equal(await running.status, 0, running.stderr());
    assert.match(running.stdout(), /^Starting \(/m);
    assert.match(running.stdout(), /ready with 10⁶ rows +at most 300 ms/);
    const text = readFileSync(join(folder, 'results', 'start.json'), 'utf8');
    const { isRehearsal, result, machine, versions } = JSON.parse(text) as StoredResult;
    assert.equal(isRehearsal, true);
    assert.equal(result.rows.length, 3);
    assert.equal(result.profile, null);
    assert.ok(result.rows.every(({ values }) => (values.ready ?? []).length === 1 && (values.ready?.[0] ?? 0) > 0));
    assert.ok(machine.cores > 0 && machine.cpu !== '');
    assert.equal(versions.Node, process.versions.node);
    assert.deepEqual(readdirSync(folder), ['results']);
    assert.deepEqual(processesIn(folder), []);
    assert.throws(() => readResults(join(folder, 'results'), ['start']), /--quick/);
  });

  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    it(`ends everything that it started on ${signal}`, async (t) => {
      const folder = temporaryFolder(t);
      // It does not build the binary first.
      const running = run(t, folder, ['shares']);
      while (!processesIn(folder).some((line) => line.includes('main.ts serve'))) await turn();
      running.kill(signal);
      assert.equal(await running.status, status);
      while (processesIn(folder).length > 0) await turn();
      assert.deepEqual(readdirSync(folder), []);
    });
  }

  it('says how to use it where it is asked for what there is not', async (t) => {
    const folder = temporaryFolder(t);
    const running = run(t, folder, ['tokens']);
    assert.equal(await running.status, 2);
    assert.match(running.stderr(), /there is no benchmark tokens\n\nusage: npm run bench/);
  });
});
