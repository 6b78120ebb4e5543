/** Parsed PGP keys that are kept because parsing or unlocking them costs up to a second: the ones used last, so many at most. */
import { PGP_KEYS_CACHED } from '../kernel/limits/limits.ts';

/** Reading puts an entry last, so the first one is the least recently used. */
export function recall<Value>(cache: Map<string, Value>, name: string): Value | undefined {
  const value = cache.get(name);
  if (value !== undefined) remember(cache, name, value);
  return value;
}

/** Puts it last; the least recently used one goes where there are too many. */
export function remember<Value>(cache: Map<string, Value>, name: string, value: Value): void {
  cache.delete(name);
  cache.set(name, value);
  const [oldest] = cache.keys();
  if (cache.size > PGP_KEYS_CACHED && oldest !== undefined) cache.delete(oldest);
}
