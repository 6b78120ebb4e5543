/** Bounded maps that drop their least recently used entries: caches. */

export type Lru<Key, Value> = {
  readonly size: number;
  /** The value, or undefined. The entry becomes the most recently used once the bounds are half reached: until then no order is needed. */
  get(key: Key): Value | undefined;
  /**
   * The entry becomes the most recently used. Drops old entries until the bounds hold, the new one too if it exceeds them without the
   * others.
   */
  set(key: Key, value: Value): void;
  /** Returns whether there was such an entry. */
  delete(key: Key): boolean;
  clear(): void;
  /** From the least to the most recently used. */
  values(): Iterable<Value>;
};

type LruBounds<Value> = {
  /** Number of entries. */
  readonly max: number;
  /** Total of the weights, for example in bytes. */
  readonly maxWeight?: number;
  /** Must always return the same number for the same value. */
  readonly weightOf?: (value: Value) => number;
  /** Called with each value that is dropped to make room, not with deleted or replaced ones. */
  readonly onEvict?: (value: Value) => void;
};

/** `Value` must not include undefined. */
export function createLru<Key, Value>({
  max,
  maxWeight = Number.POSITIVE_INFINITY,
  weightOf = () => 0,
  onEvict = () => {},
}: LruBounds<Value>): Lru<Key, Value> {
  /** From the least to the most recently used. */
  const entries = new Map<Key, Value>();
  /** The key that was used last. It needs no move. */
  let newest: Key | undefined;
  let weight = 0;
  const remove = (key: Key): boolean => {
    const value = entries.get(key);
    if (value === undefined) return false;
    weight -= weightOf(value);
    return entries.delete(key);
  };
  return {
    get size() {
      return entries.size;
    },
    get: (key) => {
      const value = entries.get(key);
      // A move takes longer than the look-up.
      const isRoomy = entries.size * 2 < max && weight * 2 < maxWeight;
      if (value === undefined || key === newest || isRoomy) return value;
      entries.delete(key);
      entries.set(key, value);
      newest = key;
      return value;
    },
    set: (key, value) => {
      remove(key);
      newest = key;
      entries.set(key, value);
      weight += weightOf(value);
      for (const [oldest, evicted] of entries) {
        if (entries.size <= max && weight <= maxWeight) return;
        remove(oldest);
        onEvict(evicted);
      }
    },
    delete: remove,
    clear: () => {
      entries.clear();
      weight = 0;
    },
    values: () => entries.values(),
  };
}

/** Makes the value of a name when it is first asked for, and keeps those of the `max` names that were asked for last. */
export function memoized<Value>(max: number, make: (name: string) => Value): (name: string) => Value {
  const made = createLru<string, Value>({ max });
  return (name) => {
    const existing = made.get(name);
    if (existing !== undefined) return existing;
    const value = make(name);
    made.set(name, value);
    return value;
  };
}

/** A cache of values that were read from the store. They are valid as long as the store has the version that they were read at. */
type VersionedCache<Value> = {
  /** The value that was cached under this name at this version, or null. */
  find(name: string, version: number): Value | null;
  /**
   * Caches and returns a value. `version` is the one from before it was read. A newer version empties the cache; an older value is not
   * cached.
   */
  keep(name: string, version: number, value: Value): Value;
};

export function createVersionedCache<Value>(bounds: LruBounds<Value>): VersionedCache<Value> {
  const entries = createLru<string, Value>(bounds);
  let current = Number.NEGATIVE_INFINITY;
  return {
    find: (name, version) => (version === current ? (entries.get(name) ?? null) : null),
    keep: (name, version, value) => {
      if (version < current) return value;
      if (version > current) {
        entries.clear();
        current = version;
      }
      entries.set(name, value);
      return value;
    },
  };
}

/** The approximate memory of a list of texts. */
export function bytesOfTexts(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length + TEXT_BYTES, 0);
}

/** Measured: 16 to 24 bytes for the header of a text, 8 for its place in the list. */
const TEXT_BYTES = 32;

/** About how many bytes the texts and bytes of an object take: each character of a text counts as one byte. */
export function bytesOfValues(
  values: Readonly<Record<string, string | number | bigint | boolean | Uint8Array | null>>,
): number {
  let bytes = 0;
  for (const name in values) {
    const value = values[name];
    if (typeof value === 'string') bytes += value.length;
    else if (typeof value === 'object' && value !== null) bytes += value.byteLength;
  }
  return bytes;
}
