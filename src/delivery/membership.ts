/**
 * This process among the instances on one database: it renews its place, takes what expired instances held, and keeps to its share of the
 * webhooks.
 */

import type { Log } from '../kernel/log.ts';
import type { InstanceStore, NewInstance, Renewal } from '../store/port/instances.ts';

/** An instance that renews nothing for this long has expired, and others take what it holds. It renews at a third of this. */
const INSTANCE_LEASE_MS = 6000;

/** An instance stops sending this long before its lease ends by its own clock, in case the two clocks run at different speeds. */
const INSTANCE_LEASE_MARGIN_MS = 500;

/** An instance gives webhooks back if it holds more than its share, by more than this fraction of the share. */
const SHARE_EXCESS = 0.1;

export type Membership = {
  /** Joins. `listener` is called with what the dispatcher must do. */
  start(listener: MembershipListener): Promise<void>;
  /** Whether this instance may send: its lease has not ended. */
  maySend(): boolean;
  /** Whether this instance does the work that one instance does for all. */
  hasDuty(): boolean;
  /** The last attempt of the webhook has ended: others may take it. */
  handedOver(webhookNumber: number): Promise<void>;
  /** Leaves. Deliveries must have ended. */
  stop(): Promise<void>;
};

type MembershipListener = {
  /** Others may have taken what this instance held: current attempts no longer count. */
  lost(): void;
  /** Ends work on these webhooks, which others should take, and calls `handedOver` for each. */
  handOver(webhookNumbers: readonly number[]): void;
  /** There may be work. */
  wake(): void;
};

/** The duty of the instance that does housekeeping. */
const HOUSEKEEPING = 'housekeeping';

type Dependencies = {
  readonly instances: InstanceStore;
  /** This instance, when it joins. */
  readonly instance: () => NewInstance;
  readonly log: Log;
  readonly leaseMs?: number;
  /** Milliseconds by a clock that only grows, also while the process is paused. */
  readonly stopwatch?: () => number;
};

export function createMembership({
  instances,
  instance,
  log,
  leaseMs = INSTANCE_LEASE_MS,
  stopwatch = () => performance.now(),
}: Dependencies): Membership {
  let sendsUntil = Number.NEGATIVE_INFINITY;
  let duty = false;
  let listener: MembershipListener = { lost: () => {}, handOver: () => {}, wake: () => {} };
  let timer: NodeJS.Timeout | null = null;
  let round: Promise<void> = Promise.resolve();
  let isStopped = false;

  const join = async (): Promise<void> => {
    const at = stopwatch();
    await instances.join(instance(), leaseMs);
    sendsUntil = at + leaseMs - INSTANCE_LEASE_MARGIN_MS;
  };

  const rejoin = async (): Promise<void> => {
    sendsUntil = Number.NEGATIVE_INFINITY;
    duty = false;
    log.warn('this instance did not renew its lease in time, and others have taken what it held; it joins again');
    listener.lost();
    await join();
  };

  const renew = async (): Promise<void> => {
    // The lease counts from before the request: the database may have renewed it when the request arrived, or when it answered.
    const at = stopwatch();
    const renewal = await instances.renew(leaseMs);
    if (renewal === null) return rejoin();
    sendsUntil = at + leaseMs - INSTANCE_LEASE_MARGIN_MS;
    for (const expired of renewal.expired) {
      if (!(await instances.expire(expired))) continue;
      log.warn({ instance: expired }, 'an instance has expired; what it held is free');
      listener.wake();
    }
    duty = await instances.takeDuty(HOUSEKEEPING);
    const { most, excess } = shareOf(renewal, instances.held());
    instances.limitTo(most);
    if (excess > 0) listener.handOver(instances.holding(excess));
  };

  /** Returns when to renew again. While the database cannot be reached the lease runs out, and nothing is sent. */
  const beat = async (): Promise<number> => {
    try {
      await renew();
      return leaseMs / 3;
    } catch (err) {
      log.warn({ err }, 'the lease of this instance could not be renewed yet');
      return leaseMs / 12;
    }
  };

  const maySend = (): boolean => stopwatch() < sendsUntil;

  const schedule = (inMs: number): void => {
    timer = setTimeout(() => {
      round = beat().then((nextInMs) => {
        if (!isStopped) schedule(nextInMs);
      });
    }, inMs);
  };

  return {
    maySend,
    hasDuty: () => duty && maySend(),
    start: async (given) => {
      listener = given;
      await join();
      schedule(await beat());
    },
    handedOver: async (webhookNumber) => instances.giveBack([webhookNumber]),
    stop: async () => {
      isStopped = true;
      if (timer !== null) clearTimeout(timer);
      await round;
      sendsUntil = Number.NEGATIVE_INFINITY;
      await instances.leave();
    },
  };
}

/** How many webhooks an instance takes at most while others hold fewer, and how many it should give back now. */
export function shareOf(
  { alive, webhooks }: Pick<Renewal, 'alive' | 'webhooks'>,
  held: number,
): { readonly most: number; readonly excess: number } {
  if (alive === 1) return { most: Number.POSITIVE_INFINITY, excess: 0 };
  const share = Math.ceil(webhooks / alive);
  const most = share + Math.max(1, Math.floor(share * SHARE_EXCESS));
  return { most, excess: held > most ? held - share : 0 };
}
