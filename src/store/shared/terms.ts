/** Events by the values of their data (`event_term`). */

import { createHmac } from 'node:crypto';
import { EVERYONE } from '../../domain/event.ts';
import { searchValue, searchValues } from '../../domain/search-terms.ts';
import { firstRowKeyAt } from '../../kernel/ids.ts';
import type { Vault } from '../../kernel/vault.ts';
import type { Database } from '../port/database.ts';
import { measured, type StepResult } from '../port/steps.ts';
import type { FoundEvent, TermStore } from '../port/terms.ts';
import { IS_UNDER_ERASURE } from './erasure.ts';
import { withinBytes } from './retention.ts';
import { searchKey } from './settings.ts';
import { readRow } from './table.ts';

/** Two processes that publish at the same moment may write in another order than they drew their keys: younger events wait. */
const SETTLED_MS = 3000;
/** Events of a step; `withinBytes` bounds their data. */
const EVENTS_AT_ONCE = 200;
/** Characters of the hash. With a billion values, two equal hashes are as likely as one in 10^20. */
const TERM_LENGTH = 22;

const TYPES = `
  SELECT t.name, t.search_paths AS paths, p.paths AS known_paths, p.through_key FROM event_type AS t
  LEFT JOIN event_term_progress AS p ON p.type = t.name
  WHERE CAST(t.search_paths AS TEXT) <> '[]' AND NOT t.encryption_required`;
// Index: event_of_type.
const NEXT = `
  SELECT key, coalesce(octet_length(data), 0) AS bytes FROM event
  WHERE type = @type AND key > @after AND key < @before ORDER BY key LIMIT @limit`;
const DATA = `
  SELECT e.key, e.data FROM numbers(@keys) AS k CROSS JOIN event AS e
  WHERE e.key = k.value AND e.data IS NOT NULL AND NOT ${IS_UNDER_ERASURE}`;
const INSERT = `
  INSERT INTO event_term (term, audience, event_key, path)
  SELECT t.value ->> 0, e.audience, e.key, t.value ->> 2
  FROM tuples(@terms) AS t CROSS JOIN event AS e
  WHERE e.key = CAST(t.value ->> 1 AS BIGINT) AND e.data IS NOT NULL ON CONFLICT DO NOTHING`;
// First: the locks make an erasure of the same moment wait, which then deletes the new rows too.
const REACHED = `
  INSERT INTO event_term_progress (type, paths, through_key)
  SELECT @type, @paths, CAST(@through AS BIGINT) FROM (
    SELECT count(*) AS events FROM (
      SELECT key FROM event WHERE key IN (SELECT k.value FROM numbers(@keys) AS k) ORDER BY key FOR UPDATE) AS locked) AS reached
  WHERE true
  ON CONFLICT (type) DO UPDATE SET paths = excluded.paths, through_key = excluded.through_key`;
/** Whether term `x` may be found: its event has its data, and the type names the path. Customers do not get types that are not public. */
const isValid = (forCustomers: '' | 'AND t.public'): string => `EXISTS (
  SELECT 1 FROM event AS e JOIN event_type AS t ON t.name = e.type
  WHERE e.key = x.event_key AND e.data IS NOT NULL AND NOT t.encryption_required ${forCustomers}
    AND x.path IN (SELECT p.value FROM texts(t.search_paths) AS p))`;
// Index: event_term_event.
const OLDEST = `
  SELECT max(event_key) AS last FROM (
    SELECT event_key FROM event_term WHERE event_key > @after ORDER BY event_key LIMIT @limit) AS oldest`;
const FORGET = `
  DELETE FROM event_term AS x WHERE event_key > @after AND event_key <= @last AND NOT ${isValid('')}`;
/** Those of removed types, and of types that no longer name a path: if they name one again, all of their events are read. */
const FORGET_PROGRESS = `
  DELETE FROM event_term_progress WHERE NOT EXISTS (
    SELECT 1 FROM event_type AS t
    WHERE t.name = event_term_progress.type AND CAST(t.search_paths AS TEXT) <> '[]' AND NOT t.encryption_required)`;
// Indexes: event_term_newest; of a customer the primary key. Neither reads what others have.
const keysSql = (condition: string, forCustomers: '' | 'AND t.public'): string => `
  SELECT x.event_key, x.path FROM event_term AS x
  WHERE x.term = @term ${condition} AND x.event_key >= @from AND x.event_key <= @through AND ${isValid(forCustomers)}
  ORDER BY x.event_key DESC LIMIT @limit`;
const KEYS = keysSql('', '');
const KEYS_OF_AUDIENCE = keysSql('AND x.audience = @audience', 'AND t.public');
const FOUND = `
  SELECT e.key, e.id, e.type, e.created_at FROM numbers(@keys) AS k CROSS JOIN event AS e WHERE e.key = k.value`;

/** Keys of events from `from` to `through`, both inclusive. */
type KeyStretch = { readonly from: number; readonly through: number };
type Found = { readonly key: number; readonly path: string };

