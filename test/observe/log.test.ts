import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import type { RequestLine } from '../../src/kernel/log.ts';
import { createLog } from '../../src/observe/log.ts';
import {
  createLogDestination,
  LOG_BUFFER_BYTES,
  LOG_CHUNK_LENGTH,
  LOG_PAUSE_MS,
} from '../../src/observe/log-destination.ts';
import { temporaryFolder } from '../support/store.ts';

const LINE: RequestLine = {
  method: 'GET',
  path: '/livez',
  status: 200,
  durationMs: 1.26,
  remoteAddress: '127.0.0.1',
  clientId: null,
  refusal: null,
  errorId: null,
};

function logged(line: RequestLine): Record<string, unknown> {
  const lines: string[] = [];
  createLog('info', { write: (text: string) => void lines.push(text) }).request(line);
  const [only = ''] = lines;
  assert.equal(lines.length, 1);
  assert.ok(only.endsWith('}\n'));
  return JSON.parse(only) as Record<string, unknown>;
}

describe('the line of a request', () => {
  it('has its fields in the order of other lines', () => {
    const { time, ...rest } = logged({ ...LINE, clientId: 'spc_1', refusal: 'invalid_client', errorId: 'e-1' });
    assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(Object.entries(rest), [
      ['level', 30],
      ['method', 'GET'],
      ['path', '/livez'],
      ['status', 200],
      ['durationMs', 1.3],
      ['remoteAddress', '127.0.0.1'],
      ['clientId', 'spc_1'],
      ['code', 'invalid_client'],
      ['errorId', 'e-1'],
      ['msg', 'request'],
    ]);
  });

  it('omits the client, the code and the error id of a request without them', () => {
    assert.deepEqual(Object.keys(logged(LINE)).slice(-2), ['remoteAddress', 'msg']);
  });

  it('is one line of JSON for any path', () => {
    const paths = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('"', '\\', '/a\n{"level":60}', '\u2028', 'é'),
    );
    fc.assert(fc.property(paths, (path) => assert.equal(logged({ ...LINE, path }).path, path)));
  });

  it('has the duration in tenths of a millisecond', () => {
    const table: readonly [took: number, said: number][] = [
      [0, 0],
      [0.04, 0],
      [0.05, 0.1],
      [0.96, 1],
      [12.34, 12.3],
      [30_000.06, 30_000.1],
    ];
    for (const [took, said] of table) assert.equal(logged({ ...LINE, durationMs: took }).durationMs, said);
  });

  it('is not written at levels above info', () => {
    const lines: string[] = [];
    createLog('warn', { write: (text: string) => void lines.push(text) }).request(LINE);
    assert.deepEqual(lines, []);
  });
});

