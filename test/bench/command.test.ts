/** The options of the benchmark command, and the folder that it works in. command.slow.test.ts runs it. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { makeWorkFolder } from '../../scripts/bench/harness/work-folder.ts';
import { NAMES, readOptions } from '../../scripts/bench/options.ts';

/** Benchmarks refuse a folder in memory, as /tmp is on some systems. */
function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync('/var/tmp/bench-test-');
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('the arguments of the benchmarks', () => {
  const read = (...args: string[]) => readOptions(args, 'results');

  it('are all of them, five rounds and no report, where none are given', () => {
    assert.deepEqual(read(), {
      names: NAMES,
      quick: false,
      soakMinutes: 1,
      rounds: 5,
      folder: '/var/tmp',
      resultsFolder: 'results',
      writeReport: false,
      skipMissing: false,
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

  it('measure nothing that only the report needs', () => {
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

  it('replaces the folders of killed runs, and leaves those of running ones', (t) => {
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
