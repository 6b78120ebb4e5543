/** Event types (`event_type`), and publishing: events, and their place in the logs of webhooks. */
import { EMPLOYEE_CATEGORY, EVERYONE, type EventType, type NewEvent, OPERATOR_ONLY } from '../../domain/event.ts';
import { firstRowKeyAt, isUuidV7, rowKeyOf } from '../../kernel/ids.ts';
import { slices } from '../../kernel/slices.ts';
import type { Database, SqlParameters, Statement } from '../port/database.ts';
import type { EventSample, EventStore, EventTypeStore, PastEvent, PublishedEvent } from '../port/events.ts';
import { IS_UNDER_ERASURE } from './erasure.ts';
import { categoryPattern } from './judging.ts';
import { resourceStore } from './resource.ts';
import { flag, json, number, readRow, table, text, textOrNull } from './table.ts';

/** Events examined for the sample of an event type. */
const SAMPLES_LOOKED_THROUGH = 50;

/** Events of a customer examined for the latest ones of some types. */
const LATEST_LOOKED_THROUGH = 10_000;

const INSERT = `
  INSERT INTO event (key, id, type, data, subject, audience, correlation_id, actor_id, ordering_key, created_at)
  VALUES (@key, @id, @type, @data, @subject, @audience, @correlationId, @actorId, @orderingKey, @createdAt)`;

/** Whether customers get events of the type. A type that is not public reaches only the operator's webhooks, whatever their patterns. */
const isForCustomers = (type: string): string =>
  `EXISTS (SELECT 1 FROM event_type AS x WHERE x.name = ${type} AND x.public)`;
/** The customers of the webhooks that get an event, besides the operator. */
export const reachedBy = (type: string, audience: string): string =>
  `CASE WHEN ${isForCustomers(type)} THEN ${audience} ELSE '' END`;
// Primary key of subscription: the operator's own webhooks and those of one customer, however many customers there are.
const SUBSCRIBED = `
  SELECT webhook_number FROM subscription
  WHERE pattern IN (@type, @category, '*') AND customer_id IN ('', ${reachedBy('@type', '@audience')})`;
// The event is for no customer, so its type does not matter: looking that up twice is a fifth of the writer's time (bench:compare, "publish
// an event").
const SUBSCRIBED_OF_OPERATOR = `
  SELECT webhook_number FROM subscription WHERE pattern IN (@type, @category, '*') AND customer_id = ''`;
const SUBSCRIBED_OF_ALL = `
  SELECT webhook_number FROM subscription
  WHERE pattern IN (@type, @category, '*') AND (customer_id = '' OR ${isForCustomers('@type')})`;
/** Without the webhooks whose filters the event does not pass. */
const passed = (subscribed: string): string =>
  `${subscribed} AND webhook_number NOT IN (SELECT x.value FROM numbers(@excluded) AS x)`;
// Before the offsets are read: a publisher on PostgreSQL that waits here sees the records of the one that it waited for in its next
// statement. The locks are taken in the order of the numbers, so that two publishers cannot deadlock.
const lock = (subscribed: string): string => `
  SELECT webhook_number FROM webhook_progress WHERE webhook_number IN (${subscribed}) ORDER BY webhook_number FOR NO KEY UPDATE`;
// An event that is too old for a log gets no offset, which the table refuses. A duplicate was not inserted and is appended to none.
const append = (subscribed: string): string => `
  INSERT INTO outbox (webhook_number, record_offset, event_key, data_bytes)
  SELECT p.webhook_number, CASE WHEN e.key >= p.base_key THEN p.next_offset END, e.key, octet_length(e.data)
  FROM event AS e CROSS JOIN webhook_status AS p
  WHERE e.key = @key AND e.id = @id AND p.webhook_number IN (${subscribed})
  RETURNING webhook_number`;
type Appending = { readonly lock: string; readonly append: string };
const appending = (subscribed: string): Appending => ({ lock: lock(subscribed), append: append(subscribed) });
/** By the audience, and by whether filters exclude webhooks. */
const APPENDING = {
  operator: { all: appending(SUBSCRIBED_OF_OPERATOR), passed: appending(passed(SUBSCRIBED_OF_OPERATOR)) },
  one: { all: appending(SUBSCRIBED), passed: appending(passed(SUBSCRIBED)) },
  everyone: { all: appending(SUBSCRIBED_OF_ALL), passed: appending(passed(SUBSCRIBED_OF_ALL)) },
} as const;

