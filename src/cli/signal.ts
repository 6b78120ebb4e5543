/** How commands that run until they are told to end are told. */

/**
 * Resolves at the first SIGTERM or SIGINT. A SIGINT that comes later ends the process at once, as it would have without us: it is
 * a person who will not wait. One that comes with the first is the same signal, sent to a whole group of processes and passed on
 * by a parent too, as service managers and npm do; a SIGTERM never cuts a stop short.
 */
export function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    let firstAt: number | null = null;
    const caught = (signal: NodeJS.Signals): void => {
      firstAt ??= performance.now();
      if (signal === 'SIGINT' && performance.now() - firstAt > SAME_SIGNAL_MS) process.exit(INTERRUPTED);
      resolve();
    };
    process.on('SIGTERM', caught);
    process.on('SIGINT', caught);
  });
}

/** Two signals within this time are one. */
const SAME_SIGNAL_MS = 500;
/** What a shell reports of a process that SIGINT ended. */
const INTERRUPTED = 130;
