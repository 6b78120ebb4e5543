/**
 * Publishing on SQLite (`event`, `outbox`, `idempotency`): one transaction for each request, which the driver commits together with others.
 */
import { EVERYONE, type Idempotency, type NewEvent } from '../../domain/event.ts';
import { rowKeyOf } from '../../kernel/ids.ts';
import type { Database, Statement } from '../port/database.ts';
import { KeyConflict, StaleWrite } from '../port/errors.ts';
import type { EventStore, EventTypeStore } from '../port/events.ts';
import {
  appendStatement,
  EVENT_TYPE,
  insertStatement,
  latestEvents,
  publishedEvent,
  reachedBy,
} from '../shared/events.ts';
import { filteredWebhooks, hasFilters, judge } from '../shared/judging.ts';
import { readOne, resultsByStatement } from '../shared/table.ts';

// Takes the key if it is free or expired. Otherwise it stays with the earlier event.
const TAKE_KEY = `
  INSERT INTO idempotency (publisher, key, event_id, event_key, expires_at) VALUES (@publisher, @key, @eventId, @eventKey, @expiresAt)
  ON CONFLICT (publisher, key) DO UPDATE
  SET event_id = excluded.event_id, event_key = excluded.event_key, expires_at = excluded.expires_at
  WHERE idempotency.expires_at <= @now`;

const INSERT_ONCE = `
  INSERT INTO event (key, id, type, data, subject, audience, correlation_id, actor_id, ordering_key, created_at, content_hash)
  SELECT @key, @id, @type, @data, @subject, @audience, @correlationId, @actorId, @orderingKey, @createdAt, @contentHash
  WHERE EXISTS (SELECT 1 FROM idempotency WHERE publisher = @publisher AND key = @idempotencyKey AND event_id = @id)`;

// An erased event has no hash: repeating its key publishes nothing, whatever the content is.
const IS_SAME = '(e.content_hash IS NULL OR e.content_hash = @contentHash)';

const HOLDER = `
  SELECT i.event_id FROM idempotency AS i LEFT JOIN event AS e ON e.key = i.event_key
  WHERE i.publisher = @publisher AND i.key = @key AND ${IS_SAME}`;

const OTHER_HOLDER = `
  SELECT i.event_id FROM idempotency AS i LEFT JOIN event AS e ON e.key = i.event_key
  WHERE i.publisher = @publisher AND i.key = @key AND i.expires_at > @now AND NOT ${IS_SAME}`;

// All events of a request with one write. The inserted events by key and id.
const APPEND_ALL = `
  WITH fresh AS MATERIALIZED (
    SELECT e.key, e.type, e.audience, octet_length(e.data) AS data_bytes FROM tuples(@inserted) AS j CROSS JOIN event AS e
    WHERE e.key = CAST(j.value ->> 0 AS BIGINT) AND e.id = j.value ->> 1),
  wanted AS MATERIALIZED (
    SELECT DISTINCT t.type, t.audience, s.webhook_number
    FROM (SELECT DISTINCT type, audience FROM fresh) AS t
    CROSS JOIN subscription AS s
    WHERE s.pattern IN (t.type, substr(t.type, 1, strpos(t.type, '.')) || '*', '*')
      AND s.customer_id IN ('', ${reachedBy('t.type', 't.audience')})),
  log AS MATERIALIZED (
    SELECT webhook_number, next_offset FROM webhook_status WHERE webhook_number IN (SELECT webhook_number FROM wanted))
  INSERT INTO outbox (webhook_number, record_offset, event_key, data_bytes)
  SELECT w.webhook_number, l.next_offset + row_number() OVER (PARTITION BY w.webhook_number ORDER BY f.key) - 1, f.key, f.data_bytes
  FROM log AS l CROSS JOIN wanted AS w CROSS JOIN fresh AS f
  WHERE w.webhook_number = l.webhook_number AND f.type = w.type AND f.audience = w.audience
  RETURNING webhook_number`;

/** Appends several events in their order. Their keys ascend. */
function publishAllStatements(events: readonly NewEvent[]): Statement[] {
  const [first] = events;
  const isSpecial = events.some(({ excluded, audience }) => excluded.length > 0 || audience === EVERYONE);
  if (first === undefined || events.length === 1 || isSpecial)
    return events.flatMap((event) => [...insertStatements(event), appendStatement(event)]);
  const inserted = JSON.stringify(events.map(({ id }) => [rowKeyOf(id), id]));
  return [...events.flatMap(insertStatements), { sql: APPEND_ALL, params: { inserted }, appends: true }];
}

function insertStatements(event: NewEvent): Statement[] {
  const { id, createdAt: now, idempotency } = event;
  const insert = insertStatement(event);
  if (idempotency === null) return [insert];
  const { publisher, key: idempotencyKey, expiresAt, contentHash } = idempotency;
  const taken = { publisher, key: idempotencyKey, eventId: id, eventKey: rowKeyOf(id), expiresAt, now };
  return [
    { sql: TAKE_KEY, params: taken },
    { sql: INSERT_ONCE, params: { ...insert.params, contentHash, publisher, idempotencyKey } },
  ];
}

export function eventStore(db: Database): EventStore {
  return {
    find: publishedEvent(db),
    latest: latestEvents(db),
    judge: async (events) =>
      (await hasFilters(db)) ? judge(db, events, (addressed) => filteredWebhooks(db, addressed)) : events,
    publish: async (events) => {
      const keyed = events.filter((event) => event.idempotency !== null);
      const holders = keyed.map(({ idempotency }): Statement => {
        const { publisher, key, contentHash } = idempotency as Idempotency;
        return { sql: HOLDER, params: { publisher, key, contentHash }, expectChanges: 1 };
      });
      const list = [...publishAllStatements(events), ...holders];
      const results = await db.commit(list).catch(async (error: unknown) => {
        // Only `HOLDER` expects a number of rows.
        const conflicts = error instanceof StaleWrite ? await conflictsOf(db, events) : [];
        // No conflict means that the key has expired or its event was erased. The caller decides again.
        throw conflicts.length === 0 ? error : new KeyConflict(conflicts);
      });
      const resultOf = resultsByStatement(list, results);
      const heldBy = new Map(holders.map((holder, n) => [keyed[n]?.id, String(resultOf(holder).rows[0]?.event_id)]));
      return events.map(({ id }) => {
        const holder = heldBy.get(id) ?? id;
        return { id: holder, duplicate: holder !== id };
      });
    },
  };
}

async function conflictsOf(db: Database, events: readonly NewEvent[]): Promise<number[]> {
  const found: number[] = [];
  for (const [at, { idempotency, createdAt }] of events.entries()) {
    if (idempotency === null) continue;
    const { publisher, key, contentHash } = idempotency;
    if ((await db.get(OTHER_HOLDER, { publisher, key, contentHash, now: createdAt })) !== undefined) found.push(at);
  }
  return found;
}

const EVENT_TYPE_BY_NAME = `SELECT ${EVENT_TYPE.columns()} FROM event_type WHERE name = @name`;

export function eventTypeReads(db: Database): Pick<EventTypeStore, 'getByName'> {
  return { getByName: async (name) => readOne(EVENT_TYPE, await db.get(EVENT_TYPE_BY_NAME, { name })) };
}
