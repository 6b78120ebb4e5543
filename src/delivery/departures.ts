/** Lets jobs depart in turns of the event loop, a bounded amount in each, so that requests and answers never wait for much of it. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Turns } from '../kernel/turns.ts';
import type { Quota } from './quota.ts';

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
