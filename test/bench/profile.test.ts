/** Profiles of benchmarks: the purpose of a function, the samples that count, and the thread of a profile. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { output } from '../../scripts/bench/harness/processes.ts';
import { monotonicMicros, profilingFlags, readProfiles } from '../../scripts/bench/harness/profile.ts';
import { type CpuProfile, largestShares, microsIn, threadProfile } from '../../scripts/bench/report/profile.ts';
import { type Frame, LOOP_RULES, purposeOf, WRITER_RULES } from '../../scripts/bench/report/profile-rules.ts';
import { temporaryFolder } from '../support/store.ts';

/** `name url` of each, the innermost first. */
function stackOf(text: string): Frame[] {
  return text.split(' < ').map((one) => {
    const at = one.lastIndexOf(' ');
    return { name: one.slice(0, at), url: one.slice(at + 1) };
  });
}

describe('the purpose of a function of the event loop', () => {
  const purposes: readonly [stack: string, what: string][] = [
    ['(garbage collector) ', 'garbage collection'],
    ['(program) ', 'the engine, and reading from sockets'],
    [
      'runMicrotasks  < processTicksAndRejections node:internal/process/task_queues',
      'the engine, and reading from sockets',
    ],
    ['writev  < writevGeneric node:internal/stream_base_commons', 'writing to sockets, TLS'],
    ['writeLatin1String  < handleWriteReq node:internal/stream_base_commons', 'writing to sockets, TLS'],
    ['writeBuffer  < writeSync node:fs < write src/observe/log.ts < answer src/http/server.ts', 'metrics and log'],
    ['writevGeneric node:internal/stream_base_commons', "Node's http, net, streams and timers"],
    ['emit node:events < answer src/http/server.ts', "Node's http, net, streams and timers"],
    ['insert node:internal/timers < send src/outbound/transport.ts', "Node's http, net, streams and timers"],
    ['postMessage  < postMessage node:internal/worker', 'handing statements to the writing thread'],
    ['emitMessage node:internal/per_context/messageport', 'handing statements to the writing thread'],
    ['sent src/store/sqlite/driver/thread-writer.ts', 'handing statements to the writing thread'],
    ['end src/store/sqlite/driver/thread-writer.ts', 'handing statements to the writing thread'],
    ['hash node:internal/crypto/hash < sha256Base64 src/wire/payload.ts', 'hashes and signatures'],
    ['sha256Base64 src/wire/payload.ts', 'hashes and signatures'],
    [
      'encodeUtf8String  < encode node:internal/encoding < encodeEnvelope src/wire/payload.ts',
      "the envelope's and the signature's text",
    ],
    ['signDelivery src/wire/payload.ts', 'hashes and signatures'],
    ['toString node:buffer < formatUuid src/kernel/ids.ts < issue src/access/tokens.ts', 'the gate and tokens'],
    ['crc32 node:zlib < checksum src/domain/credential.ts', 'the gate and tokens'],
    ['parse node_modules/zod/v4/core/parse.js < readBody src/http/request.ts', 'http: routing, bodies, replies'],
    ['observe node_modules/prom-client/lib/histogram.js < answer src/http/server.ts', 'metrics and log'],
    ['observeRequest src/observe/metrics.ts', 'metrics and log'],
    ['all src/store/sqlite/driver/sqlite.ts < records src/store/sqlite/delivery/dispatch.ts', 'reading from SQLite'],
    ['end src/store/sqlite/driver/sqlite.ts', 'reading from SQLite'],
    ['flush src/store/sqlite/driver/sqlite.ts', 'statements and rows'],
    ['readRecord src/store/sqlite/delivery/dispatch.ts', 'statements and rows'],
    ['judge src/domain/judge.ts', 'delivery: claim, judge, settle'],
    ['send src/outbound/transport.ts', 'outbound: connections and attempts'],
    ['viewEmployee src/employees/employees.ts < respond src/http/routes/employees.ts', 'the rest'],
    ['now  < (root) ', 'the rest'],
    ['run file:///elsewhere/src/http/server.ts', 'the rest'],
  ];
  for (const [stack, what] of purposes)
    it(`${stack}: ${what}`, () => assert.equal(purposeOf(stackOf(stack), LOOP_RULES), what));
});

