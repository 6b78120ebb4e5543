/** Deliveries as people see them: a record of a webhook's log with the state of its batch. Reads, and replays. */
import type { AuditEntry } from '../audit.ts';
import { type DeliveryAddress, deliveryId, firstRowKeyAt, rowKeyTime } from '../ids.ts';
import { auditStatement } from './audit.ts';
import type { Database, Parameters, Row, SqlValue, Statement } from './database.ts';

export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'discarded';

export type Delivery = {
  readonly id: string;
  readonly webhookNumber: number;
  readonly webhookId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly offset: number;
  readonly state: DeliveryState;
  readonly attemptCount: number;
  readonly nextAttemptAt: number | null;
  readonly createdAt: number;
  readonly settledAt: number | null;
};

export type DeliveryFilter = {
  readonly webhookNumber?: number;
  readonly state?: DeliveryState;
  readonly eventType?: string;
  /** Instants of the event: from `since` on, before `until`. */
  readonly since?: number;
  readonly until?: number;
};

/** Which records of a webhook to send again; the ends are offsets, both included. */
export type ReplayRange = {
  readonly webhookNumber: number;
  readonly first: number;
  readonly last: number;
  readonly states: readonly DeliveryState[];
  readonly now: number;
  /** Ids for the parts that a batch falls into where the range cuts it. */
  readonly newIds: readonly [string, string];
};

// A record that was erased before its batch was settled did not go out with the others.
const STATE = `
  CASE WHEN e.erased_at < coalesce(b.settled_at, e.erased_at + 1) THEN 'discarded' ELSE coalesce(b.state, 'pending') END`;
// A record's batch is the last one that begins at or before it, if it reaches that far.
const SELECT = `
  SELECT o.webhook_number, o.record_offset, o.event_key, w.id AS webhook_id, e.id AS event_id, e.type, e.created_at,
         ${STATE} AS state, coalesce(b.attempt_count, 0) AS attempt_count, b.next_attempt_at, b.settled_at
  FROM outbox AS o
  CROSS JOIN event AS e ON e.key = o.event_key
  CROSS JOIN webhook AS w ON w.number = o.webhook_number
  LEFT JOIN batch AS b ON b.webhook_number = o.webhook_number AND b.last_offset >= o.record_offset AND b.first_offset =
    (SELECT max(first_offset) FROM batch WHERE webhook_number = o.webhook_number AND first_offset <= o.record_offset)`;
const GET = `${SELECT} WHERE o.webhook_number = @webhookNumber AND o.record_offset = @offset`;
const EVENT_KEY = 'SELECT event_key FROM outbox WHERE webhook_number = @webhookNumber AND record_offset = @offset';

/** Each condition of a list, and the parameters it takes. Within a webhook the log's own order serves; across webhooks, outbox_event. */
const CONDITIONS: Readonly<Record<string, string>> = {
  webhookNumber: 'o.webhook_number = @webhookNumber',
  state: `${STATE} = @state`,
  eventType: 'e.type = @eventType',
  since: 'o.event_key >= @since',
  until: 'o.event_key < @until',
};

const SPLIT_RIGHT = `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, settled_at)
  SELECT webhook_number, @at, last_offset, @id, state, attempt_count, content_refusals, settled_at FROM batch
  WHERE webhook_number = @webhookNumber AND state <> 'pending' AND last_offset >= @at
    AND first_offset = (SELECT max(first_offset) FROM batch WHERE webhook_number = @webhookNumber AND first_offset < @at)
    AND first_offset < @at`;
const SPLIT_LEFT = `
  UPDATE batch SET last_offset = @at - 1
  WHERE webhook_number = @webhookNumber AND state <> 'pending' AND last_offset >= @at
    AND first_offset = (SELECT max(first_offset) FROM batch WHERE webhook_number = @webhookNumber AND first_offset < @at)`;
const REPLAY = `
  UPDATE batch
  SET state = 'pending', attempt_count = 0, content_refusals = 0, next_attempt_at = @now, settled_at = NULL
  WHERE webhook_number = @webhookNumber AND first_offset BETWEEN @first AND @last
    AND state IN (SELECT value FROM json_each(@states))
  RETURNING first_offset, last_offset`;
const COUNT_PENDING = `
  UPDATE webhook_progress SET pending_records = pending_records + coalesce((
    SELECT sum(last_offset - first_offset + 1) FROM batch
    WHERE batch.webhook_number = @webhookNumber AND first_offset BETWEEN @first AND @last
      AND batch.state <> 'pending' AND batch.state IN (SELECT value FROM json_each(@states))), 0)
  WHERE webhook_number = @webhookNumber`;
