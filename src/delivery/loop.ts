/** A loop that looks for work when it is told to, when it asked to, and at every poll; never twice at once. */

import type { Clock } from '../kernel/ids.ts';
import { LOOK_LIMIT_MS } from '../kernel/limits/delivery.ts';
import type { Log } from '../observe/log.ts';

export type Loop = {
  start(): void;
  /** There may be work: looks at once, or once more if it is looking. */
  wake(): void;
  /** Resolves when the look under way is over. */
  stop(): Promise<void>;
  isRunning(): boolean;
  /** Whether it has come around lately. */
  isAlive(): boolean;
};

type Dependencies = {
  /** Looks once; answers whether to look again at once, and if not, when at the latest. */
  readonly look: () => Promise<{ readonly again: boolean; readonly nextAt: number | null }>;
  readonly clock: Clock;
  readonly log: Log;
  readonly pollMs: number;
  /** Milliseconds that only grow; the process's where absent. */
  readonly stopwatch?: () => number;
};

export function createLoop({ look, clock, log, pollMs, stopwatch = () => performance.now() }: Dependencies): Loop {
  let poll: NodeJS.Timeout | null = null;
  let alarm: NodeJS.Timeout | undefined;
  let round: Promise<void> | null = null;
  let wanted = false;
  let lookedAt = stopwatch();

  const lookUntilDone = async (): Promise<void> => {
    do {
      wanted = false;
      lookedAt = stopwatch();
      const { again, nextAt } = await look();
      wanted ||= again;
      if (!wanted) setAlarm(nextAt);
    } while (wanted && poll !== null);
  };

  /** What is due between two polls is not kept waiting for the second. */
  const setAlarm = (at: number | null): void => {
    clearTimeout(alarm);
    const inMs = at === null ? pollMs : Math.max(1, at - clock());
    if (inMs < pollMs && poll !== null) alarm = setTimeout(wake, inMs);
  };

  const wake = (): void => {
    wanted = true;
    if (poll === null || round !== null) return;
    round = lookUntilDone()
      .catch((error: unknown) => log.error({ err: error }, 'the dispatcher could not look for work'))
      .finally(() => {
        round = null;
      });
  };

  return {
    wake,
    start: () => {
      poll = setInterval(wake, pollMs);
      wake();
    },
    stop: async () => {
      if (poll !== null) clearInterval(poll);
      poll = null;
      clearTimeout(alarm);
      await round;
    },
    isRunning: () => poll !== null,
    isAlive: () => poll !== null && (round === null || stopwatch() - lookedAt < LOOK_LIMIT_MS),
  };
}