describe('the destination of the log', () => {
  const opened = (t: TestContext, now?: () => number) => {
    const file = join(temporaryFolder(t), 'log');
    const fd = openSync(file, 'a');
    t.after(() => closeSync(fd));
    return { log: createLogDestination(fd, now), text: () => readFileSync(file, 'utf8') };
  };

  it('writes the lines of a turn together, in order, after its end', async (t) => {
    const { log, text } = opened(t);
    log.write('one\n');
    log.write('zwölf\n');
    assert.equal(text(), '');
    await turn();
    await log.drained();
    assert.equal(text(), 'one\nzwölf\n');
    log.write('three\n');
    await log.drained();
    assert.equal(text(), 'one\nzwölf\nthree\n');
  });

  it('writes the lines of several turns together under load, and the last ones automatically', async (t) => {
    let now = 1000;
    const { log, text } = opened(t, () => now);
    const turns = async (count: number, said: string): Promise<void> => {
      for (let n = 0; n < count; n += 1) {
        log.write(said);
        await turn();
      }
    };
    log.write('first\n');
    for (const deadline = Date.now() + 10_000; text() === '' && Date.now() < deadline; ) await turn();
    assert.equal(text(), 'first\n', 'the first line does not wait');
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await turns(100, 'x\n');
    assert.equal(text(), 'first\n');
    t.mock.timers.tick(LOG_PAUSE_MS);
    for (const deadline = Date.now() + 10_000; text() === 'first\n' && Date.now() < deadline; ) await turn();
    assert.equal(text(), `first\n${'x\n'.repeat(100)}`);
    now += 60_000;
    // A full chunk does not wait.
    const long = `${'y'.repeat(LOG_CHUNK_LENGTH / 2)}\n`;
    await turns(3, long);
    const two = `first\n${'x\n'.repeat(100)}${long.repeat(2)}`;
    for (const deadline = Date.now() + 10_000; text().length < two.length && Date.now() < deadline; ) await turn();
    assert.ok(text().startsWith(two));
    await log.drained();
    assert.equal(text(), two + long);
  });

  it('writes a line that is larger than a chunk, in order', async (t) => {
    const { log, text } = opened(t);
    const long = `${'é'.repeat(LOG_CHUNK_LENGTH)}\n`;
    log.write('before\n');
    log.write(long);
    log.write('after\n');
    await log.drained();
    assert.equal(text(), `before\n${long}after\n`);
  });

  const fifo = (t: TestContext): string => {
    const path = join(temporaryFolder(t), 'fifo');
    execFileSync('mkfifo', [path]);
    return path;
  };
  const line = (n: number): string => `{"n":${n},"x":"${'x'.repeat(980)}"}\n`;

  it('loses nothing for a slow reader', async (t) => {
    const path = fifo(t);
    const keepOpen = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const reader = spawn('wc', ['-c', path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    const log = createLogDestination(fd);
    // More than a pipe can hold, and less than the buffer.
    let bytes = 0;
    for (let n = 0; n < 2000; n += 1) {
      log.write(line(n));
      bytes += line(n).length;
    }
    await log.drained();
    closeSync(fd);
    closeSync(keepOpen);
    const [[counted]] = await Promise.all([once(reader.stdout, 'data'), once(reader, 'exit')]);
    assert.equal(Number.parseInt(String(counted), 10), bytes);
  });

  for (const [kind, flags] of [
    ['a pipe that does not wait', constants.O_WRONLY | constants.O_NONBLOCK],
    ['a pipe that waits', constants.O_WRONLY],
  ] as const) {
    it(`never waits for a reader that has stopped, and reports the number of dropped lines once it reads again: ${kind}`, async (t) => {
      const path = fifo(t);
      const reading = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
      const fd = openSync(path, flags);
      t.after(() => [reading, fd].forEach(closeSync));
      const log = createLogDestination(fd);
      const waits = t.mock.method(Atomics, 'wait');
      const count = Math.ceil((1.5 * LOG_BUFFER_BYTES) / 1000);
      for (let n = 0; n < count; n += 1) {
        log.write(line(n));
        if (n % 100 === 0) await turn();
      }
      const dropped = log.droppedLines();
      assert.ok(dropped > 0 && dropped < count, `${dropped} of ${count}`);
      assert.equal(waits.mock.callCount(), 0);

      // Half of the buffer is free long before the end. The line about dropped lines follows the kept ones.
      const text = await readUntil(reading, '"msg":"lines of the log could not be written"}\n');
      log.write('later\n');
      const lines = (text + (await readUntil(reading, 'later\n'))).split('\n');
      assert.equal(lines.pop(), '');
      assert.equal(lines.pop(), 'later');
      assert.equal((JSON.parse(lines.pop() ?? '') as { lines: number }).lines, dropped);
      assert.deepEqual(
        lines.map((one) => (JSON.parse(one) as { n: number }).n),
        Array.from({ length: count - dropped }, (_, n) => n),
      );
      assert.equal(log.droppedLines(), dropped);
    });
  }

  it('continues without a reader, and gives up at the end', async (t) => {
    const path = fifo(t);
    const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const fd = openSync(path, constants.O_WRONLY);
    t.after(() => closeSync(fd));
    closeSync(reading);
    const log = createLogDestination(fd);
    log.write('nobody hears\n');
    await turn();
    log.write('nor this\n');
    await log.drained();
  });

  const program = fileURLToPath(new URL('../support/last-words.ts', import.meta.url));
  const run = (end: string) => [process.execPath, '--disable-warning=ExperimentalWarning', program, end] as const;

  it('is written completely by a process that exits in the middle of a turn, or crashes', () => {
    for (const end of ['exit', 'crash']) {
      const [command, ...args] = run(end);
      const { stderr, status } = spawnSync(command, args, { encoding: 'utf8' });
      assert.notEqual(status, 0);
      assert.match(stderr, /"msg":"last words"/);
    }
  });

  it('waits at most a second for a slow reader at the end, also for a file or a socket', async (t) => {
    const [command, ...args] = run('many');
    const file = join(temporaryFolder(t), 'log');
    const fd = openSync(file, 'w');
    t.after(() => closeSync(fd));
    const outcome = spawnSync(command, args, { stdio: ['ignore', 'ignore', fd] });
    assert.equal(outcome.status, 3);
    assert.equal(readFileSync(file, 'utf8').split('\n').length, 1001);

    const piped = spawnSync(command, args, { encoding: 'utf8' });
    assert.equal(piped.stderr.split('\n').length, 1001);

    const path = fifo(t);
    const reading = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const stopped = openSync(path, constants.O_WRONLY);
    t.after(() => [reading, stopped].forEach(closeSync));
    // The process ends although nothing reads.
    assert.equal(spawnSync(command, args, { stdio: ['ignore', 'ignore', stopped] }).status, 3);
  });
});

/** Reads a pipe until the text ends with this. */
async function readUntil(fd: number, end: string): Promise<string> {
  const buffer = Buffer.alloc(64 * 1024);
  for (let text = ''; ; await sleep(1)) {
    try {
      text += buffer.toString('latin1', 0, readSync(fd, buffer));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
    if (text.endsWith(end)) return text;
  }
}
