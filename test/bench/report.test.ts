/** Reports of the benchmarks' results: the table in the terminal, and the page of the documentation. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readNotes, reportPage } from '../../scripts/bench/report/page.ts';
import { type Goal, isMet, largest, medianRatio } from '../../scripts/bench/report/result.ts';
import { median, ratios } from '../../scripts/bench/report/statistics.ts';
import { readResults, storeResult } from '../../scripts/bench/report/stored.ts';
import { formatNumber, printed } from '../../scripts/bench/report/table.ts';
import { writeReport } from '../../scripts/bench/report/write.ts';
import { temporaryFolder } from '../support/store.ts';
import { profileOfThreads, resultOf, storedOf } from './results.ts';

describe('the figures of a result', () => {
  it('have their middle, of an even number the mean of the two', () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 2, 3]), 2.5);
    assert.equal(median([7]), 7);
    assert.ok(Number.isNaN(median([])));
  });

  it('are compared round by round, and the middle of that is taken', () => {
    assert.deepEqual(ratios([1, 8, 9], [2, 4, 3]), [0.5, 2, 3]);
    // Rounds in which the whole machine was slow count no more than others: 0.75, 0.6, 0.6.
    assert.equal(medianRatio(resultOf(), 'rate', 'Sallyport', 'bare'), 0.6);
  });

  it('name the largest of the measured rows', () => {
    assert.equal(largest(resultOf(), 'rate', ['bare', 'Sallyport']), 'bare');
    assert.equal(largest(resultOf(), 'rate', ['Sallyport', 'not measured']), 'Sallyport');
    assert.equal(largest(resultOf(), 'rate', ['not measured']), null);
  });

  it('are not compared with rows that were not measured', () => {
    assert.throws(
      () => medianRatio(resultOf(), 'rate', 'Sallyport', 'nobody'),
      /nothing was measured of rate of nobody/,
    );
  });

  const numbers: readonly [value: number, text: string][] = [
    [0, '0'],
    [0.123456, '0.123'],
    [1.2345, '1.23'],
    [12.345, '12.3'],
    [123.45, '123'],
    [1234.5, '1,230'],
    [98_765, '98,800'],
    [Number.NaN, '–'],
  ];
  for (const [value, text] of numbers)
    it(`are written with three digits: ${text}`, () => assert.equal(formatNumber(value), text));

  const goals: readonly [bound: Goal['bound'], actual: number, met: boolean][] = [
    ['at least', 64.99, false],
    ['at least', 65, true],
    ['at most', 65, true],
    ['at most', 65.01, false],
    ['at most', Number.NaN, false],
    ['at most', Number.NEGATIVE_INFINITY, false],
  ];
  for (const [bound, actual, met] of goals) {
    it(`${actual} ${met ? 'meets' : 'misses'} ${bound} 65`, () =>
      assert.equal(isMet({ text: '', actual, bound, limit: 65, unit: '%' }), met));
  }

  it('are printed as a table with goals, and with rows that were not measured', () => {
    const text = printed(resultOf({ notMeasured: ['BullMQ: redis-server is not installed'] }));
    assert.match(text, /^Issuing tokens \(12 s\)$/m);
    assert.match(text, /^Sallyport +30,000\/s \(27,000–30,000\) +4 ms \(3–5\) +0\.6$/m);
    assert.match(text, /^rate, of bare +at least 65% +60% +missed$/m);
    assert.match(text, /^p99, of bare +at most 2× +1\.3× +met$/m);
    assert.match(text, /^not measured: BullMQ: redis-server is not installed$/m);
    assert.doesNotMatch(text, /share/);
  });

  it('are followed by what each thread was busy with', () => {
    const text = printed(resultOf({ profile: profileOfThreads() }));
    assert.match(
      text,
      new RegExp(
        '^Sallyport .*\\nevent loop, busy 72% of the time +share\\nwriting to sockets, TLS +60%\\nhashes \\| signatures +40%\\n' +
          'writing thread, busy less than 1% of the time\\ngoal ',
        'm',
      ),
    );
  });

  it('are followed by the eight largest shares of a thread, and the sum of the others', () => {
    const shares = Array.from({ length: 10 }, (_, n) => ({ what: `purpose ${n}`, share: 0.1 }));
    const text = printed(resultOf({ profile: [{ thread: 'event loop', busyShare: 1, shares }] }));
    assert.match(text, /^purpose 7 +10%\nthe rest +20%$/m);
    assert.doesNotMatch(text, /purpose 8/);
  });
});

describe('the page of the report', () => {
  const notes = readNotes('# Notes\n\nIntroduction.\n\n## token\n\nThe profile says **this**.\n\n## guard\n\nThat.\n');

  it('shows every goal with its measured value, and counts the goals that are met', () => {
    const page = reportPage([storedOf(resultOf())], notes);
    assert.match(page, /^1 of 2 are met\.$/m);
    assert.match(page, /^\| Issuing tokens \| rate, of bare \| at least 65% \| 60% \| missed \|$/m);
    assert.match(page, /^\| Issuing tokens \| p99, of bare \| at most 2× \| 1\.3× \| met \|$/m);
  });

  it('names the machine, the time and the versions', () => {
    const page = reportPage([storedOf(resultOf())], notes);
    assert.match(
      page,
      /^- 2 cores, A Processor, Debian 12, Linux 6\.1\.0: everything; finished 2026-11-21 05:00 to 2026-11-21 05:00 UTC$/m,
    );
    assert.match(page, /^with Sallyport 0\.1\.0, Node 24\.0\.0\.$/m);
  });

  it('says which was measured where, when that was not on one machine', () => {
    const machine = { cores: 8, cpu: 'Another', memoryGiB: 24, system: 'Debian 12', kernel: '6.1.0' };
    const guard = storedOf(resultOf({ bench: 'guard', title: 'Guarding' }), { machine });
    const page = reportPage([storedOf(resultOf()), guard], notes);
    assert.match(page, /^- 2 cores, .*: Issuing tokens; /m);
    assert.match(page, /^- 8 cores, Another, .*: Guarding; /m);
  });

  it('shows the note of a result below it, and its missing parts', () => {
    const delivery = resultOf({ bench: 'delivery', title: 'Delivering', notMeasured: ['BullMQ: it is not there'] });
    const page = reportPage([storedOf(resultOf()), storedOf(delivery)], notes);
    const [, token = '', delivering = ''] = /## Issuing tokens\n([\s\S]*)## Delivering\n([\s\S]*)/.exec(page) ?? [];
    assert.match(token, /How it was done\.\n\n\| {2}\| rate/);
    assert.match(token, /The profile says \*\*this\*\*\.\n\n$/);
    assert.doesNotMatch(page, /That\./);
    assert.match(delivering, /^Not measured: BullMQ: it is not there\.$/m);
  });

  it('has what each thread was busy with between the figures and the note', () => {
    const page = reportPage([storedOf(resultOf({ profile: profileOfThreads() }))], notes);
    const [, after = ''] = /^\| Sallyport \| .*\n\n([\s\S]*)$/m.exec(page) ?? [];
    assert.equal(
      after,
      [
        '| event loop, busy 72% of the time | share |',
        '|---|---:|',
        '| writing to sockets, TLS | 60% |',
        '| hashes \\| signatures | 40% |',
        '',
        '| writing thread, busy less than 1% of the time |',
        '|---|',
        '',
        'The profile says **this**.',
        '',
      ].join('\n'),
    );
  });

  it('has no such table where nothing was profiled', () => {
    const [without, none] = [resultOf(), resultOf({ profile: null })].map((result) =>
      reportPage([storedOf(result)], notes),
    );
    assert.equal(without, none);
    assert.doesNotMatch(none ?? '', /share \|/);
  });

  it('is not made of nothing', () => assert.throws(() => reportPage([], notes), /no results/));
});

describe('stored results', () => {
  it('are read as they were stored, the newest of each, in the order asked for', (t) => {
    const folder = temporaryFolder(t);
    storeResult(folder, storedOf(resultOf()));
    storeResult(folder, storedOf(resultOf({ bench: 'guard', title: 'old' })));
    storeResult(folder, storedOf(resultOf({ bench: 'guard', title: 'new' })));
    const read = readResults(folder, ['guard', 'not measured', 'token']);
    assert.deepEqual(
      read.map(({ result }) => result.title),
      ['new', 'Issuing tokens'],
    );
    assert.deepEqual(read[1], storedOf(resultOf()));
  });

  it('have their profile, and are read without where they are older than profiles', (t) => {
    const folder = temporaryFolder(t);
    storeResult(folder, storedOf(resultOf({ profile: profileOfThreads() })));
    storeResult(folder, storedOf(resultOf({ bench: 'guard' })));
    const [token, guard] = readResults(folder, ['token', 'guard']);
    assert.deepEqual(token?.result.profile, profileOfThreads());
    assert.equal(guard?.result.profile, undefined);
    assert.match(printed(guard?.result ?? resultOf()), /^Issuing tokens/);
  });

  it('of a rehearsal make no report', (t) => {
    const folder = temporaryFolder(t);
    storeResult(folder, storedOf(resultOf(), { isRehearsal: true }));
    assert.throws(() => readResults(folder, ['token']), /token was measured with --quick/);
  });

  it('become a page, which ends with the note on PostgreSQL', (t) => {
    const docs = temporaryFolder(t);
    const notes = join(docs, 'notes.md');
    writeFileSync(notes, '## token\n\nA note.\n\n## postgresql\n\n### Rates\n\nAs many.\n');
    writeReport([storedOf(resultOf())], notes, docs);
    const page = readFileSync(join(docs, 'benchmarks.md'), 'utf8');
    assert.match(page, /^# Benchmarks$[\s\S]*A note\.\n\n## On PostgreSQL\n\n### Rates\n\nAs many\.\n$/m);
    assert.deepEqual(readdirSync(docs).sort(), ['benchmarks.md', 'notes.md']);
  });
});
