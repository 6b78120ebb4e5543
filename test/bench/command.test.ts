/** The benchmark command itself: what it takes, that it runs to its end, and that it leaves nothing behind however it ends. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { makeWorkFolder } from '../../scripts/bench/harness/work-folder.ts';
import { NAMES, readOptions } from '../../scripts/bench/options.ts';
import { readResults, type StoredResult } from '../../scripts/bench/report/stored.ts';

const PROGRAM = fileURLToPath(new URL('../../scripts/bench/bench.ts', import.meta.url));

/** Where `/tmp` is in memory, this is not. */
function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync('/var/tmp/bench-test-');
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('the arguments of the benchmarks', () => {
  const read = (...args: string[]) => readOptions(args, 'results');

  it('are all of them, five rounds and no report, where none are given', () => {
    assert.deepEqual(read(), {
      ...{ names: NAMES, quick: false, soakMinutes: 1, rounds: 5, folder: '/var/tmp', resultsFolder: 'results' },
      ...{ writeReport: false, skipMissing: false },
    });
  });

  it('name benchmarks, which run in their own order, each once', () => {
    assert.deepEqual(read('start', 'token', 'start').names, ['token', 'start']);
  });

  it('take rounds, the length of the soak, and folders', () => {
    const options = read(
      '--rounds',
      '7',
      '--soak-minutes=10',
      '--folder',
      '/disk',
      '--results',
      'kept',
      '--write-report',
    );
    assert.deepEqual(
      [options.rounds, options.soakMinutes, options.folder, options.resultsFolder, options.writeReport],
      [7, 10, '/disk', 'kept', true],
    );
  });

  it('measure nothing for the report alone', () => {
    const { names, writeReport } = read('report');
    assert.deepEqual([names, writeReport], [[], true]);
  });

  const wrong: readonly [args: readonly string[], complaint: RegExp][] = [
    [['tokens'], /no benchmark tokens/],
    [['report', 'token'], /no benchmark report/],
    [['--rounds', '0'], /--rounds/],
    [['--rounds', 'many'], /--rounds/],
    [['--soak-minutes', '-1'], /--soak-minutes/],
    [['--fast'], /--fast/],
  ];
  for (const [args, complaint] of wrong)
    it(`are refused: ${args.join(' ')}`, () => assert.throws(() => read(...args), complaint));
});

describe('the folder that benchmarks work in', () => {
  it('is not in memory', () => {
    assert.throws(() => makeWorkFolder('/dev/shm'), /is in memory/);
  });

  it('takes the place of those of runs that were killed, and leaves those that are under way', (t) => {
    const parent = temporaryFolder(t);
    // No process has a number beyond the system's largest.
    const largest = Number(readFileSync('/proc/sys/kernel/pid_max', 'utf8'));
    for (const name of [`sallyport-bench-${largest + 1}-x`, `sallyport-bench-${process.pid}-y`, 'sallyport-bench-z'])
      mkdirSync(join(parent, name));
    const made = makeWorkFolder(parent);
    assert.deepEqual(
      readdirSync(parent).sort(),
      [made.slice(parent.length + 1), `sallyport-bench-${process.pid}-y`, 'sallyport-bench-z'].sort(),
    );
  });
});

type Run = { readonly status: Promise<number | null>; readonly stdout: () => string; readonly stderr: () => string };

function run(
  t: TestContext,
  folder: string,
  args: readonly string[],
): Run & { readonly kill: (signal: NodeJS.Signals) => void; said(what: string): Promise<void> } {
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
    said: async (what) => {
      while (!stderr.includes(what)) await once(child.stderr, 'data');
    },
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
      const running = run(t, folder, ['start']);
      await running.said('making the rows');
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
