/** The life of an embedded service: it starts once and stops once, however often that is asked for, and calls that come later say so. */
import { Refusal } from './refusal.ts';

/** What every call on a service rejects with once `stop` was called. Answered as 503 `unavailable`. */
export class StoppedError extends Refusal {
  constructor() {
    super('unavailable', 'this Sallyport has been stopped: create another one');
    this.name = 'StoppedError';
  }
}

export type Lifetime = {
  /** Does a work that a stop waits for. Rejects with `StoppedError` once the stop has begun. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** The same for a start, which is over before the stop begins its own work. */
  starting<T>(work: () => Promise<T>): Promise<T>;
  /** Begins the stop, with `work`, after the starts that are under way; `idle` resolves once no work is left. Later calls get the same promise. */
  stop(work: (idle: Promise<void>) => Promise<void>): Promise<void>;
};

export function createLifetime(): Lifetime {
  const underWay = new Set<Promise<unknown>>();
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
    during: (work) => noted(underWay, work),
    starting: (work) => noted(starts, work),
    stop: (work) => {
      stopping ??= Promise.allSettled(starts).then(() => work(Promise.allSettled(underWay).then(() => undefined)));
      return stopping;
    },
  };
}

/** A work that is done once: later calls get its result. One that failed may be tried again. */
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

/** The same functions, in objects one level down too, each of which `during` may refuse; those named in `inMemory` stay as they are. */
export function lastingAsLong<T extends object>(
  during: Lifetime['during'],
  parts: T,
  inMemory: ReadonlySet<string>,
): T {
  return new Proxy(parts, {
    get(target, name, receiver) {
      const part: unknown = Reflect.get(target, name, receiver);
      if (typeof part === 'function') {
        return inMemory.has(String(name)) ? part : (...args: unknown[]) => during(() => part(...args));
      }
      return part !== null && typeof part === 'object' ? lastingAsLong(during, part, inMemory) : part;
    },
  });
}
