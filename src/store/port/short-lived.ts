/**
 * Values that live for minutes, such as passkey challenges. In memory on SQLite, shared by all instances on PostgreSQL and sealed there.
 */
import type { Answer } from './database.ts';

/** When a value is written, and when it expires. */
type LifeSpan = { readonly now: number; readonly until: number };

export type ShortLivedValues = {
  /** Replaces an earlier value. */
  put(name: string, value: string, span: LifeSpan): Answer<void>;
  /** Returns false, and writes nothing, if there is such a value. Of two concurrent calls one writes. */
  putIfAbsent(name: string, value: string, span: LifeSpan): Answer<boolean>;
  /** Null if there is no such value or it has expired. */
  get(name: string, now: number): Answer<string | null>;
  /** Removes the value and returns it. Of two concurrent calls one gets it. */
  take(name: string, now: number): Answer<string | null>;
};

export type ShortLivedStore = {
  /** `remembered` bounds the values in memory; the oldest go first. */
  values(kind: 'passkey challenge' | 'result' | 'secret', remembered: number): ShortLivedValues;
};
