/** Reads the output of `strace -f -xx -yy`: the system calls of a process with their arguments, ordered by start. */

export type SystemCall = {
  readonly name: string;
  /** The file of its descriptor: a path or a connection, for example `TCP:[127.0.0.1:8080->127.0.0.1:50000]`. */
  readonly target: string;
  /** The written bytes in hex, of all buffers. */
  readonly hex: string;
  /** The lines of the trace on which it began and ended. Comparing them shows whether two calls were sequential or concurrent. */
  readonly beganAt: number;
  readonly endedAt: number;
};

/** The description of a connection contains a `>`. */
const WHOLE = /^(\d+) +(\w+)\(\d+<(.+?)>(?=[,)])(.*)\) += /;
const BEGUN = /^(\d+) +(\w+)\(\d+<(.+?)>(?=[, ])(.*) ?<unfinished \.\.\.>$/;
const RESUMED = /^(\d+) +<\.\.\. \w+ resumed>/;

/** Returns only calls on file descriptors. Leaves out calls that did not end. */
export function readTrace(text: string): SystemCall[] {
  const calls: SystemCall[] = [];
  /** Calls that have not ended yet, by thread. */
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

/** Encodes a text like `hex` of a call. */
export function hexOf(text: string | Uint8Array): string {
  return Buffer.from(text as string).toString('hex');
}

function buffersIn(text: string): string {
  return [...text.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, bytes = '']) => bytes.replaceAll('\\x', '')).join('');
}

/** strace writes paths in hex and connections as text. */
function decoded(target: string): string {
  if (!target.startsWith('\\x')) return target;
  return Buffer.from(target.replaceAll('\\x', ''), 'hex').toString();
}
