/** Finds names that an object in a JSON text may have twice, by their hashes: comparing the names would make a text of each. */

const HASH_FIRST = 0x811c9dc5 | 0;
const HASH_FACTOR = 0x01000193;

/** FNV-1a. It begins with `hashBegin`. */
export const hashBegin: number = HASH_FIRST;

export function hashedWith(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, HASH_FACTOR);
}

type Names = {
  /** A list or an object begins. */
  open(): void;
  /** The innermost one ends. */
  close(): void;
  /** Adds a name to the innermost object. Whether it may have the name already: names with the same hash are rare, and seldom differ. */
  add(hash: number): boolean;
};

/** An object with at most this many names is compared name by name, which takes less time than a set. */
const FEW = 16;

export function createNames(): Names {
  /** The names in open objects, the outermost first, without objects that have a set. */
  let hashes = new Int32Array(64);
  let count = 0;
  const begins: number[] = [];
  const sets: (Set<number> | null)[] = [];

  const append = (hash: number): void => {
    if (count === hashes.length) {
      const larger = new Int32Array(count * 2);
      larger.set(hashes);
      hashes = larger;
    }
    hashes[count] = hash;
    count += 1;
  };
  return {
    open: () => {
      begins.push(count);
      sets.push(null);
    },
    close: () => {
      count = begins.pop() ?? 0;
      sets.pop();
    },
    add: (hash) => {
      const set = sets[sets.length - 1] ?? null;
      if (set !== null) {
        const before = set.size;
        return set.add(hash).size === before;
      }
      const begin = begins[begins.length - 1] ?? 0;
      for (let n = begin; n < count; n += 1) if (hashes[n] === hash) return true;
      if (count - begin < FEW) append(hash);
      else sets[sets.length - 1] = new Set([...hashes.subarray(begin, count), hash]);
      return false;
    },
  };
}

/** The hash of a name with its escapes resolved. */
export function hashOfName(name: string): number {
  return Buffer.from(name).reduce(hashedWith, hashBegin);
}