describe('the purpose of a function of the writing thread', () => {
  const purposes: readonly [stack: string, what: string][] = [
    ['(garbage collector) ', 'garbage collection'],
    ['(program) ', 'the engine'],
    [' src/store/sqlite/driver/writer.ts < commitWaiting src/store/sqlite/driver/thread.ts', 'commit, with its fsync'],
    ['runStatement src/store/sqlite/driver/writer.ts', 'statements'],
    ['now  < now node:internal/perf/performance < runList src/store/sqlite/driver/writer.ts', 'statements'],
    [
      'pragma node_modules/better-sqlite3/lib/methods/pragma.js < checkpoint src/store/sqlite/driver/thread.ts',
      'copying the log into the file',
    ],
    ['postMessage  < reply src/store/sqlite/driver/thread.ts', "the event loop's messages"],
    [
      'unpackedValue src/store/sqlite/driver/thread-writer.ts < bind src/store/sqlite/driver/thread.ts',
      "the event loop's messages",
    ],
    ['processImmediate node:internal/timers', 'the rest'],
  ];
  for (const [stack, what] of purposes)
    it(`${stack}: ${what}`, () => assert.equal(purposeOf(stackOf(stack), WRITER_RULES), what));
});

const ROOT = 'file:///there/';

/** A profile that begins at 1000, with samples of 100 µs each: their stacks, the innermost function first. */
function profileOf(...samples: readonly string[]): CpuProfile {
  const nodes: { id: number; callFrame: { functionName: string; url: string }; children: number[] }[] = [];
  const ids = samples.map((sample) => {
    let id = 0;
    for (const { name: functionName, url } of stackOf(sample).reverse()) {
      const caller = nodes[id - 1];
      id = nodes.push({
        id: nodes.length + 1,
        children: [],
        callFrame: { functionName, url: url.startsWith('src/') ? ROOT + url : url },
      });
      caller?.children.push(id);
    }
    return id;
  });
  return { nodes, startTime: 1000, samples: ids, timeDeltas: ids.map(() => 100) };
}

describe('the profile of a thread', () => {
  const shared = { thread: 'event loop', root: ROOT, rules: LOOP_RULES };
  const profile = profileOf(
    'load src/http/server.ts',
    'load src/http/server.ts',
    'get src/store/sqlite/driver/sqlite.ts < read src/store/sqlite/driver/table.ts',
    '(idle) ',
    'get src/store/sqlite/driver/sqlite.ts',
    '(garbage collector) ',
    'answer src/http/server.ts',
  );

  it('has shares of the time in which it was not idle, the largest first', () => {
    assert.deepEqual(threadProfile({ ...shared, profile, span: { from: 1000, to: 1700 } }), {
      thread: 'event loop',
      busyShare: 6 / 7,
      shares: [
        { what: 'http: routing, bodies, replies', share: 3 / 6 },
        { what: 'reading from SQLite', share: 2 / 6 },
        { what: 'garbage collection', share: 1 / 6 },
      ],
    });
  });

  it('counts nothing before or after the span, and a sample on its edge in part', () => {
    assert.deepEqual(threadProfile({ ...shared, profile, span: { from: 1250, to: 1525 } }), {
      thread: 'event loop',
      busyShare: 175 / 275,
      shares: [
        { what: 'reading from SQLite', share: 150 / 175 },
        { what: 'garbage collection', share: 25 / 175 },
      ],
    });
  });

  it('has no shares where it was idle all the time', () => {
    assert.deepEqual(threadProfile({ ...shared, profile, span: { from: 1300, to: 1400 } }), {
      thread: 'event loop',
      busyShare: 0,
      shares: [],
    });
  });

  it('tells how long the functions of a folder ran themselves', () => {
    assert.equal(microsIn(profile, ROOT, 'src/http/'), 300);
    assert.equal(microsIn(profile, ROOT, 'src/store/sqlite/driver/table.ts'), 0);
  });
});