const WAKE = `
  UPDATE webhook_progress SET wake_at = @now, probe_at = NULL
  WHERE webhook_number = @webhookNumber AND state IN ('started', 'running', 'failing')`;
const OFFSETS_BETWEEN = `
  SELECT min(record_offset) AS first, max(record_offset) AS last FROM outbox
  WHERE webhook_number = @webhookNumber AND event_key >= @since AND event_key < @until`;

export type DeliveryStore = {
  get(address: DeliveryAddress): Promise<Delivery | null>;
  /** Newest event first; `before` is where the page before ended. */
  list(filter: DeliveryFilter, before: DeliveryAddress | null, limit: number): Promise<Delivery[]>;
  /** The offsets of a webhook's records whose events happened from `since` on and before `until`, or null when there are none. */
  offsetsBetween(webhookNumber: number, since: number, until: number): Promise<{ first: number; last: number } | null>;
  /** Makes settled records pending again, due at once; answers how many. */
  replay(range: ReplayRange, audit: AuditEntry): Promise<number>;
};

export function deliveryStore(db: Database): DeliveryStore {
  return {
    get: async (address) => {
      const { webhookNumber, offset } = address;
      const row = await db.get(GET, { webhookNumber, offset });
      const delivery = row === undefined ? null : read(row);
      return delivery?.id === deliveryId(address) ? delivery : null;
    },
    list: async (filter, before, limit) => {
      const conditions = Object.keys(filter).map((name) => CONDITIONS[name] as string);
      const params: Record<string, SqlValue> = { ...(filter as Parameters), limit };
      if (filter.since !== undefined) params.since = firstRowKeyAt(filter.since);
      if (filter.until !== undefined) params.until = firstRowKeyAt(filter.until);
      if (before !== null) {
        const { webhookNumber, offset } = before;
        // Where housekeeping has taken the record meanwhile, the page begins anew at its millisecond: rather twice than not at all.
        const record = await db.get(EVENT_KEY, { webhookNumber, offset });
        params.beforeKey = record?.event_key ?? firstRowKeyAt(before.createdAt + 1);
        params.beforeNumber = webhookNumber;
        params.beforeOffset = offset;
        conditions.push(
          filter.webhookNumber === undefined
            ? '(o.event_key, o.webhook_number, o.record_offset) < (@beforeKey, @beforeNumber, @beforeOffset)'
            : 'o.record_offset < @beforeOffset',
        );
      }
      const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
      const order =
        filter.webhookNumber === undefined
          ? 'o.event_key DESC, o.webhook_number DESC, o.record_offset DESC'
          : 'o.record_offset DESC';
      return (await db.all(`${SELECT} ${where} ORDER BY ${order} LIMIT @limit`, params)).map(read);
    },
    offsetsBetween: async (webhookNumber, since, until) => {
      const params = { webhookNumber, since: firstRowKeyAt(since), until: firstRowKeyAt(until) };
      const row = await db.get(OFFSETS_BETWEEN, params);
      return row?.first == null ? null : { first: Number(row.first), last: Number(row.last) };
    },
    replay: async ({ webhookNumber, first, last, states, now, newIds }, audit) => {
      const split = (at: number, id: string): Statement[] => [
        { sql: SPLIT_RIGHT, params: { webhookNumber, at, id } },
        { sql: SPLIT_LEFT, params: { webhookNumber, at } },
      ];
      const stretch = { webhookNumber, first, last, states: JSON.stringify(states) };
      const results = await db.commit([
        ...split(first, newIds[0]),
        ...split(last + 1, newIds[1]),
        { sql: COUNT_PENDING, params: stretch },
        { sql: REPLAY, params: { ...stretch, now } },
        { sql: WAKE, params: { webhookNumber, now } },
        auditStatement(audit),
      ]);
      const replayed = results[5]?.rows ?? [];
      return replayed.reduce((sum, row) => sum + Number(row.last_offset) - Number(row.first_offset) + 1, 0);
    },
  };
}

function read(row: Row): Delivery {
  const webhookNumber = Number(row.webhook_number);
  const offset = Number(row.record_offset);
  return {
    id: deliveryId({ createdAt: rowKeyTime(Number(row.event_key)), webhookNumber, offset }),
    webhookNumber,
    webhookId: String(row.webhook_id),
    eventId: String(row.event_id),
    eventType: String(row.type),
    offset,
    state: row.state as DeliveryState,
    attemptCount: Number(row.attempt_count),
    nextAttemptAt: row.next_attempt_at as number | null,
    createdAt: Number(row.created_at),
    settledAt: row.settled_at as number | null,
  };
}
