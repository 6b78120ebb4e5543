import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { LOG_STALL_MS, LOG_WAITING_BYTES } from '../src/limits.ts';
import { createLog, type RequestLine, turnDestination } from '../src/log.ts';
import { temporaryFolder } from './support/store.ts';

const LINE: RequestLine = {
  ...{ method: 'GET', path: '/livez', status: 200, durationMs: 1.26, remoteAddress: '127.0.0.1' },
  ...{ clientId: null, refusal: null, errorId: null },
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
  it('says of it what there is to say, in the order of every other line', () => {
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

  it('leaves out the client, the refusal and the error where there are none', () => {
    assert.deepEqual(Object.keys(logged(LINE)).slice(-2), ['remoteAddress', 'msg']);
  });

  it('is one line of JSON whatever the path holds', () => {
    const paths = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('"', '\\', '/a\n{"level":60}', '\u2028', 'é'),
    );
    fc.assert(fc.property(paths, (path) => assert.equal(logged({ ...LINE, path }).path, path)));
  });

  it('gives the time it took in tenths of a millisecond', () => {
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

  it('is not written where the level is above info', () => {
    const lines: string[] = [];
    createLog('warn', { write: (text: string) => void lines.push(text) }).request(LINE);
    assert.deepEqual(lines, []);
  });
});

describe('the destination of the log', () => {
  const opened = (t: TestContext) => {
    const file = join(temporaryFolder(t), 'log');
    const fd = openSync(file, 'a');
    t.after(() => closeSync(fd));
    return { log: turnDestination(fd), text: () => readFileSync(file, 'utf8') };
  };

  it('takes the lines of a turn together, in order, at its end', async (t) => {
    const { log, text } = opened(t);
    log.write('one\n');
    log.write('zwölf\n');
    assert.equal(text(), '');
    await turn();
    assert.equal(text(), 'one\nzwölf\n');
    log.write('three\n');
    await turn();
    assert.equal(text(), 'one\nzwölf\nthree\n');
  });

  it('does not wait for the end of a turn that has much to say', async (t) => {
    const { log, text } = opened(t);
    const line = `${'x'.repeat(999)}\n`;
    for (let n = 0; n < 100; n += 1) log.write(line);
    assert.ok(text().length > 100_000 - LOG_WAITING_BYTES);
    await turn();
    assert.equal(text(), line.repeat(100));
  });

  it('takes a line that is larger than all it keeps, in its place', async (t) => {
    const { log, text } = opened(t);
    const long = `${'é'.repeat(LOG_WAITING_BYTES)}\n`;
    log.write('before\n');
    log.write(long);
    log.write('after\n');
    await turn();
    assert.equal(text(), `before\n${long}after\n`);
  });

  const fifo = (t: TestContext): string => {
    const path = join(temporaryFolder(t), 'fifo');
    execFileSync('mkfifo', [path]);
    return path;
  };

  it('waits for a reader that is slower, and loses nothing', async (t) => {
    // However long the machine keeps the reader: its second never ends.
    t.mock.method(performance, 'now', () => 0);
    const path = fifo(t);
    const keepOpen = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const reader = spawn('wc', ['-c', path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    const log = turnDestination(fd);
    const line = `${'x'.repeat(9999)}\n`;
    // More than a pipe holds, so that the system says to try again.
    for (let n = 0; n < 200; n += 1) log.write(line);
    await turn();
    closeSync(fd);
    closeSync(keepOpen);
    const [[counted]] = await Promise.all([once(reader.stdout, 'data'), once(reader, 'exit')]);
    assert.equal(Number.parseInt(String(counted), 10), 2_000_000);
  });

  it('waits once for a reader that has stopped, then goes on without its lines, and says how many those were', async (t) => {
    const path = fifo(t);
    const reading = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    t.after(() => [reading, fd].forEach(closeSync));
    const log = turnDestination(fd);
    const line = `{"x":"${'x'.repeat(990)}"}\n`;
    const begunAt = performance.now();
    // Ten times what a pipe holds, in many turns.
    for (let n = 0; n < 640; n += 1) {
      log.write(line);
      if (n % 10 === 0) await turn();
    }
    await turn();
    const tookMs = performance.now() - begunAt;
    // Did every turn wait, there would be a minute of it.
    assert.ok(tookMs >= LOG_STALL_MS && tookMs < 30 * LOG_STALL_MS, `${tookMs} ms`);

    const buffer = Buffer.alloc(1024 * 1024);
    const kept = buffer.toString('utf8', 0, readSync(reading, buffer)).split('\n');
    log.write(line);
    await turn();
    const rest = buffer.toString('utf8', 0, readSync(reading, buffer)).split('\n');
    // What was in the pipe ends in the middle of a line, or after one.
    const broken = kept.pop();
    if (broken !== '') assert.equal(rest.shift(), '');
    const { lines, msg } = JSON.parse(rest.shift() ?? '') as { lines: number; msg: string };
    assert.equal(msg, 'lines of the log could not be written');
    assert.equal(kept.length + lines, 640);
    assert.deepEqual(rest, [line.trim(), '']);
    assert.ok(kept.every((one) => `${one}\n` === line));
  });

  it('goes on without its lines when nobody reads them any more', async (t) => {
    const path = fifo(t);
    const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const fd = openSync(path, constants.O_WRONLY);
    t.after(() => closeSync(fd));
    closeSync(reading);
    const log = turnDestination(fd);
    log.write('nobody hears\n');
    await turn();
    log.write('nor this\n');
    await turn();
  });

  it('is written out by a process that exits in the middle of a turn, or crashes', () => {
    const program = fileURLToPath(new URL('./support/last-words.ts', import.meta.url));
    for (const end of ['exit', 'crash']) {
      const flags = ['--disable-warning=ExperimentalWarning', program, end];
      const { stderr, status } = spawnSync(process.execPath, flags, { encoding: 'utf8' });
      assert.notEqual(status, 0);
      assert.match(stderr, /"msg":"last words"/);
    }
  });
});
