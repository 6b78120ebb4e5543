/**
 * Stores that note which statements they run, and for which verb. A run of the whole fast tier loads these functions in place of the ones in
 * src/ (scripts/test-recorder.ts), so that every test counts.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createPostgresStore as createPostgres } from '../../src/store/postgres/store.ts';
import { createStore as createShared } from '../../src/store/sql/store.ts';
import type { Store } from '../../src/store/store.ts';
import { oneLine, recorded } from './statements.ts';

/** Of one process. A verb is written `users.insert`. */
export type RanStatements = {
  readonly database: 'SQLite' | 'PostgreSQL';
  /** Each text and the verbs that ran it; the verb is empty outside of all. */
  readonly texts: Readonly<Record<string, readonly string[]>>;
  readonly called: readonly string[];
  readonly verbs: readonly string[];
  /** The verbs that PostgreSQL does in its own way. */
  readonly replaced: readonly string[];
};

type Verb = (...values: never[]) => unknown;

const texts = new Map<string, Set<string>>();
const called = new Set<string>();
const verbs = new Set<string>();
const replaced = new Set<string>();
const current = new AsyncLocalStorage<string>();
const watched = new WeakSet<Verb>();

const note = (sql: string): void => {
  const verb = current.getStore() ?? '';
  const text = oneLine(sql);
  const known = texts.get(text);
  if (known === undefined) texts.set(text, new Set([verb]));
  else known.add(verb);
};

export const createStore: typeof createShared = (db, vault, ids, ...access) =>
  watching(createShared(recorded(db, note), vault, ids, ...access));

export const createPostgresStore: typeof createPostgres = (db, vault, ids, ...access) =>
  watching(createPostgres(recorded(db, note), vault, ids, ...access), (verb) => replaced.add(verb));

/** The same store. `onOther` gets the verbs that are not of a store watched before. */
function watching(store: Store, onOther: (verb: string) => void = () => {}): Store {
  const parts = Object.entries(store).map(([name, part]) => [name, watchedPart(name, part, onOther)]);
  return Object.fromEntries(parts) as Store;
}

function watchedPart(name: string, part: unknown, onOther: (verb: string) => void): unknown {
  if (part === null || typeof part !== 'object') return part;
  const members = Object.entries(part).map(([member, value]: [string, unknown]) => {
    if (typeof value !== 'function') return [member, value];
    const verb = `${name}.${member}`;
    verbs.add(verb);
    if (watched.has(value as Verb)) return [member, value];
    onOther(verb);
    const run: Verb = (...values) => {
      called.add(verb);
      return current.run(verb, () => (value as Verb)(...values));
    };
    watched.add(run);
    return [member, run];
  });
  return Object.fromEntries(members);
}

export function ranStatements(database: RanStatements['database']): RanStatements {
  const shown = Object.fromEntries([...texts].map(([text, by]) => [text, [...by]]));
  return { database, texts: shown, called: [...called], verbs: [...verbs], replaced: [...replaced] };
}
