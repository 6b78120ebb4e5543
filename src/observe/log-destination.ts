/**
 * Writes the lines of the log. The event loop never waits for their reader: lines that cannot be written now wait in a bounded buffer, and
 * when that is full, further lines are dropped and counted. With pino's own destination, a process whose log nobody reads had not ended
 * after 20 seconds.
 */
import { constants, fstatSync, openSync, readFileSync, write, writeSync } from 'node:fs';

/** Buffer of log lines, for about 25,000. Further lines are dropped. */
export const LOG_BUFFER_BYTES: number = 4 * 1024 * 1024;

/** Characters of log lines that become bytes together. A longer line is not cut. */
export const LOG_CHUNK_LENGTH: number = 64 * 1024;

/** Least time between two writes of log lines. */
export const LOG_PAUSE_MS = 40;

/** Delay before writing to a slow reader again. */
const LOG_RETRY_MS = 20;

/** How long an ending process waits for its reader. */
const LOG_LAST_MS = 1000;

type LogDestination = {
  write(line: string): void;
  /** Resolves once everything is written, or after a second. */
  drained(): Promise<void>;
  /** The number of lines that were dropped so far. */
  droppedLines(): number;
};

/**
 * Writes to a descriptor. The lines of one turn of the event loop are written together at its end. Under load, those of LOG_PAUSE_MS are:
 * a write wakes a thread or the reader, which cost as much as a tenth of a request. A process that is killed loses its lines of that time.
 * One that exits or crashes writes what its reader accepts within a second. Only whole lines are dropped; once there is room again, a line
 * says how many.
 */
export function createLogDestination(fd: number, now: () => number = () => performance.now()): LogDestination {
  let sink: Sink | null = null;
  /** Whether lines wait for the next flush: at the end of the turn, or when `pause` is over. */
  let isScheduled = false;
  let pause: NodeJS.Timeout | null = null;
  let flushedAt = Number.NEGATIVE_INFINITY;
  let isWriting = false;
  let retry: NodeJS.Timeout | null = null;
  let onDrained: (() => void) | null = null;
  /** How long the exit of the process waits. 0 after `drained` has waited in vain, so that it does not wait twice. */
  let lastMs = LOG_LAST_MS;

  const flushAtTurnsEnd = (): void => {
    if (pause !== null) clearTimeout(pause);
    pause = null;
    setImmediate(flush);
  };
  const buffer = createLineBuffer(() => {
    // Full chunks do not wait for the end of a pause.
    if (pause !== null) flushAtTurnsEnd();
  });
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    const waitMs = flushedAt + LOG_PAUSE_MS - now();
    if (waitMs <= 0) flushAtTurnsEnd();
    // The exit of the process writes them too.
    else pause = setTimeout(flush, waitMs).unref();
  };
  const flush = (): void => {
    isScheduled = false;
    if (pause !== null) clearTimeout(pause);
    pause = null;
    if (isWriting) return;
    flushedAt = now();
    buffer.seal();
    writeWaiting();
  };
  const writeWaiting = (): void => {
    for (let first = buffer.first(); first !== undefined; first = buffer.first()) {
      sink ??= openSink(fd);
      if (sink.blocks) {
        writeByThread(sink.fd, first);
        return;
      }
      const bytes = tryWrite(sink.fd, first);
      if (typeof bytes !== 'number') {
        flushLater();
        return;
      }
      buffer.remove(bytes);
      buffer.seal();
    }
    onDrained?.();
  };
  /** Writes one piece at a time. After an error it tries again later, because the disk may have room again. */
  const writeByThread = (to: number, first: Buffer): void => {
    isWriting = true;
    write(to, first, 0, Math.min(first.length, PIECE_BYTES), (error, bytes) => {
      isWriting = false;
      if (error !== null) {
        flushLater();
        return;
      }
      buffer.remove(bytes);
      if (buffer.first() !== undefined) writeWaiting();
      else if (onDrained !== null) flush();
      else if (buffer.isCollecting()) schedule();
    });
  };
  const flushLater = (): void => {
    if (retry !== null) return;
    retry = setTimeout(() => {
      retry = null;
      flush();
    }, LOG_RETRY_MS).unref();
  };
  /** Leaves a piece that a thread is still writing to that thread. */
  const finish = (): void => {
    buffer.seal();
    if (buffer.first() === undefined || (isWriting && !isFile(fd))) return;
    sink ??= openSink(fd);
    writeRest(sink.fd, buffer, { isWriting, giveUpAt: performance.now() + lastMs });
  };
  process.once('exit', finish);
  // Deno emits no exit event after a crash.
  process.on('uncaughtExceptionMonitor', finish);

  return {
    write: (line) => {
      buffer.add(line);
      schedule();
    },
    drained: () =>
      new Promise((resolve) => {
        const patience = setTimeout(() => {
          lastMs = 0;
          onDrained = null;
          resolve();
        }, LOG_LAST_MS);
        onDrained = () => {
          clearTimeout(patience);
          onDrained = null;
          resolve();
        };
        flush();
      }),
    droppedLines: buffer.droppedLines,
  };
}