export type Terms = {
  readonly verbs: TermStore;
  /** Newest first: the events with this value, as `find`. An event is there once for each of its paths. */
  places(text: string, customerId: string | null, keys: KeyStretch, limit: number): Promise<readonly Found[]>;
};

export function termStore(database: Database, vault: Vault): Terms {
  let key: string | null = null;
  /** Null if nothing was ever kept. */
  const hashes = async (isKept: boolean): Promise<HashOf | null> => {
    key ??= await searchKey(database, vault, isKept);
    const known = key;
    if (known === null) return null;
    return (value) => createHmac('sha256', known).update(value).digest('base64url').slice(0, TERM_LENGTH);
  };
  const places: Terms['places'] = async (text, customerId, keys, limit) => {
    const value = searchValue(text);
    const hashOf = value === null ? null : await hashes(false);
    if (value === null || hashOf === null) return [];
    const asked = { ...keys, term: hashOf(value), limit };
    const reads =
      customerId === null
        ? [database.all(KEYS, asked)]
        : [customerId, EVERYONE].map((audience) => database.all(KEYS_OF_AUDIENCE, { ...asked, audience }));
    return (await Promise.all(reads))
      .flat()
      .map((row) => ({ key: Number(row.event_key), path: String(row.path) }))
      .sort((a, b) => b.key - a.key)
      .slice(0, limit);
  };
  const verbs: TermStore = {
    step: (now, limit) => measured(database, (db) => step(db, () => hashes(true), now, limit)),
    forget: (after, limit) => measured(database, (db) => forget(db, after, limit)),
    find: async (text, customerId, limit) => {
      const found = await places(text, customerId, { from: 0, through: Number.MAX_SAFE_INTEGER }, limit);
      if (found.length === 0) return [];
      const rows = await database.all(FOUND, { keys: JSON.stringify(found.map((one) => one.key)) });
      const events = new Map(rows.map((row) => [Number(row.key), readRow<Omit<FoundEvent, 'path'>>(row)]));
      return found.flatMap(({ key, path }) => {
        const event = events.get(key);
        if (event === undefined) return [];
        const { id, type, createdAt } = event;
        return [{ id, type, path, createdAt }];
      });
    },
  };
  return { verbs, places };
}

type HashOf = (value: string) => string;
type Searched = {
  readonly name: string;
  readonly paths: readonly string[];
  readonly after: number;
  readonly isNew: boolean;
};

async function searchedTypes(db: Database): Promise<Searched[]> {
  return (await db.all(TYPES, {})).map((row) => {
    const paths = readPaths(row.paths);
    const isKnown = JSON.stringify(readPaths(row.known_paths)) === JSON.stringify(paths);
    const after = isKnown && row.through_key !== null ? Number(row.through_key) : -1;
    return { name: String(row.name), paths, after, isNew: !isKnown };
  });
}

function readPaths(value: unknown): string[] {
  return typeof value === 'string' ? (JSON.parse(value) as string[]) : [];
}

/** The next events of the first type that has some. */
async function step(
  db: Database,
  hashes: () => Promise<HashOf | null>,
  now: number,
  limit: number,
): Promise<Omit<StepResult, 'took'>> {
  const before = firstRowKeyAt(now - SETTLED_MS);
  for (const { name: type, paths, after, isNew } of await searchedTypes(db)) {
    const next = await db.all(NEXT, { type, after, before, limit: Math.min(limit, EVENTS_AT_ONCE) });
    if (next.length === 0 && !isNew) continue;
    const keys = next.slice(0, withinBytes(next.map(({ bytes }) => Number(bytes)))).map(({ key }) => Number(key));
    const events = keys.length === 0 ? [] : await db.all(DATA, { keys: JSON.stringify(keys) });
    const hashOf = await hashes();
    if (hashOf === null) throw new Error('the key of the search was not made');
    const terms: [term: string, key: number, path: string][] = [];
    for (const { key, data } of events) {
      for (const { path, value } of searchValues(String(data), paths)) terms.push([hashOf(value), Number(key), path]);
    }
    const reached = { type, paths: JSON.stringify(paths), through: keys.at(-1) ?? after, keys: JSON.stringify(keys) };
    await db.commit([
      { sql: REACHED, params: reached },
      ...(terms.length === 0 ? [] : [{ sql: INSERT, params: { terms: JSON.stringify(terms) } }]),
    ]);
    return { done: false, rows: keys.length };
  }
  return { done: true, rows: 0 };
}

async function forget(
  db: Database,
  after: number,
  limit: number,
): Promise<Omit<StepResult, 'took'> & { readonly next: number | null }> {
  const { last = null } = (await db.get(OLDEST, { after, limit })) ?? {};
  if (last === null) {
    await db.commit([{ sql: FORGET_PROGRESS, params: {} }]);
    return { done: true, next: null, rows: 0 };
  }
  const [deleted] = await db.commit([{ sql: FORGET, params: { after, last: Number(last) } }]);
  return { done: false, next: Number(last), rows: deleted?.changes ?? 0 };
}
