/** Reads the output of `strace -f -xx -yy`: the system calls of a process in the order in which they began, with their arguments. */

export type SystemCall = {
  readonly name: string;
  /** The file of its descriptor: a path, or `TCP:[127.0.0.1:8080->127.0.0.1:50000]`, for example. */
  readonly target: string;
  /** The written bytes in hex, of all buffers. */
  readonly hex: string;
  /** The lines on which it began and on which it was over: another call lies before it, after it, or beside it. */
  readonly beganAt: number;
  readonly endedAt: number;
};

/** The description of a connection contains a `>`. */
const WHOLE = /^(\d+) +(\w+)\(\d+<(.+?)>(?=[,)])(.*)\) += /;
const BEGUN = /^(\d+) +(\w+)\(\d+<(.+?)>(?=[, ])(.*) ?<unfinished \.\.\.>$/;
const RESUMED = /^(\d+) +<\.\.\. \w+ resumed>/;

/** Calls on file descriptors alone. One that was never over is none. */
export function readTrace(text: string): SystemCall[] {
  const calls: SystemCall[] = [];
  /** Begun and not yet over, by thread. */
  const open = new Map<string, Omit<SystemCall, 'endedAt'>>();
  for (const [at, line] of text.split('\n').entries()) {
    const [, thread = ''] = RESUMED.exec(line) ?? [];
    const resumed = open.get(thread);
    if (resumed !== undefined) {
      open.delete(thread);
      calls.push({ ...resumed, endedAt: at });
      continue;
    }
    const begun = BEGUN.exec(line);
    const whole = begun === null ? WHOLE.exec(line) : null;
    const [, caller = '', name = '', target = '', rest = ''] = begun ?? whole ?? [];
    if (name === '') continue;
    const call = { name, target: decoded(target), hex: buffersIn(rest), beganAt: at };
    if (begun === null) calls.push({ ...call, endedAt: at });
    else open.set(caller, call);
  }
  return calls.sort((a, b) => a.beganAt - b.beganAt);
}

/** A text in the hex form of a call. */
export function hexOf(text: string | Uint8Array): string {
  return Buffer.from(text as string).toString('hex');
}

function buffersIn(text: string): string {
  return [...text.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, bytes = '']) => bytes.replaceAll('\\x', '')).join('');
}

/** Paths are hex, connections are text. */
function decoded(target: string): string {
  if (!target.startsWith('\\x')) return target;
  return Buffer.from(target.replaceAll('\\x', ''), 'hex').toString();
}
