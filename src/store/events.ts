/** Publishing (`event`, `outbox`): the statements that append an event and its records to every subscribed webhook's log. */
import { rowKeyOf } from '../ids.ts';
import type { Database, Statement } from './database.ts';

/** An event on its way in. */
export type NewEvent = {
  readonly id: string;
  readonly type: string;
  /** JSON text, as it will go out. */
  readonly dataJson: string;
  readonly subject: string | null;
  readonly correlationId: string;
  readonly actorId: string | null;
  readonly createdAt: number;
  readonly idempotency: { readonly publisher: string; readonly key: string; readonly expiresAt: number } | null;
};

/** An event as accepted: its id, or that of the earlier one which the same idempotency key stands for. */
export type Accepted = { readonly id: string; readonly duplicate: boolean };

// Takes the key if it is free or has expired; otherwise it keeps standing for the earlier event.
const TAKE_KEY = `
  INSERT INTO idempotency (publisher, key, event_id, expires_at) VALUES (@publisher, @key, @eventId, @expiresAt)
  ON CONFLICT (publisher, key) DO UPDATE SET event_id = excluded.event_id, expires_at = excluded.expires_at
  WHERE idempotency.expires_at <= @now`;
const INSERT = `
  INSERT INTO event (key, id, type, data, subject, correlation_id, actor_id, created_at)
  VALUES (@key, @id, @type, @data, @subject, @correlationId, @actorId, @createdAt)`;
const INSERT_ONCE = `
  INSERT INTO event (key, id, type, data, subject, correlation_id, actor_id, created_at)
  SELECT @key, @id, @type, @data, @subject, @correlationId, @actorId, @createdAt
  WHERE EXISTS (SELECT 1 FROM idempotency WHERE publisher = @publisher AND key = @idempotencyKey AND event_id = @id)`;
const HOLDER = 'SELECT event_id FROM idempotency WHERE publisher = @publisher AND key = @key';

const SUBSCRIBED = `
  SELECT webhook_number FROM subscription WHERE pattern IN (@type, @category, '*')`;
// A duplicate was not inserted, so it fans out to nobody.
const FAN_OUT = `
  INSERT INTO outbox (webhook_number, record_offset, event_key)
  SELECT p.webhook_number, p.next_offset, e.key
  FROM event AS e CROSS JOIN webhook_progress AS p
  WHERE e.key = @key AND e.id = @id AND p.webhook_number IN (${SUBSCRIBED})`;
const ADVANCE = `
  UPDATE webhook_progress
  SET next_offset = next_offset + 1,
      wake_at = CASE WHEN state IN ('started', 'running', 'failing') THEN min(coalesce(wake_at, @createdAt), @createdAt) END
  WHERE webhook_number IN (${SUBSCRIBED}) AND EXISTS (SELECT 1 FROM event WHERE key = @key AND id = @id)`;

/** Appends one event. Part of the transaction of the change that caused it (wire.md §3), or of a publish request. */
export function publishStatements(event: NewEvent): Statement[] {
  const key = rowKeyOf(event.id);
  const { id, type, dataJson: data, subject, correlationId, actorId, createdAt, idempotency } = event;
  const row = { key, id, type, data, subject, correlationId, actorId, createdAt };
  const category = categoryPattern(type);
  const fanOut: Statement[] = [
    { sql: FAN_OUT, params: { key, id, type, category } },
    { sql: ADVANCE, params: { key, id, type, category, createdAt } },
  ];
  if (idempotency === null) return [{ sql: INSERT, params: row }, ...fanOut];
  const { publisher, key: idempotencyKey, expiresAt } = idempotency;
  return [
    { sql: TAKE_KEY, params: { publisher, key: idempotencyKey, eventId: id, expiresAt, now: createdAt } },
    { sql: INSERT_ONCE, params: { ...row, publisher, idempotencyKey } },
    ...fanOut,
  ];
}

/** The pattern that takes every event of the type's category: `employee.*`. */
export function categoryPattern(type: string): string {
  return `${type.slice(0, type.indexOf('.'))}.*`;
}

export type EventStore = {
  /** Appends all of them in one transaction, durable when it resolves (wire.md §4). */
  publish(events: readonly NewEvent[]): Promise<Accepted[]>;
};

export function eventStore(db: Database): EventStore {
  return {
    publish: async (events) => {
      const keyed = events.filter((event) => event.idempotency !== null);
      const holders = keyed.map(({ idempotency }): Statement => {
        const { publisher = '', key = '' } = idempotency ?? {};
        return { sql: HOLDER, params: { publisher, key } };
      });
      const results = await db.commit([...events.flatMap(publishStatements), ...holders]);
      const heldBy = new Map(
        results
          .slice(results.length - holders.length)
          .map((result, n) => [keyed[n]?.id, String(result.rows[0]?.event_id)]),
      );
      return events.map(({ id }) => {
        const holder = heldBy.get(id) ?? id;
        return { id: holder, duplicate: holder !== id };
      });
    },
  };
}
