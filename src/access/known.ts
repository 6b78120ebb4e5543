/** What was read of the store and may be used again while the store's version is the one it was read under. */

export type Known<T> = {
  /** What was kept under this name and version, if anything was. */
  find(name: string, version: number): T | null;
  /** Keeps it, and answers it. `version` is that from before it was read. */
  keep(name: string, version: number, value: T): T;
};

/** Keeps `max` of them; the oldest one gives way. */
export function createKnown<T>(max: number): Known<T> {
  const entries = new Map<string, { readonly version: number; readonly value: T }>();
  return {
    find: (name, version) => {
      const entry = entries.get(name);
      return entry?.version === version ? entry.value : null;
    },
    keep: (name, version, value) => {
      if (entries.size >= max && !entries.has(name)) entries.delete(entries.keys().next().value ?? '');
      entries.set(name, { version, value });
      return value;
    },
  };
}