/** Publishes one judged event in the transaction of the change that caused it (contract §3.4). Such an event has no idempotency key. */
export function publishStatements(event: NewEvent): Statement[] {
  return [insertStatement(event), ...appendStatements(event)];
}

export function insertStatement(event: NewEvent): Statement {
  const { id, type, dataJson: data, subject, audience, correlationId, actorId, orderingKey, createdAt } = event;
  const row = { key: rowKeyOf(id), id, type, data, subject, audience, correlationId, actorId, orderingKey, createdAt };
  return { sql: INSERT, params: row };
}

/** Appends one inserted event to the logs of its webhooks. */
function appendStatements(event: NewEvent): Statement[] {
  const { sql, params } = appendingOf(event);
  return [{ sql: sql.lock, params }, appendStatement(event)];
}

/** The same for a transaction that excludes every other writer. */
export function appendStatement(event: NewEvent): Statement {
  const { sql, params } = appendingOf(event);
  return { sql: sql.append, params, appends: true };
}

function appendingOf(event: NewEvent): { readonly sql: Appending; readonly params: SqlParameters } {
  const { id, type, audience } = event;
  const isExcluding = event.excluded.length > 0;
  const excluded = isExcluding ? { excluded: JSON.stringify(event.excluded) } : {};
  const reached = audience === EVERYONE ? 'everyone' : audience === OPERATOR_ONLY ? 'operator' : 'one';
  const ofCustomer = reached === 'one' ? { audience } : {};
  const params = { key: rowKeyOf(id), id, type, category: categoryPattern(type), ...ofCustomer, ...excluded };
  return { sql: APPENDING[reached][isExcluding ? 'passed' : 'all'], params };
}

const PUBLISHED = `
  SELECT e.id, e.type, e.audience, e.subject, e.correlation_id, e.created_at,
    CASE WHEN ${IS_UNDER_ERASURE} THEN NULL ELSE e.data END AS data_json
  FROM event AS e WHERE e.key = @key AND e.id = @id`;
// Index: event_of_type, covering.
const LATEST_KEYS = 'SELECT key FROM event WHERE type = @type ORDER BY key DESC LIMIT @limit';
// Index: event_of_audience. Looks through a bounded number of events, whatever their types are.
const LATEST_KEYS_OF_CUSTOMER = `
  SELECT key FROM (
    SELECT key, type FROM event WHERE audience = @audience AND audience <> '' ORDER BY key DESC LIMIT ${LATEST_LOOKED_THROUGH}) AS e
  WHERE type IN (SELECT t.value FROM texts(@types) AS t) ORDER BY key DESC LIMIT @limit`;
const PAST = `
  SELECT e.id, e.type, e.subject, e.created_at, e.data AS data_json FROM numbers(@keys) AS k CROSS JOIN event AS e
  WHERE e.key = k.value AND e.data IS NOT NULL AND NOT ${IS_UNDER_ERASURE} ORDER BY e.key DESC`;
/** Their data is at most 256 KiB each, and usually less than 1 KiB. */
const PAST_AT_ONCE = 20;
const PAST_BYTES_AT_ONCE = 512 * 1024;

/** For `EventStore.find`. */
export function publishedEvent(db: Database): EventStore['find'] {
  return async (id) => {
    const row = isUuidV7(id) ? await db.get(PUBLISHED, { key: rowKeyOf(id), id }) : undefined;
    return row === undefined ? null : readRow<PublishedEvent>(row);
  };
}

/** For `EventStore.latest`. */
export function latestEvents(db: Database): EventStore['latest'] {
  const keysOf = async (types: readonly string[], customerId: string | null, limit: number): Promise<number[]> => {
    const reads =
      customerId === null
        ? types.map((type) => db.all(LATEST_KEYS, { type, limit }))
        : [customerId, EVERYONE].map((audience) =>
            db.all(LATEST_KEYS_OF_CUSTOMER, { audience, types: JSON.stringify(types), limit }),
          );
    return (await Promise.all(reads)).flat().map(({ key }) => Number(key));
  };
  return async (types, customerId, { events: limit, maxBytes }) => {
    const keys = await keysOf(types, customerId, limit);
    const newest = keys.sort((a, b) => b - a).slice(0, limit);
    const found: PastEvent[] = [];
    let bytes = 0;
    for (let at = 0, count = 2; at < newest.length && bytes < maxBytes; at += count) {
      if (bytes > 0) count = Math.min(PAST_AT_ONCE, Math.ceil((PAST_BYTES_AT_ONCE * found.length) / bytes));
      const keys = JSON.stringify(newest.slice(at, at + count));
      // SQLite reads synchronously, so a read is a slice of work.
      const rows = await slices(
        customerId,
        (function* () {
          yield;
          return db.all(PAST, { keys });
        })(),
      );
      for (const event of rows.map((row) => readRow<PastEvent>(row))) {
        found.push(event);
        bytes += event.dataJson.length;
      }
    }
    return found;
  };
}

