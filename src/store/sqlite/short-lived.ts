/** Values that live for minutes, in the memory of one process. */
import type { ShortLivedValues } from '../port/short-lived.ts';

/** Answers synchronously. */
type MemoryValues = {
  [Verb in keyof ShortLivedValues]: (
    ...args: Parameters<ShortLivedValues[Verb]>
  ) => Awaited<ReturnType<ShortLivedValues[Verb]>>;
};

export function createMemoryValues(remembered: number): MemoryValues {
  /** Oldest first. */
  const kept = new Map<string, { readonly value: string; readonly until: number }>();
  const get = (name: string, now: number): string | null => {
    const found = kept.get(name);
    return found !== undefined && now < found.until ? found.value : null;
  };
  const put: MemoryValues['put'] = (name, value, { now, until }) => {
    kept.delete(name);
    kept.set(name, { value, until });
    for (const [oldest, one] of kept) {
      if (now < one.until && kept.size <= remembered) break;
      kept.delete(oldest);
    }
  };
  return {
    get,
    put,
    putIfAbsent: (name, value, span) => {
      if (get(name, span.now) !== null) return false;
      put(name, value, span);
      return true;
    },
    take: (name, now) => {
      const value = get(name, now);
      kept.delete(name);
      return value;
    },
  };
}
