/**
 * The end of the process. Node waits at its exit for every thread that looks up a name or uses a file, and none of these can be
 * interrupted: with name servers that do not answer that is 10 s and more after everything is done.
 */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/** Ends the process with this status; without waiting for its threads where it can. */
export function leave(status: number): never {
  if (status === 0 && hasBusyThreads()) leaveAtOnce();
  process.exit(status);
}

/** Whether a thread works on what may never end. */
export function hasBusyThreads(): boolean {
  // Deno waits for none, and lists none.
  return process.getActiveResourcesInfo?.().some((resource) => BUSY.has(resource)) ?? false;
}

/**
 * Ends the process with status 0, whatever its threads do. `execve` ends all of them at once and keeps the process id; the program that
 * takes this one's place prints its version to nobody and ends. Where the system refuses, this is an ordinary exit.
 */
export function leaveAtOnce(): never {
  // What an exit would have done, such as writing out the log.
  process.emit('exit', 0);
  const { execPath, env } = process;
  try {
    closeSync(STANDARD_OUTPUT);
    // The lowest number that is free is taken.
    openSync(devNull, 'w');
    process.execve?.(execPath, [execPath, '--version'], { LD_LIBRARY_PATH: env.LD_LIBRARY_PATH ?? '' });
  } catch {
    // The program may be gone or replaced by an upgrade.
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