export const EVENT_TYPE = table<EventType>(
  'event_type',
  'id',
  {
    id: text,
    name: text,
    description: text,
    encryptionRequired: flag,
    builtIn: flag,
    dataSchema: json<Readonly<Record<string, unknown>> | null>(),
    sample: json<Readonly<Record<string, unknown>> | null>(),
    group: textOrNull,
    source: textOrNull,
    deprecated: flag,
    public: flag,
    searchPaths: json<readonly string[]>(),
    createdAt: number,
    updatedAt: number,
  },
  { group: 'group_name' },
);

// Index: event_of_type.
const IN_LOG = 'SELECT key FROM event WHERE type = @name AND erased_at IS NULL LIMIT 1';
// Index: event_of_type, whose entries end in the key.
const SAMPLE = `
  SELECT data AS data_json, created_at FROM (
    SELECT key, type, data, subject, created_at FROM event WHERE type = @name ORDER BY key DESC LIMIT ${SAMPLES_LOOKED_THROUGH}) AS e
  WHERE data IS NOT NULL AND octet_length(data) <= @maxBytes
    AND EXISTS (SELECT 1 FROM event_type AS t WHERE t.name = e.type AND NOT t.encryption_required)
    AND NOT ${IS_UNDER_ERASURE}
  ORDER BY key DESC LIMIT 1`;
// Index: event_of_type, covering.
const VOLUMES = `
  SELECT wanted.value AS name, (
    SELECT count(*) FROM (SELECT 1 FROM event WHERE type = wanted.value AND key >= @from LIMIT @limit) AS found) AS events
  FROM texts(@names) AS wanted`;
const ALL = `SELECT ${EVENT_TYPE.columns()} FROM event_type ORDER BY id`;
// Index: event_of_type.
const FROM_OFFERED = `
  FROM event_type AS t
  WHERE t.public AND (NOT t.built_in OR substr(t.name, 1, ${EMPLOYEE_CATEGORY.length}) <> '${EMPLOYEE_CATEGORY}'
    OR EXISTS (SELECT 1 FROM event AS e WHERE e.type = t.name))`;
const OFFERED = `SELECT ${EVENT_TYPE.columns('t')} ${FROM_OFFERED} ORDER BY t.id`;
// The clock may have been set back, so the latest change is not sufficient. An event may offer its type, without a change of it.
const VERSION = `
  SELECT count(*) AS types, max(updated_at) AS latest, CAST(sum(updated_at % 1000000007) AS BIGINT) AS checksum,
    (SELECT count(*) ${FROM_OFFERED}) AS offered
  FROM event_type`;
const SOURCES = 'SELECT name, source FROM event_type WHERE source IS NOT NULL';
const FORGET_BUILT_IN = 'DELETE FROM event_type WHERE built_in';

export function eventTypeStore(db: Database): Omit<EventTypeStore, 'getByName'> {
  return {
    ...resourceStore(db, 'event_type', EVENT_TYPE, { list: { filters: { public: "public = (@public = 'true')" } } }),
    isInLog: async (name) => (await db.get(IN_LOG, { name })) !== undefined,
    latestSample: async (name, maxBytes) => {
      const row = await db.get(SAMPLE, { name, maxBytes });
      return row === undefined ? null : readRow<EventSample>(row);
    },
    volumes: async (names, since, limit) => {
      const rows = await db.all(VOLUMES, { names: JSON.stringify(names), from: firstRowKeyAt(since), limit });
      const counted = rows.map(({ name, events }) => [String(name), Number(events)] as const);
      return new Map(counted.filter(([, events]) => events > 0));
    },
    all: async () => (await db.all(ALL, {})).map(EVENT_TYPE.read),
    sources: async () => new Map((await db.all(SOURCES, {})).map(({ name, source }) => [String(name), String(source)])),
    offered: async () => (await db.all(OFFERED, {})).map(EVENT_TYPE.read),
    version: async () => Object.values((await db.get(VERSION, {})) ?? {}).join(' '),
    replaceBuiltIn: async (eventTypes) =>
      void (await db.commit([{ sql: FORGET_BUILT_IN, params: {} }, ...eventTypes.map(EVENT_TYPE.insert)])),
  };
}
