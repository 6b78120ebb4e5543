/**
 * Work of customers on the event loop, in slices of a few milliseconds (contract §8.8). A turn of the event loop has at most one
 * slice, and the customers with waiting work get the slices in turns. So requests, timers and other customers wait for one
 * slice, never for all the work of a customer.
 */
import { Refusal } from './refusal.ts';

/**
 * Work of customers on the event loop: the length of a slice, and how many jobs and bytes of one customer may wait. `SLICED_OF_OPERATOR`:
 * how many times as many the operator may have.
 */
export const SLICE_MS = 2;
export const SLICED_JOBS_MAX = 200;
export const SLICED_BYTES_MAX: number = 16 * 1024 * 1024;
const SLICED_OF_OPERATOR = 8;

/** Each `yield` is a place where the work may pause. The work between two of them should take less than a millisecond. */
export type Work<T> = Generator<void, T, void>;

/**
 * Runs the work, without a pause if nothing else waits and it is short. `customerId`: whose work it is; null for the operator. `bytes`:
 * what it holds in memory while it waits. Throws 429 if too much of this customer's work waits.
 */
type Slices = <T>(customerId: string | null, work: Work<T>, bytes?: number) => Promise<T>;

type Job = {
  readonly bytes: number;
  /** Goes on until the next `yield`. Whether the work has ended. */
  step(): boolean;
};
type Queue = { readonly jobs: Job[]; bytes: number };

const OPERATOR = '';

export function createSlices(now: () => number = () => performance.now()): Slices {
  /** The customers with waiting work. The next one is the first. */
  const queues = new Map<string, Queue>();
  /** How long work has run in this turn of the event loop. */
  let spentMs = 0;
  let isTurnWatched = false;

  const spend = (ms: number): void => {
    spentMs += ms;
    if (isTurnWatched) return;
    isTurnWatched = true;
    setImmediate(() => {
      isTurnWatched = false;
      spentMs = 0;
    });
  };

  /** Goes on with the work of the first customer, and with that of the next ones if that ends before the slice. */
  const slice = (): void => {
    const startedAt = now();
    let tookMs = 0;
    for (const [customer, queue] of queues) {
      while (queue.jobs.length > 0 && tookMs < SLICE_MS) {
        const job = queue.jobs[0] as Job;
        const hasEnded = job.step();
        tookMs = now() - startedAt;
        if (hasEnded) {
          queue.jobs.shift();
          queue.bytes -= job.bytes;
        }
      }
      queues.delete(customer);
      if (queue.jobs.length > 0) {
        // Both the customer and this job of its jobs go to the end.
        queues.set(customer, queue);
        queue.jobs.push(queue.jobs.shift() as Job);
      }
      if (tookMs >= SLICE_MS) break;
    }
    spend(tookMs);
    if (queues.size === 0) return;
    // A step that took much longer than a slice is followed by a pause, in which whole requests pass: most take several turns.
    if (tookMs > 2 * SLICE_MS) setTimeout(slice, tookMs);
    else setImmediate(slice);
  };

  const queueOf = (customer: string, bytes: number): Queue => {
    const queue = queues.get(customer) ?? { jobs: [], bytes: 0 };
    const shares = customer === OPERATOR ? SLICED_OF_OPERATOR : 1;
    const isFull = queue.jobs.length >= SLICED_JOBS_MAX * shares || queue.bytes + bytes > SLICED_BYTES_MAX * shares;
    if (isFull && queue.jobs.length > 0) throw tooMuchAtOnce();
    if (queues.size === 0) setImmediate(slice);
    queues.set(customer, queue);
    return queue;
  };

  return async (customerId, work, bytes = 0) => {
    if (queues.size === 0 && spentMs < SLICE_MS) {
      const startedAt = now();
      for (let tookMs = 0; spentMs + tookMs < SLICE_MS; tookMs = now() - startedAt) {
        const { done, value } = work.next();
        if (done !== true) continue;
        spend(now() - startedAt);
        return value;
      }
      spend(now() - startedAt);
    }
    const queue = queueOf(customerId ?? OPERATOR, bytes);
    queue.bytes += bytes;
    return new Promise((resolve, reject) => {
      const step = (): boolean => {
        try {
          const { done, value } = work.next();
          if (done !== true) return false;
          resolve(value);
        } catch (error) {
          reject(error as Error);
        }
        return true;
      };
      queue.jobs.push({ bytes, step });
    });
  };
}

/** For the whole process: it has one event loop. */
export const slices: Slices = createSlices();

/** Runs the work without pauses: for programs of the operator, and for little work. */
export function inOnePiece<T>(work: Work<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

function tooMuchAtOnce(): Refusal {
  const text = 'too many large requests of this customer are in progress: send this one again in a second';
  return new Refusal('too_many_requests', text, { headers: { 'Retry-After': '1' } });
}
