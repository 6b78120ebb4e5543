/** Carries out the outbox: a loop that looks for work, hands webhooks over to other instances, and ends in order. */
import type { Clock } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { DRAIN_MS, LOOK_EVERY_MS, LOOK_LIMIT_MS, POLL_MS } from './limits.ts';
import type { Membership } from './membership.ts';
import { createPipeline, type PipelineOptions } from './pipeline.ts';

export type Dispatcher = {
  start(): Promise<void>;
  /** There may be work: looks immediately instead of at the next poll. */
  wake(): void;
  /** The subject is being erased: ends requests that carry events about it. Their batches go out again without these events. */
  recall(subject: string): void;
  /** Claims nothing more and waits for current requests, at most 10 s. Then it ends the others, which are due again immediately. */
  stop(): Promise<void>;
  /** Whether the loop has looked for work lately; false tells `/readyz` that it is stuck. */
  isAlive(): boolean;
};

export type DispatcherOptions = Omit<PipelineOptions, 'maySend' | 'mayClaim' | 'onWorkEnded' | 'wake'> & {
  /** This process among others on the same database; by default there is no other. */
  readonly membership?: Membership | null;
  readonly drainMs?: number;
};

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, clock, log, pollMs = POLL_MS, drainMs = DRAIN_MS, membership = null } = options;
  const maySend = membership?.maySend ?? (() => true);
  const pipeline = createPipeline({
    ...options,
    maySend,
    mayClaim: (webhookNumber) => loop.isRunning() && !handOver.isLeaving(webhookNumber),
    onWorkEnded: (webhookNumber) => handOver.workEnded(webhookNumber),
    wake: () => loop.wake(),
  });
  const handOver = createHandOver({
    isBusy: pipeline.isBusy,
    withdraw: pipeline.giveBack,
    leave: (webhookNumber) => pipeline.leave(webhookNumber, async () => membership?.handedOver(webhookNumber)),
    log,
  });
  const loop = createLoop({ clock, log, pollMs, look: pipeline.look });
  return {
    wake: loop.wake,
    recall: pipeline.recall,
    isAlive: loop.isAlive,
    start: async () => {
      await membership?.start({ lost: pipeline.forget, handOver: handOver.begin, wake: loop.wake });
      await store.dispatch.releaseAll(clock());
      loop.start();
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
  start(): void;
  /** There may be work: looks immediately, or once more after the current look. */
  wake(): void;
  /** Resolves when the current look is over. */
  stop(): Promise<void>;
  isRunning(): boolean;
  /** Whether it runs and the current look is not stuck. */
  isAlive(): boolean;
};

type LoopOptions = {
  /** Looks once. Returns whether to look again immediately, and otherwise the latest time of the next look. */
  readonly look: () => Promise<{ readonly again: boolean; readonly nextAt: number | null }>;
  readonly clock: Clock;
  readonly log: Log;
  readonly pollMs: number;
  /** Milliseconds by a clock that only grows; `performance.now` by default. */
  readonly stopwatch?: () => number;
};

export function createLoop({ look, clock, log, pollMs, stopwatch = () => performance.now() }: LoopOptions): Loop {
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
    start: () => {
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

/** The webhooks that this instance is giving back. */
type HandOver = {
  /** Ends work on these webhooks. */
  begin(webhookNumbers: readonly number[]): void;
  /** Nothing more of it may be claimed here. */
  isLeaving(webhookNumber: number): boolean;
  /** Some work on the webhook has ended. If none is left, it is given back. */
  workEnded(webhookNumber: number): void;
};

function createHandOver({
  isBusy,
  withdraw,
  leave,
  log,
}: {
  /** Whether anything of the webhook is claimed or being claimed. */
  readonly isBusy: (webhookNumber: number) => boolean;
  /** Releases the claimed jobs of the webhook that have not started. */
  readonly withdraw: (webhookNumber: number) => void;
  /** Lets others take the webhook. */
  readonly leave: (webhookNumber: number) => Promise<void>;
  readonly log: Log;
}): HandOver {
  const leaving = new Set<number>();
  /** Those of them that are given back now. */
  const left = new Set<number>();
  const workEnded = (webhookNumber: number): void => {
    if (!leaving.has(webhookNumber)) return;
    withdraw(webhookNumber);
    if (isBusy(webhookNumber)) return;
    if (left.has(webhookNumber)) return;
    left.add(webhookNumber);
    leave(webhookNumber)
      // It stays with this instance, and the next renewal tries again.
      .catch((err: unknown) => log.warn({ webhookNumber, err }, 'a webhook could not be given back'))
      .finally(() => {
        leaving.delete(webhookNumber);
        left.delete(webhookNumber);
      });
  };
  return {
    begin: (webhookNumbers) => {
      for (const webhookNumber of webhookNumbers) {
        if (leaving.has(webhookNumber)) continue;
        leaving.add(webhookNumber);
        workEnded(webhookNumber);
      }
    },
    isLeaving: (webhookNumber) => leaving.has(webhookNumber),
    workEnded,
  };
}
