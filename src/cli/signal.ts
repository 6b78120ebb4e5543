/** How commands that run until they are told to end are told. */
import { isatty } from 'node:tty';
import { hasBusyThreads } from './leave.ts';

/**
 * Resolves at the first SIGTERM or SIGINT. A SIGINT that comes later ends the process at once, as it would have without us: it is
 * a person who will not wait. One that comes with the first is the same signal, sent to a whole group of processes and passed on
 * by a parent too, as service managers and npm do; a SIGTERM never cuts a stop short.
 *
 * With `hangUp`, SIGHUP calls that, as service managers mean it. Where the terminal that the command began at is gone it is a stop instead:
 * a service that nobody sees any more is not to stay behind.
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
    const beganAtTerminal = hasTerminal();
    process.on('SIGHUP', (signal) => (beganAtTerminal && !hasTerminal() ? caught(signal) : hangUp()));
  });
}

/** Once a terminal was hung up, what was open at it is none any more. */
function hasTerminal(): boolean {
  return [0, 1, 2].some((fd) => isatty(fd));
}

/** Ends the process as an interrupt does; by the signal itself where an exit would wait for threads. */
function interrupt(): void {
  if (!hasBusyThreads()) process.exit(INTERRUPTED);
  process.removeAllListeners('SIGINT');
  process.kill(process.pid, 'SIGINT');
}

/** Two signals within this time are one. */
const SAME_SIGNAL_MS = 500;
/** What a shell reports of a process that SIGINT ended. */
const INTERRUPTED = 130;