type LineBuffer = {
  /** Keeps the line, or drops it if the buffer is full. */
  add(line: string): void;
  /** Turns the collected lines into a chunk to write. */
  seal(): void;
  /** The oldest chunk to write, or the rest of it. */
  first(): Buffer | undefined;
  /** Removes written bytes of the first chunk. */
  remove(bytes: number): void;
  /** Forgets the first chunk, which another writer writes. */
  skip(): void;
  /** Whether there are lines that are in no chunk. */
  isCollecting(): boolean;
  droppedLines(): number;
};

/** The lines that wait to be written. `onChunk` is called for each new chunk. */
function createLineBuffer(onChunk: () => void): LineBuffer {
  /** Chunks to write, oldest first. `chunk` collects the lines of the next one: joining them once costs less than encoding each. */
  const waiting: Buffer[] = [];
  let waitingBytes = 0;
  let chunk: string[] = [];
  let chunkLength = 0;
  /** Lines dropped since the last line that was kept, and in total. */
  let dropped = 0;
  let droppedInAll = 0;

  const seal = (): void => {
    if (chunkLength === 0) return;
    const bytes = Buffer.from(chunk.join(''));
    chunk = [];
    chunkLength = 0;
    waiting.push(bytes);
    waitingBytes += bytes.length;
    onChunk();
  };
  const append = (line: string): void => {
    if (chunkLength + line.length > LOG_CHUNK_LENGTH) seal();
    chunk.push(line);
    chunkLength += line.length;
  };
  return {
    add: (line) => {
      if (dropped > 0 || waitingBytes + (chunkLength + line.length) * 3 > LOG_BUFFER_BYTES) {
        dropped += 1;
        droppedInAll += 1;
      } else append(line);
    },
    seal,
    first: () => waiting[0],
    remove: (bytes) => {
      const [first] = waiting;
      if (first === undefined) return;
      waitingBytes -= bytes;
      if (bytes === first.length) waiting.shift();
      else waiting[0] = first.subarray(bytes);
      // Only once half of the buffer is free: otherwise this line would be written after almost every other one.
      if (dropped === 0 || waitingBytes + chunkLength > LOG_BUFFER_BYTES / 2) return;
      append(droppedText(dropped));
      dropped = 0;
    },
    skip: () => void waiting.shift(),
    isCollecting: () => chunkLength > 0,
    droppedLines: () => droppedInAll,
  };
}

/** Writes the rest when the process ends, and waits for a slow reader until `giveUpAt`. */
function writeRest(
  fd: number,
  buffer: LineBuffer,
  { isWriting, giveUpAt }: { readonly isWriting: boolean; readonly giveUpAt: number },
): void {
  if (isWriting) buffer.skip();
  for (let first = buffer.first(); first !== undefined; first = buffer.first()) {
    const bytes = tryWrite(fd, first);
    if (typeof bytes === 'number') {
      buffer.remove(bytes);
      buffer.seal();
    } else {
      if (bytes.code !== 'EAGAIN' || performance.now() >= giveUpAt) return;
      Atomics.wait(PAUSE, 0, 0, 1);
    }
  }
}

/** The log of the process. */
export const standardError: LogDestination = createLogDestination(2);

/** `blocks`: a write may block on a disk or a reader, so a thread does it. */
type Sink = { readonly fd: number; readonly blocks: boolean };

/**
 * Opens a pipe or terminal again in non-blocking mode, which does not affect other processes that share the descriptor. Files, and
 * descriptors that cannot be opened again, stay blocking.
 */
function openSink(fd: number): Sink {
  try {
    const stat = fstatSync(fd);
    if (stat.isFile() || IS_DENO) return { fd, blocks: true };
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0';
    if ((Number.parseInt(flags, 8) & constants.O_NONBLOCK) !== 0) return { fd, blocks: false };
    if (!stat.isFIFO() && !stat.isCharacterDevice()) return { fd, blocks: true };
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return { fd: openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY), blocks: false };
  } catch {
    return { fd, blocks: true };
  }
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    return false;
  }
}

/** The number of bytes that were written, or the error. */
function tryWrite(fd: number, bytes: Buffer): number | NodeJS.ErrnoException {
  try {
    return writeSync(fd, bytes, 0, Math.min(bytes.length, PIECE_BYTES));
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

function droppedText(lines: number): string {
  const time = new Date().toISOString();
  return `{"level":40,"time":"${time}","lines":${lines},"msg":"lines of the log could not be written"}\n`;
}

const IS_DENO = 'deno' in process.versions;
const PAUSE = new Int32Array(new SharedArrayBuffer(4));
/** A pipe takes this much whole or not at all (PIPE_BUF). Of a larger piece that it took in part Deno does not say how much it was. */
const PIECE_BYTES = IS_DENO ? 4096 : Number.POSITIVE_INFINITY;
