/** Lets jobs depart in turns of the event loop, a bounded amount in each, so that requests and answers never wait for much of it. */
import type { Turns } from '../wire/turns.ts';

export type Departures<Job> = {
  /** Has the job depart in one of the next turns, behind those before. */
  add(job: Job): void;
};

/** One turn's work: it may keep what it read for as long as the turn lasts. Answers how many bytes a job was worth. */
export type Depart<Job> = (job: Job) => Promise<number>;

/**
 * `bytesPerTurn` is asked at the beginning of each turn, and `beginTurn` begins it; `turns` is where those turns wait that follow one
 * which was full, beside other work of its weight. A job is never divided, so a turn may have one more than it should.
 */
export function createDepartures<Job>(
  bytesPerTurn: () => number,
  turns: Turns,
  beginTurn: () => Depart<Job>,
): Departures<Job> {
  const waiting: Job[] = [];
  let scheduled = false;

  const turn = async (): Promise<void> => {
    const depart = beginTurn();
    const most = bytesPerTurn();
    let bytes = 0;
    let at = 0;
    for (; at < waiting.length && bytes < most; at += 1) bytes += await depart(waiting[at] as Job);
    waiting.splice(0, at);
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

/** Once the answers that arrive in this turn are there too. */
function atTurnsEnd<T>(work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    setImmediate(() => work().then(resolve, reject));
  });
}
