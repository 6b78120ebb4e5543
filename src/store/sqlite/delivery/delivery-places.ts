/**
 * Where deliveries of a kind lie (`outbox`, `batch`, `event`), newest first: each source reads on in one index, so that a page costs
 * the same whatever the size of the log. What a place holds is read by `deliveries.ts`.
 */
import { type DeliveryAddress, firstRowKeyAt, rowKeyTime } from '../../../kernel/ids.ts';
import type { Database, Parameters } from '../driver/database.ts';
import { BEYOND, type Offsets } from './log-search.ts';

/** A record by its event's key and its place in a log. Webhook 0: an event that is in no log, or not in the one asked for. */
export type Place = { readonly key: number; readonly webhookNumber: number; readonly offset: number };

/** The next places, at most so many; none when there are no more. */
export type Places = (limit: number) => Promise<Place[]>;

/** Places before `before`, in the order of keys, down to the key `from`. */
export type KeyRange = { readonly from: number; readonly before: Place };

/** Before every other place. */
export const FIRST_PLACE: Place = { key: BEYOND, webhookNumber: 0, offset: 0 };

/** What stands for a place in a cursor: of an event that is in no log the counter of its key is the offset. */
export function addressOf({ key, webhookNumber, offset }: Place): DeliveryAddress {
  const createdAt = rowKeyTime(key);
  return { createdAt, webhookNumber, offset: webhookNumber === 0 ? key - firstRowKeyAt(createdAt) : offset };
}

/** Negative where the first one comes first: newest event first. */
export function comparePlaces(a: Place, b: Place): number {
  return b.key - a.key || b.webhookNumber - a.webhookNumber || b.offset - a.offset;
}

// Served by outbox_event, which holds all of it.
const IN_ALL_LOGS = `
  SELECT event_key, webhook_number, record_offset FROM outbox INDEXED BY outbox_event
  WHERE event_key >= @from AND (event_key, webhook_number, record_offset) < (@key, @webhookNumber, @offset)
  ORDER BY event_key DESC, webhook_number DESC, record_offset DESC LIMIT @limit`;
const IN_LOG = `
  SELECT event_key, webhook_number, record_offset FROM outbox
  WHERE webhook_number = @webhookNumber AND record_offset >= @from AND record_offset < @below
  ORDER BY record_offset DESC LIMIT @limit`;

/** The index that events of a kind are found by; each ends in the key. */
export type EventKind = 'type' | 'subject' | 'erased';
const EVENTS: Readonly<Record<EventKind, { readonly index: string; readonly condition: string }>> = {
  type: { index: 'event_of_type', condition: 'e.type = @value' },
  subject: { index: 'event_subject', condition: 'e.subject = @value' },
  erased: { index: 'event_erased_key', condition: 'e.erased_at IS NOT NULL' },
};

// An event that is in no log is a place too, so that however many of them there are, each costs one of the limit.
function ofEventsSql(kind: EventKind, inLog: boolean): string {
  const { index, condition } = EVENTS[kind];
  return `
    SELECT e.key AS event_key, o.webhook_number, o.record_offset FROM event AS e INDEXED BY ${index}
    LEFT JOIN outbox AS o INDEXED BY outbox_event
      ON o.event_key = e.key ${inLog ? 'AND o.webhook_number = @inLog' : ''}
    WHERE ${condition} AND e.key >= @from AND e.key <= @key
      AND CASE WHEN o.event_key IS NULL THEN e.key < @key
               ELSE (o.event_key, o.webhook_number, o.record_offset) < (@key, @webhookNumber, @offset) END
    ORDER BY e.key DESC, o.webhook_number DESC, o.record_offset DESC LIMIT @limit`;
}

export type BatchState = 'dead' | 'pending';

// A batch has at most 1000 records, so one that reaches to `from` begins at most 999 before it.
function inBatchesSql(state: BatchState): string {
  return `
    SELECT o.event_key, o.webhook_number, o.record_offset FROM batch AS b INDEXED BY batch_${state}
    CROSS JOIN outbox AS o ON o.webhook_number = b.webhook_number
      AND o.record_offset BETWEEN max(b.first_offset, @from) AND min(b.last_offset, @below - 1)
    WHERE b.webhook_number = @webhookNumber AND b.state = '${state}'
      AND b.first_offset >= @from - 999 AND b.first_offset < @below
    ORDER BY b.first_offset DESC, o.record_offset DESC LIMIT @limit`;
}

/** Of all webhooks, in the order of events. */
export function placesInAllLogs(db: Database, { from, before }: KeyRange): Places {
  return readOn(db, IN_ALL_LOGS, before, (last) => ({ ...last, from }));
}

/** Of one webhook, in the order of its log. */
export function placesInLog(db: Database, webhookNumber: number, { from, below }: Offsets): Places {
  return readOn(db, IN_LOG, { ...FIRST_PLACE, offset: below }, (last) => ({ webhookNumber, from, below: last.offset }));
}

/** Of one webhook, in batches of a state, in the order of its log. */
export function placesInBatches(
  db: Database,
  state: BatchState,
  webhookNumber: number,
  { from, below }: Offsets,
): Places {
  return readOn(db, inBatchesSql(state), { ...FIRST_PLACE, offset: below }, (last) => ({
    webhookNumber,
    from,
    below: last.offset,
  }));
}

/** Of the events of a type, about a subject, or erased (`value` says nothing then), in the order of events; of one webhook or of all. */
export function placesOfEvents(
  db: Database,
  events: { readonly kind: EventKind; readonly value: string | null; readonly inLog: number | null },
  { from, before }: KeyRange,
): Places {
  const { kind, value, inLog } = events;
  const params = { ...(value === null ? {} : { value }), ...(inLog === null ? {} : { inLog }), from };
  return readOn(db, ofEventsSql(kind, inLog !== null), before, (last) => ({ ...last, ...params }));
}

/** One source after the other. */
export function placesInTurn(...sources: readonly Places[]): Places {
  const left = [...sources];
  return async (limit) => {
    while (left[0] !== undefined) {
      const places = await left[0](limit);
      if (places.length > 0) return places;
      left.shift();
    }
    return [];
  };
}

function readOn(db: Database, sql: string, before: Place, paramsAfter: (last: Place) => Parameters): Places {
  let last = before;
  let done = false;
  return async (limit) => {
    if (done) return [];
    const rows = await db.all(sql, { ...paramsAfter(last), limit });
    done = rows.length < limit;
    const places = rows.map((row) => ({
      key: Number(row.event_key),
      webhookNumber: Number(row.webhook_number ?? 0),
      offset: Number(row.record_offset ?? 0),
    }));
    last = places.at(-1) ?? last;
    return places;
  };
}