describe('the largest shares', () => {
  const shares = [
    { what: 'the rest', share: 0.4 },
    { what: 'a', share: 0.3 },
    { what: 'b', share: 0.2 },
    { what: 'c', share: 0.095 },
    { what: 'd', share: 0.005 },
  ];

  it('come first, all others together at the end', () => {
    const [a, b, rest, ...more] = largestShares(shares, 2);
    assert.deepEqual([a, b, more], [shares[1], shares[2], []]);
    assert.equal(rest?.what, 'the rest');
    assert.ok(Math.abs((rest?.share ?? 0) - 0.5) < 1e-9);
  });

  it('are of one percent at least, and so are the others', () => {
    assert.deepEqual(
      largestShares(shares, 9).map(({ what }) => what),
      ['a', 'b', 'c', 'the rest'],
    );
    assert.deepEqual(
      largestShares(
        [
          { what: 'a', share: 0.995 },
          { what: 'd', share: 0.005 },
        ],
        9,
      ),
      [{ what: 'a', share: 0.995 }],
    );
  });
});

describe('the profiles that a service leaves', () => {
  const span = { from: 1000, to: 1200 };
  const loop = profileOf('answer src/http/server.ts', ' src/store/sqlite/driver/writer.ts');
  const writer = profileOf(' src/store/sqlite/driver/writer.ts', 'runStatement src/store/sqlite/driver/writer.ts');
  const copier = profileOf(' src/store/sqlite/driver/writer.ts', 'checkpoint src/store/sqlite/driver/thread.ts');
  const folderOf = (t: Parameters<typeof temporaryFolder>[0], profiles: readonly CpuProfile[]): string => {
    const folder = temporaryFolder(t);
    for (const [at, profile] of profiles.entries())
      writeFileSync(join(folder, `CPU.${at}.cpuprofile`), JSON.stringify(profile));
    writeFileSync(join(folder, 'another.json'), '{}');
    return folder;
  };

  it('are recognised by the files that ran in them, and the thread that copies the log is left out', (t) => {
    for (const profiles of [
      [loop, writer, copier],
      [copier, writer, loop],
    ]) {
      assert.deepEqual(readProfiles(folderOf(t, profiles), span, ROOT), [
        {
          thread: 'event loop',
          busyShare: 1,
          shares: [
            { what: 'http: routing, bodies, replies', share: 0.5 },
            { what: 'statements and rows', share: 0.5 },
          ],
        },
        {
          thread: 'writing thread',
          busyShare: 1,
          shares: [
            { what: 'commit, with its fsync', share: 0.5 },
            { what: 'statements', share: 0.5 },
          ],
        },
      ]);
    }
  });

  it('must be there', (t) => {
    assert.throws(() => readProfiles(folderOf(t, [writer]), span, ROOT), /no profile of the event loop/);
    assert.throws(() => readProfiles(folderOf(t, [loop]), span, ROOT), /no profile of the writing thread/);
  });

  it('are written by Node on the clock of the span', async (t) => {
    const folder = temporaryFolder(t);
    const from = monotonicMicros();
    await output(process.execPath, [
      ...profilingFlags(folder),
      '-e',
      'for (const until = performance.now() + 50; performance.now() < until; );',
    ]);
    const to = monotonicMicros();
    const [file = ''] = readdirSync(folder);
    const profile = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile;
    const end = profile.timeDeltas.reduce((at, delta) => at + delta, profile.startTime);
    assert.ok(
      from < profile.startTime && profile.startTime < end && end < to,
      `${from} ${profile.startTime} ${end} ${to}`,
    );
    assert.equal(profile.samples.length, profile.timeDeltas.length);
  });
});
