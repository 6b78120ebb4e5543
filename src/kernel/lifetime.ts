/** The lifetime of an embedded service: it starts once and stops once, and refuses later calls. */
import { Refusal } from './refusal.ts';

/** Every call after `stop` rejects with this error. The API answers 503 `unavailable`. */
export class StoppedError extends Refusal {
  constructor() {
    super('unavailable', 'this Sallyport has been stopped: create another one');
    this.name = 'StoppedError';
  }
}

export type Lifetime = {
  /** Runs work that a stop waits for. Rejects with `StoppedError` after the stop has begun. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** The same for a start: the stop begins its own work only after it. */
  starting<T>(work: () => Promise<T>): Promise<T>;
  /** Begins the stop with `work`, after the current starts. `idle` resolves when no work is left. Later calls get the same promise. */
  stop(work: (idle: Promise<void>) => Promise<void>): Promise<void>;
};

export function createLifetime(): Lifetime {
  const inProgress = new Set<Promise<unknown>>();
  const starts = new Set<Promise<unknown>>();
  let stopping: Promise<void> | null = null;

  const noted = <T>(set: Set<Promise<unknown>>, work: () => Promise<T>): Promise<T> => {
    if (stopping !== null) return Promise.reject(new StoppedError());
    const result = work();
    set.add(result);
    const forget = (): void => void set.delete(result);
    result.then(forget, forget);
    return result;
  };
  return {
    during: (work) => noted(inProgress, work),
    starting: (work) => noted(starts, work),
    stop: (work) => {
      stopping ??= Promise.allSettled(starts).then(() => work(Promise.allSettled(inProgress).then(() => undefined)));
      return stopping;
    },
  };
}

/** Runs work only once; later calls get its result. After a failure, the next call tries again. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | null = null;
  return () => {
    result ??= work().catch((error: unknown) => {
      result = null;
      throw error;
    });
    return result;
  };
}

/** Wraps all functions, also in nested objects, in `during`. All of them return promises. */
export function refusedAfterStop<T extends object>(during: Lifetime['during'], parts: T): T {
  return new Proxy(parts, {
    get(target, name, receiver) {
      const part: unknown = Reflect.get(target, name, receiver);
      if (typeof part === 'function') return (...args: unknown[]) => during(() => part(...args));
      return part !== null && typeof part === 'object' ? refusedAfterStop(during, part) : part;
    },
  });
}
