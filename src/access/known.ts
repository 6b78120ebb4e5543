/** What was read of the store and may be used again while the store's version is the one it was read under. */
import { createLru } from '../kernel/lru.ts';

export type Known<T> = {
  /** What was kept under this name and version, if anything was. */
  find(name: string, version: number): T | null;
  /** Keeps it, and answers it. `version` is that from before it was read. */
  keep(name: string, version: number, value: T): T;
};

/** What is kept at most, in all; `bytesOf` says what one of them takes, about. */
export type KnownBounds<T> = {
  readonly entries: number;
  readonly bytes: number;
  readonly bytesOf: (value: T) => number;
};

/** The oldest ones give way to what is beyond the bounds, and all of an older version to the first of a newer one. */
export function createKnown<T>({ entries: max, bytes: maxWeight, bytesOf: weightOf }: KnownBounds<T>): Known<T> {
  const entries = createLru<string, T>({ max, maxWeight, weightOf });
  let at = Number.NEGATIVE_INFINITY;
  return {
    find: (name, version) => (version === at ? (entries.get(name) ?? null) : null),
    keep: (name, version, value) => {
      if (version < at) return value;
      if (version > at) {
        entries.clear();
        at = version;
      }
      entries.set(name, value);
      return value;
    },
  };
}

/** What some texts take, about: each has a head, and a place in their list. */
export function bytesOfTexts(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length + TEXT_BYTES, 0);
}

/** Measured: 16 to 24 for the head, 8 for the place. */
const TEXT_BYTES = 32;
