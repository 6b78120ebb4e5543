/** Starts jobs in turns of the event loop, a bounded amount in each, so that requests and answers never wait long. */
import { setTimeout as pause } from 'node:timers/promises';
import {
  CALLED_LATELY_MS,
  CALLED_PAUSE_MS,
  CALLS_QUEUED,
  DELIVERY_BYTES_PER_CALLED_TURN,
  DELIVERY_BYTES_PER_TURN,
} from '../kernel/limits/delivery.ts';
import type { Turns } from '../kernel/turns.ts';

export type Departures<Job> = {
  /** Has the job depart in one of the next turns, behind those before. */
  add(job: Job): void;
};

/** One turn's work: it may keep what it read for as long as the turn lasts. Answers how many bytes a job was worth. */
export type Depart<Job> = (job: Job) => Promise<number>;

/**
 * `quota` is asked before each turn, and `beginTurn` begins it; `turns` is where those turns wait that follow one which was full, beside
 * other work of its weight. A job is never divided, so a turn may have one more than it should.
 */
export function createDepartures<Job>(quota: Quota, turns: Turns, beginTurn: () => Depart<Job>): Departures<Job> {
  const waiting: Job[] = [];
  let scheduled = false;

  const turn = async (): Promise<void> => {
    await giveWay(quota);
    const depart = beginTurn();
    const most = quota.bytesPerTurn();
    let bytes = 0;
    let at = 0;
    for (; at < waiting.length && bytes < most; at += 1) bytes += await depart(waiting[at] as Job);
    waiting.splice(0, at);
    quota.turnEnded();
    scheduled = false;
    if (waiting.length > 0) schedule(turns);
  };

  const schedule = (when: Turns): void => {
    if (scheduled) return;
    scheduled = true;
    void when(turn);
  };

  return {
    add: (job) => {
      waiting.push(job);
      schedule(atTurnsEnd);
    },
  };
}

/** Puts off what is heavy, where it is to be. */
export async function giveWay(quota: Pick<Quota, 'pauseMs'>): Promise<void> {
  const ms = quota.pauseMs();
  if (ms > 0) await pause(ms);
}

/** Once the answers that arrive in this turn are there too. */
function atTurnsEnd<T>(work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    setImmediate(() => work().then(resolve, reject));
  });
}

export type Quota = {
  /** The bytes of the turn that begins. */
  bytesPerTurn(): number;
  /** How long the next turn is put off, in milliseconds; asked once before each. */
  pauseMs(): number;
  /** To be told when a turn ends. */
  turnEnded(): void;
};

/**
 * `answeredRequests` counts those that were answered by now; `now` is in milliseconds. At full load there are turns without a request
 * between those with many, and what departs in them delays the next ones alike. Where many are answered between two departures they
 * queue up, however fast the machine is: what departs takes from them then, and its next turn begins no earlier than `CALLED_PAUSE_MS`
 * after the one before. What departs less often than that waits for nobody: an ordered webhook would lose the pause with every batch.
 */
export function createQuota(answeredRequests: () => number, now: () => number): Quota {
  let before = answeredRequests();
  let calledUntil = Number.NEGATIVE_INFINITY;
  let answeredBefore = before;
  let endedAt = Number.NEGATIVE_INFINITY;
  return {
    bytesPerTurn: () => {
      const answered = answeredRequests();
      if (answered !== before) calledUntil = now() + CALLED_LATELY_MS;
      before = answered;
      return now() < calledUntil ? DELIVERY_BYTES_PER_CALLED_TURN : DELIVERY_BYTES_PER_TURN;
    },
    pauseMs: () => {
      const answered = answeredRequests() - answeredBefore;
      answeredBefore += answered;
      return answered < CALLS_QUEUED ? 0 : Math.max(0, endedAt + CALLED_PAUSE_MS - now());
    },
    turnEnded: () => {
      endedAt = now();
    },
  };
}
