/**
 * Stores that note which statements they run, and for which verb. A run of the whole fast tier loads these functions in place of the ones
 * in src/ (scripts/suite/recorder.ts), so that every test counts.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createPostgresStore as createPostgres } from '../../src/store/postgres/store.ts';
import { createSharedStore as createShared } from '../../src/store/shared/store.ts';
import { createSqliteStore as createSqlite } from '../../src/store/sqlite/store.ts';
import { oneLine, recorded } from './statements.ts';

type DatabaseName = 'SQLite' | 'PostgreSQL';

/** The calls of one process's stores on one database. A verb is written `users.insert`. */
export type RanStatements = {
  readonly database: DatabaseName;
  /** Each text and the verbs that ran it; the verb is empty outside of all. */
  readonly texts: Readonly<Record<string, readonly string[]>>;
  readonly called: readonly string[];
  /** All that a store of PostgreSQL has. One of SQLite has some more, which remove rows one by one. */
  readonly verbs: readonly string[];
  /** The verbs that are PostgreSQL's own. */
  readonly replaced: readonly string[];
};

type Verb = (...values: never[]) => unknown;
type Notes = {
  readonly texts: Map<string, Set<string>>;
  /** The same sets by the text as it was written: the statements run millions of times. */
  readonly written: Map<string, Set<string>>;
  readonly called: Set<string>;
  readonly verbs: Set<string>;
  readonly replaced: Set<string>;
};

const notes: Record<DatabaseName, Notes> = { SQLite: noNotes(), PostgreSQL: noNotes() };
const current = new AsyncLocalStorage<string>();
const watched = new WeakSet<Verb>();
/** The database of the store that is being made. Each begins with the shared verbs. */
let making: DatabaseName = 'SQLite';

function noNotes(): Notes {
  return { texts: new Map(), written: new Map(), called: new Set(), verbs: new Set(), replaced: new Set() };
}

function noting(database: DatabaseName): (sql: string) => void {
  const { texts, written } = notes[database];
  const verbsOf = (sql: string): Set<string> => {
    const text = oneLine(sql);
    const by = texts.get(text) ?? new Set();
    texts.set(text, by);
    written.set(sql, by);
    return by;
  };
  return (sql) => void (written.get(sql) ?? verbsOf(sql)).add(current.getStore() ?? '');
}

export const createSharedStore: typeof createShared = (db, vault, ids, access, lockLog) =>
  watching(createShared(recorded(db, noting(making)), vault, ids, access, lockLog), making, () => {});

export const createSqliteStore: typeof createSqlite = (db, vault, ids) => {
  making = 'SQLite';
  return watching(createSqlite(recorded(db, noting('SQLite')), vault, ids), 'SQLite', () => {});
};

export const createPostgresStore: typeof createPostgres = (db, vault, ids, ...access) => {
  making = 'PostgreSQL';
  const store = createPostgres(recorded(db, noting('PostgreSQL')), vault, ids, ...access);
  const { replaced, verbs } = notes.PostgreSQL;
  return watching(store, 'PostgreSQL', (verb, isOwn) => {
    verbs.add(verb);
    if (isOwn) replaced.add(verb);
  });
};

/** The same store. `onVerb` gets each verb, and whether it is not of a store watched before. */
function watching<S extends object>(
  store: S,
  database: DatabaseName,
  onVerb: (verb: string, isOwn: boolean) => void,
): S {
  const { called } = notes[database];
  const watchedMember = (name: string, value: unknown): unknown => {
    if (isRecord(value)) {
      const members = Object.entries(value);
      return Object.fromEntries(members.map(([member, one]) => [member, watchedMember(`${name}.${member}`, one)]));
    }
    if (typeof value !== 'function') return value;
    onVerb(name, !watched.has(value as Verb));
    if (watched.has(value as Verb)) return value;
    const run: Verb = (...values) => {
      called.add(name);
      return current.run(name, () => (value as Verb)(...values));
    };
    watched.add(run);
    return run;
  };
  return Object.fromEntries(Object.entries(store).map(([name, part]) => [name, watchedMember(name, part)])) as S;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

export function ranStatements(): RanStatements[] {
  return Object.entries(notes).map(([database, { texts, called, verbs, replaced }]) => ({
    database: database as DatabaseName,
    texts: Object.fromEntries([...texts].map(([text, by]) => [text, [...by]])),
    called: [...called],
    verbs: [...verbs],
    replaced: [...replaced],
  }));
}
