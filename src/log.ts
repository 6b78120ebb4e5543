/** The log: one JSON object a line (pino). What is logged is named at each call; headers and bodies never are. */
import { writeSync } from 'node:fs';
import pino from 'pino';
import { LOG_STALL_MS, LOG_WAITING_BYTES } from './limits.ts';

export type Log = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error' | 'isLevelEnabled'> & {
  /** Says at level info that a request was answered. */
  request(line: RequestLine): void;
};
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** `method`, `remoteAddress`, `clientId`, `refusal` and `errorId` hold nothing that JSON would have to escape. */
export type RequestLine = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly durationMs: number;
  readonly remoteAddress: string;
  readonly clientId: string | null;
  /** The code of the refusal that it was answered with. */
  readonly refusal: string | null;
  readonly errorId: string | null;
};

/** Writes to standard error unless told otherwise, so that standard output stays for what commands print. */
export function createLog(level: LogLevel, destination: pino.DestinationStream = standardError): Log {
  const log = pino({ level, base: null, timestamp: timeMember, serializers: { err: describeError } }, destination);
  const tellsRequests = log.isLevelEnabled('info');
  return Object.assign(log, {
    request: (line: RequestLine): void => {
      if (tellsRequests) destination.write(requestText(line));
    },
  });
}

/**
 * Where lines go that are written in one turn of the event loop: out together, in one write at the turn's end, or earlier when
 * there are 64 KiB of them. A process that is killed loses those of its last turn; one that exits or crashes loses none. Lines that
 * cannot be written are dropped: the disk is full, nobody reads them any more, or whoever does has stopped for a second. The service goes
 * on, and says how many when there is room again.
 */
export function turnDestination(fd: number): pino.DestinationStream {
  const writeWhole = createWriter(fd);
  const waiting = Buffer.allocUnsafe(LOG_WAITING_BYTES);
  let used = 0;
  const flush = (): void => {
    const bytes = used;
    used = 0;
    writeWhole(waiting.subarray(0, bytes));
  };
  process.once('exit', flush);
  // Deno's process has no exit event when it crashes.
  process.on('uncaughtExceptionMonitor', flush);
  return {
    write: (line) => {
      // A UTF-16 unit is three bytes of UTF-8 at most.
      if (used + line.length * 3 > waiting.length) flush();
      if (line.length * 3 > waiting.length) return writeWhole(Buffer.from(line));
      if (used === 0) setImmediate(flush);
      used += waiting.write(line, used);
    },
  };
}

const standardError: pino.DestinationStream = turnDestination(2);

/** Writes lines, or drops them: waits a second for a reader once, and for one that has let that pass no more until it reads again. */
function createWriter(fd: number): (lines: Buffer) => void {
  let dropped = 0;
  let isMidLine = false;
  return (lines) => {
    const told = dropped === 0 ? NOTHING : Buffer.from(`${isMidLine ? '\n' : ''}${droppedText(dropped)}`);
    const bytes = dropped === 0 ? lines : Buffer.concat([told, lines]);
    const written = writeSome(fd, bytes, dropped === 0 ? LOG_STALL_MS : 0);
    if (written >= told.length) dropped = 0;
    dropped += countLines(bytes.subarray(Math.max(written, told.length)));
    if (written > 0) isMidLine = bytes[written - 1] !== LINE_FEED;
  };
}

/** How many of the bytes could be written. */
function writeSome(fd: number, bytes: Buffer, patienceMs: number): number {
  const giveUpAt = performance.now() + patienceMs;
  let at = 0;
  while (at < bytes.length) {
    try {
      at += writeSync(fd, bytes, at, Math.min(bytes.length - at, PIECE_BYTES));
    } catch (error) {
      // A pipe whose reader is slower than the service, and which does not wait by itself.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() >= giveUpAt) break;
      Atomics.wait(PAUSE, 0, 0, 1);
    }
  }
  return at;
}

function droppedText(lines: number): string {
  return `{"level":40${timeMember()},"lines":${lines},"msg":"lines of the log could not be written"}\n`;
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) count += 1;
  return count;
}

const LINE_FEED = 10;
const NOTHING: Buffer = Buffer.alloc(0);
const PAUSE = new Int32Array(new SharedArrayBuffer(4));

/** A pipe takes this much whole or not at all (PIPE_BUF). Of a larger piece that it took in part Deno does not say how much it was. */
const PIECE_BYTES = 'deno' in process.versions ? 4096 : Number.POSITIVE_INFINITY;

/** A request's line as pino would write it. By hand, since every request has one: 0.8 µs instead of 3. */
function requestText({
  method,
  path,
  status,
  durationMs,
  remoteAddress,
  clientId,
  refusal,
  errorId,
}: RequestLine): string {
  const tenths = Math.round(durationMs * 10);
  const client = clientId === null ? '' : `,"clientId":"${clientId}"`;
  const code = refusal === null ? '' : `,"code":"${refusal}"`;
  const error = errorId === null ? '' : `,"errorId":"${errorId}"`;
  const where = `"method":"${method}","path":${quoted(path)},"status":${status}`;
  const how = `"durationMs":${Math.floor(tenths / 10)}.${tenths % 10},"remoteAddress":"${remoteAddress}"${client}${code}${error}`;
  return `{"level":30${timeMember()},${where},${how},"msg":"request"}\n`;
}

const NEEDS_ESCAPES = /[^\x20-\x7e]|["\\]/;

function quoted(text: string): string {
  return NEEDS_ESCAPES.test(text) ? JSON.stringify(text) : `"${text}"`;
}

let timeAt = Number.NaN;
let timeText = '';

/** Written out once a millisecond. */
function timeMember(): string {
  const now = Date.now();
  if (now !== timeAt) {
    timeAt = now;
    timeText = `,"time":"${new Date(now).toISOString()}"`;
  }
  return timeText;
}

/** Name, message and stack of an error, never its other members: those of libraries may hold headers or bodies. */
function describeError(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  return { name, message, stack, ...(cause === undefined ? {} : { cause: describeError(cause) }) };
}
