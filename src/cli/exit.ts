/** How the process ends: signals, and an exit that does not wait for threads. */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { isatty } from 'node:tty';

/**
 * Resolves at the first SIGTERM or SIGINT. A later SIGINT ends the process immediately, for a person who does not want to wait. A SIGINT
 * together with the first signal counts as the same one: service managers and npm send it to a process group and a parent passes it on.
 * A SIGTERM never ends a stop early.
 *
 * With `hangUp`, SIGHUP calls that function. If the terminal at which the command started is gone, SIGHUP stops the command instead: a
 * service that nobody can see must not stay behind.
 */
export function firstSignal(hangUp?: () => void): Promise<void> {
  return new Promise((resolve) => {
    let firstAt: number | null = null;
    const caught = (signal: NodeJS.Signals): void => {
      firstAt ??= performance.now();
      if (signal === 'SIGINT' && performance.now() - firstAt > SAME_SIGNAL_MS) interrupt();
      resolve();
    };
    process.on('SIGTERM', caught);
    process.on('SIGINT', caught);
    if (hangUp === undefined) return;
    const startedAtTerminal = hasTerminal();
    process.on('SIGHUP', (signal) => (startedAtTerminal && !hasTerminal() ? caught(signal) : hangUp()));
  });
}

/** A descriptor of a terminal that was hung up is no longer a terminal. */
function hasTerminal(): boolean {
  return [0, 1, 2].some((fd) => isatty(fd));
}

/** Ends the process as an interrupt does. Uses the signal itself if an exit would wait for threads. */
function interrupt(): void {
  if (!hasBusyThreads()) process.exit(INTERRUPTED);
  process.removeAllListeners('SIGINT');
  process.kill(process.pid, 'SIGINT');
}

/** Two signals within this time count as one. */
const SAME_SIGNAL_MS = 500;
/** The status that a shell reports after SIGINT. */
const INTERRUPTED = 130;

/**
 * Ends the process with this status. On exit, Node waits for every thread that looks up a name or uses a file, and none of these can be
 * interrupted: with name servers that do not answer this takes 10 s and more. So a successful exit does not wait for them.
 */
export function leave(status: number): never {
  if (status === 0 && hasBusyThreads()) leaveAtOnce();
  process.exit(status);
}

/** Whether a thread is busy with an operation that may never end. */
function hasBusyThreads(): boolean {
  // Deno does not wait for threads, and does not list them.
  return process.getActiveResourcesInfo?.().some((resource) => BUSY.has(resource)) ?? false;
}

/**
 * Ends the process with status 0 without waiting for threads. `execve` ends all threads and keeps the process id; the new program prints
 * its version, which nobody reads, and ends. If the system refuses, this is an ordinary exit.
 */
export function leaveAtOnce(): never {
  // Run the exit handlers, for example to flush the log.
  process.emit('exit', 0);
  const { execPath, env } = process;
  try {
    closeSync(STANDARD_OUTPUT);
    // Takes the lowest free number, which is that of standard output.
    openSync(devNull, 'w');
    process.execve?.(execPath, [execPath, '--version'], { LD_LIBRARY_PATH: env.LD_LIBRARY_PATH ?? '' });
  } catch {
    // An upgrade may have removed or replaced the program.
  }
  process.exit(0);
}

const STANDARD_OUTPUT = 1;
const BUSY: ReadonlySet<string> = new Set([
  'GetAddrInfoReqWrap',
  'GetNameInfoReqWrap',
  'FSReqCallback',
  'FSReqPromise',
]);
