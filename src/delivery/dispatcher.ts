/** Delivers the outbox: a loop that looks for work and shuts down cleanly. */
import type { Clock } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { DRAIN_MS, LOOK_EVERY_MS, LOOK_LIMIT_MS, POLL_MS } from './limits.ts';
import type { Membership } from './membership.ts';
import { createPipeline } from './pipeline.ts';
import type { PipelineOptions } from './pipeline-parts.ts';

export type Dispatcher = {
  start(): Promise<void>;
  /** There may be work: looks immediately instead of at the next poll. */
  wake(): void;
  /** The subject is being erased: ends requests that carry events about it. Their batches go out again without these events. */
  recall(subject: string): void;
  /** Claims nothing more and waits for current requests, at most 10 s. Then it ends the others, which are due again immediately. */
  stop(): Promise<void>;
  /** Whether the loop has looked for work lately; false: `/readyz` says that it is stuck. */
  isAlive(): boolean;
};

export type DispatcherOptions = Omit<PipelineOptions, 'maySend' | 'handedOver' | 'isRunning' | 'wake'> & {
  /** This process among others on the same database; by default there is no other. */
  readonly membership?: Membership | null;
  readonly drainMs?: number;
};

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, clock, log, pollMs = POLL_MS, drainMs = DRAIN_MS, membership = null } = options;
  const loop = createLoop({ clock, log, pollMs });
  const pipeline = createPipeline({
    ...options,
    maySend: membership?.maySend ?? (() => true),
    handedOver: async (webhookNumber) => membership?.handedOver(webhookNumber),
    isRunning: loop.isRunning,
    wake: loop.wake,
  });
  return {
    wake: loop.wake,
    recall: pipeline.recall,
    isAlive: loop.isAlive,
    start: async () => {
      await membership?.start({ lost: pipeline.forget, handOver: pipeline.handOver, wake: loop.wake });
      await store.dispatch.releaseAll(clock());
      loop.start(pipeline.look);
    },
    stop: async () => {
      const looked = loop.stop();
      // Immediately: answers that arrive while the last look ends must not start waiting jobs. That look may still claim.
      pipeline.giveBack();
      await looked;
      pipeline.giveBack();
      const deadline = setTimeout(pipeline.abandon, drainMs);
      await pipeline.drained();
      clearTimeout(deadline);
      await membership?.stop();
    },
  };
}

/** Looks for work when it is woken, at the time that the last look returned, and at every poll; one look at a time. */
export type Loop = {
  start(look: LookOnce): void;
  /** There may be work: looks immediately, or once more after the current look. */
  wake(): void;
  /** Resolves when the current look is over. */
  stop(): Promise<void>;
  isRunning(): boolean;
  /** Whether it runs and the current look is not stuck. */
  isAlive(): boolean;
};

/** Looks once. Returns whether to look again immediately, and otherwise the latest time of the next look. */
type LookOnce = () => Promise<{ readonly again: boolean; readonly nextAt: number | null }>;

type LoopOptions = {
  readonly clock: Clock;
  readonly log: Log;
  readonly pollMs: number;
  /** Milliseconds by a clock that only grows; `performance.now` by default. */
  readonly stopwatch?: () => number;
};

export function createLoop({ clock, log, pollMs, stopwatch = () => performance.now() }: LoopOptions): Loop {
  let look: LookOnce = async () => ({ again: false, nextAt: null });
  let poll: NodeJS.Timeout | null = null;
  let alarm: NodeJS.Timeout | undefined;
  /** The next look, if it waits for `LOOK_EVERY_MS`. */
  let soon: NodeJS.Timeout | null = null;
  let round: Promise<void> | null = null;
  let wanted = false;
  let lookedAt = Number.NEGATIVE_INFINITY;

  const lookOnce = async (): Promise<void> => {
    soon = null;
    wanted = false;
    lookedAt = stopwatch();
    try {
      const { again, nextAt } = await look();
      wanted ||= again;
      if (!wanted) setAlarm(nextAt);
    } catch (error) {
      wanted = false;
      log.error({ err: error }, 'the dispatcher could not look for work');
    }
    round = null;
    if (wanted) wake();
  };

  /** Work that is due between two polls does not wait for the second. */
  const setAlarm = (at: number | null): void => {
    clearTimeout(alarm);
    const inMs = at === null ? pollMs : Math.max(1, at - clock());
    if (inMs < pollMs && poll !== null) alarm = setTimeout(wake, inMs);
  };

  const begin = (): void => {
    round = lookOnce();
  };

  const wake = (): void => {
    wanted = true;
    if (poll === null || round !== null || soon !== null) return;
    const inMs = lookedAt + LOOK_EVERY_MS - stopwatch();
    if (inMs > 0) soon = setTimeout(begin, inMs);
    else begin();
  };

  return {
    wake,
    start: (given) => {
      look = given;
      poll = setInterval(wake, pollMs);
      wake();
    },
    stop: async () => {
      if (poll !== null) clearInterval(poll);
      poll = null;
      clearTimeout(alarm);
      clearTimeout(soon ?? undefined);
      await round;
    },
    isRunning: () => poll !== null,
    isAlive: () => poll !== null && (round === null || stopwatch() - lookedAt < LOOK_LIMIT_MS),
  };
}
