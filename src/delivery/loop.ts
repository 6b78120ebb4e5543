/** A loop that looks for work when it is woken, at the time that the last look returned, and at every poll; one look at a time. */

import type { Clock } from '../kernel/ids.ts';
import { LOOK_LIMIT_MS } from '../kernel/limits/delivery.ts';
import type { Log } from '../observe/log.ts';

export type Loop = {
  start(): void;
  /** There may be work: looks at once, or once more after the current look. */
  wake(): void;
  /** Resolves when the current look is over. */
  stop(): Promise<void>;
  isRunning(): boolean;
  /** Whether it runs and the current look is not stuck. */
  isAlive(): boolean;
};

type Dependencies = {
  /** Looks once. Returns whether to look again at once, and otherwise the latest time of the next look. */
  readonly look: () => Promise<{ readonly again: boolean; readonly nextAt: number | null }>;
  readonly clock: Clock;
  readonly log: Log;
  readonly pollMs: number;
  /** Milliseconds by a clock that only grows; `performance.now` by default. */
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

  /** Work that is due between two polls does not wait for the second. */
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
