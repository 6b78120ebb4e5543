/**
 * The positions of deliveries in the logs (`outbox`, `batch`, `event`), newest first. Each source reads one index, so a page costs the same
 * whatever the size of the log.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { OffsetRange } from '../../../domain/batch.ts';
import { EVERYONE } from '../../../domain/event.ts';
import { BATCH_RECORDS_MAX } from '../../../domain/limits.ts';
import { type DeliveryAddress, firstRowKeyAt, rowKeyTime } from '../../../kernel/ids.ts';
import type { Database, Row, SqlParameters } from '../../port/database.ts';
import { LOG_DISORDER_RECORDS } from './limits.ts';

/** Records that a list of all webhooks reads of one webhook at a time, and webhooks per turn of the event loop. */
const READ_PER_WEBHOOK = 64;
const WEBHOOKS_AT_ONCE = 50;

/** Positions that such a list reads at a time at most. */
const PLACES_AHEAD = 5000;

/** Pairs of an event and a webhook that a customer's search by ordering key looks up at a time. */
const PAIRS_AT_ONCE = 5000;

/** A record by its event's key and its offset in a webhook's log. Webhook 0: the event is in no log, or not in the requested one. */
export type DeliveryPlace = { readonly key: number; readonly webhookNumber: number; readonly offset: number };

/** Returns up to `limit` further places; none at the end. */
export type Places = (limit: number) => Promise<DeliveryPlace[]>;

/** Places after `before` in the order of the list, with keys of at least `from`. */
export type KeyRange = { readonly from: number; readonly before: DeliveryPlace };

/** Offsets of a log: `from` inclusive, `below` exclusive. */
type Offsets = { readonly from: number; readonly below: number };

/** Larger than any offset and any key. */
const BEYOND: number = Number.MAX_SAFE_INTEGER;

/** Before every other place. */
export const FIRST_PLACE: DeliveryPlace = { key: BEYOND, webhookNumber: 0, offset: 0 };

/** A place as a cursor. For an event that is in no log the offset is the counter of its key. */
export function addressOf({ key, webhookNumber, offset }: DeliveryPlace): DeliveryAddress {
  const createdAt = rowKeyTime(key);
  return { createdAt, webhookNumber, offset: webhookNumber === 0 ? key - firstRowKeyAt(createdAt) : offset };
}

/** Newest event first: negative if `a` comes before `b`. */
export function comparePlaces(a: DeliveryPlace, b: DeliveryPlace): number {
  return b.key - a.key || b.webhookNumber - a.webhookNumber || b.offset - a.offset;
}

// Index: outbox_event, which covers it.
const IN_ALL_LOGS = `
  SELECT event_key, webhook_number, record_offset FROM outbox INDEXED BY outbox_event
  WHERE event_key >= @from AND (event_key, webhook_number, record_offset) < (@key, @webhookNumber, @offset)
  ORDER BY event_key DESC, webhook_number DESC, record_offset DESC LIMIT @limit`;
// Index: outbox_event, with a seek for each webhook.
const OF_EVENT = `
  SELECT o.event_key, o.webhook_number, o.record_offset FROM outbox AS o INDEXED BY outbox_event
  WHERE o.event_key = @from AND (o.event_key, o.webhook_number, o.record_offset) < (@key, @webhookNumber, @offset)
    AND o.webhook_number IN (SELECT n.value FROM numbers(@among) AS n)
  ORDER BY o.event_key DESC, o.webhook_number DESC, o.record_offset DESC LIMIT @limit`;
// Indexes: event_of_audience_key, and outbox_event with a seek for each event and webhook. Neither reads what others have.
const OF_AUDIENCE_KEY = `
  SELECT key FROM event INDEXED BY event_of_audience_key
  WHERE audience = @audience AND audience <> '' AND ordering_key = @orderingKey AND key >= @from AND key <= @through
  ORDER BY key DESC LIMIT @limit`;
const OF_EVENTS = `
  SELECT o.event_key, o.webhook_number, o.record_offset
  FROM numbers(@keys) AS k CROSS JOIN numbers(@among) AS n CROSS JOIN outbox AS o INDEXED BY outbox_event
  WHERE o.event_key = k.value AND o.webhook_number = n.value`;
const IN_LOG = `
  SELECT event_key, webhook_number, record_offset FROM outbox
  WHERE webhook_number = @webhookNumber AND record_offset >= @from AND record_offset < @below
  ORDER BY record_offset DESC LIMIT @limit`;

/** The index that finds the events. Each of these indexes ends in the key. */
export type EventKind = 'type' | 'subject' | 'key' | 'erased';
const EVENTS: Readonly<Record<EventKind, { readonly index: string; readonly condition: string }>> = {
  type: { index: 'event_of_type', condition: 'e.type = @value' },
  subject: { index: 'event_subject', condition: 'e.subject = @value' },
  key: { index: 'event_of_key', condition: 'e.ordering_key = @value' },
  erased: { index: 'event_erased_key', condition: 'e.erased_at IS NOT NULL' },
};

// An event that is in no log is a row too: each counts against the limit, so that many of them cannot make one read long.
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

/** Records whose batches have an index of their own. `claimed`: pending records that are in a batch, so that one may have been tried. */
type BatchState = 'dead' | 'pending' | 'claimed';

// A batch that reaches `from` begins less than BATCH_RECORDS_MAX before it.
function inBatchesSql(batches: BatchState): string {
  const state = batches === 'dead' ? 'dead' : 'pending';
  return `
    SELECT o.event_key, o.webhook_number, o.record_offset FROM batch AS b INDEXED BY batch_${state}
    CROSS JOIN outbox AS o
    WHERE o.webhook_number = b.webhook_number
      AND o.record_offset BETWEEN greatest(b.first_offset, @from) AND least(b.last_offset, @below - 1)
      AND b.webhook_number = @webhookNumber AND b.state = '${state}'
      AND b.first_offset > @from - ${BATCH_RECORDS_MAX} AND b.first_offset < @below
    ORDER BY b.first_offset DESC, o.record_offset DESC LIMIT @limit`;
}

// Every record below `covered_offset` is in a batch, and none from `batches_end` on.
const COVERED = `
  SELECT covered_offset, coalesce((
    SELECT last_offset + 1 FROM batch
    WHERE batch.webhook_number = webhook_position.webhook_number AND first_offset >= covered_offset
    ORDER BY first_offset DESC LIMIT 1), covered_offset) AS batches_end
  FROM webhook_position WHERE webhook_number = @webhookNumber`;
// Steps from one webhook to the next in batch_dead and skips the other batches of each.
const WITH_DEAD = `
  WITH RECURSIVE found (number) AS (
    SELECT min(webhook_number) FROM batch INDEXED BY batch_dead WHERE state = 'dead'
    UNION ALL
    SELECT (SELECT min(webhook_number) FROM batch INDEXED BY batch_dead WHERE state = 'dead' AND webhook_number > number)
    FROM found WHERE number IS NOT NULL)
  SELECT number FROM found WHERE number IS NOT NULL`;
// There are thousands of webhooks at most, so this needs no index.
const WITH_PENDING = `
  SELECT webhook_number AS number FROM webhook_status WHERE next_offset > cursor_offset OR pending_records > 0`;

const WITH_CLAIMED = 'SELECT webhook_number AS number FROM webhook_position WHERE pending_records > 0';
const WITH: Readonly<Record<BatchState, string>> = { dead: WITH_DEAD, pending: WITH_PENDING, claimed: WITH_CLAIMED };

/** The records of all webhooks, newest event first. */
export function placesInAllLogs(db: Database, { from, before }: KeyRange): Places {
  return readOn(db, IN_ALL_LOGS, before, (last) => ({ ...last, from }));
}

/** The records of one event, whose key the range begins with, in the logs of some webhooks. */
export function placesOfEvent(db: Database, among: readonly number[], { from, before }: KeyRange): Places {
  const numbers = JSON.stringify(among);
  return readOn(db, OF_EVENT, before, (last) => ({ ...last, from, among: numbers }));
}

/** The records of a customer's events with an ordering key in the logs of some of its webhooks, newest first. */
export function placesOfOrderingKey(
  db: Database,
  asked: { readonly customerId: string; readonly orderingKey: string; readonly among: readonly number[] },
  { from, before }: KeyRange,
): Places {
  const { customerId, orderingKey, among } = asked;
  const numbers = JSON.stringify(among);
  let through = before.key;
  let ahead: DeliveryPlace[] = [];
  const read = async (limit: number): Promise<DeliveryPlace[]> => {
    const found = await Promise.all(
      [customerId, EVERYONE].map((audience) =>
        db.all(OF_AUDIENCE_KEY, { audience, orderingKey, from, through, limit }),
      ),
    );
    const keys = found
      .flat()
      .map(({ key }) => Number(key))
      .sort((a, b) => b - a)
      .slice(0, limit);
    through = keys.length < limit ? -1 : (keys.at(-1) ?? 0) - 1;
    const rows = keys.length === 0 ? [] : await db.all(OF_EVENTS, { keys: JSON.stringify(keys), among: numbers });
    const places = rows.map(placeOfRow);
    const isIn = new Set(places.map(({ key }) => key));
    // An event that is in none of the logs counts as examined, too.
    const others = keys.filter((key) => !isIn.has(key)).map((key) => ({ key, webhookNumber: 0, offset: 0 }));
    return [...places, ...others].filter((place) => comparePlaces(before, place) < 0).sort(comparePlaces);
  };
  return async (limit) => {
    const size = Math.max(1, Math.min(limit, Math.floor(PAIRS_AT_ONCE / Math.max(among.length, 1))));
    // The first event may have only places before the page.
    while (ahead.length === 0 && through >= from) ahead = await read(size);
    return ahead.splice(0, limit);
  };
}

/** One webhook's records, newest offset first. */
export function placesInLog(db: Database, webhookNumber: number, { from, below }: Offsets): Places {
  return readOn(db, IN_LOG, { ...FIRST_PLACE, offset: below }, (last) => ({ webhookNumber, from, below: last.offset }));
}

/**
 * The events of a type, about a subject or of an ordering key, or the erased events (`value` is null), newest first: the records of one
 * webhook (`inLog`) or of all.
 */
export function placesOfEvents(
  db: Database,
  events: { readonly kind: EventKind; readonly value: string | null; readonly inLog: number | null },
  { from, before }: KeyRange,
): Places {
  const { kind, value, inLog } = events;
  const params = { ...(value === null ? {} : { value }), ...(inLog === null ? {} : { inLog }), from };
  return readOn(db, ofEventsSql(kind, inLog !== null), before, (last) => ({ ...last, ...params }));
}

/**
 * One webhook's records in a state, newest offset first. A record in no batch is pending. Among pending and delivered records are some
 * others, which the caller skips.
 */
export async function placesInState(
  db: Database,
  state: BatchState | 'delivered',
  webhookNumber: number,
  offsets: Offsets,
): Promise<Places> {
  const inBatches = (batchState: BatchState, { from, below }: Offsets): Places =>
    readOn(db, inBatchesSql(batchState), { ...FIRST_PLACE, offset: below }, (last) => ({
      webhookNumber,
      from,
      below: last.offset,
    }));
  if (state === 'dead' || state === 'claimed') return inBatches(state, offsets);
  const found = await db.get(COVERED, { webhookNumber });
  const [covered, batchesEnd] = [Number(found?.covered_offset ?? 0), Number(found?.batches_end ?? 0)];
  if (state === 'delivered')
    return placesInLog(db, webhookNumber, { ...offsets, below: Math.min(offsets.below, batchesEnd) });
  const waiting = placesInLog(db, webhookNumber, { ...offsets, from: Math.max(offsets.from, covered) });
  const claimed = inBatches(state, { ...offsets, below: Math.min(offsets.below, covered) });
  return async (limit) => {
    const places = await waiting(limit);
    // Both in one read: at the cursor, a claimed record may be newer than a waiting one.
    return places.length === limit ? places : [...places, ...(await claimed(limit - places.length))];
  };
}

/**
 * The records in a state, newest event first: of some webhooks, or of all with `among` null. `any` has all records of some webhooks. Of
 * each webhook it reads only the newest records, until they are older than the last one of the page. Measured with 500,000 batches of one
 * record: a page of 50 takes 15 ms of CPU time with 200 webhooks and 70 ms with 1000.
 */
export function placesOfWebhooks(
  db: Database,
  state: BatchState | 'any',
  { from, before }: KeyRange,
  among: readonly number[] | null,
): Places {
  let last = before;
  const sourceOf = async (webhookNumber: number, offsets: Offsets): Promise<Places> =>
    state === 'any' ? placesInLog(db, webhookNumber, offsets) : placesInState(db, state, webhookNumber, offsets);
  const read = async (limit: number): Promise<DeliveryPlace[]> => {
    let page: DeliveryPlace[] = [];
    const numbers = among ?? (await db.all(WITH[state as BatchState], {})).map(({ number }) => Number(number));
    for (const [at, webhookNumber] of numbers.entries()) {
      if (at % WEBHOOKS_AT_ONCE === WEBHOOKS_AT_ONCE - 1) await nextTurn();
      const below =
        last.key === BEYOND ? BEYOND : (await splitAt(db, webhookNumber, last.key + 1)) + LOG_DISORDER_RECORDS;
      const source = await sourceOf(webhookNumber, { from: 0, below });
      for (let newest = BEYOND; newest >= (page[limit - 1]?.key ?? from); ) {
        const places = await source(READ_PER_WEBHOOK);
        newest = Math.max(-1, ...places.map(({ key }) => key));
        const end = page[limit - 1]?.key ?? from;
        const further = places.filter((place) => place.key >= end && comparePlaces(last, place) < 0);
        if (further.length > 0) page = [...page, ...further].sort(comparePlaces).slice(0, limit);
      }
    }
    last = page.at(-1) ?? last;
    return page;
  };
  // Every read visits all webhooks, so each is four times as large as the one before.
  let ahead: DeliveryPlace[] = [];
  let size = 0;
  return async (limit) => {
    if (ahead.length === 0) {
      size = Math.max(limit, Math.min(4 * size, PLACES_AHEAD));
      ahead = await read(size);
    }
    return ahead.splice(0, limit);
  };
}

/** Two sources in one order: `compare` is negative if the first place comes before the second. A place of both is there once. */
export function mergedPlaces(
  one: Places,
  other: Places,
  compare: (a: DeliveryPlace, b: DeliveryPlace) => number,
): Places {
  const sources = [one, other].map((read) => ({ read, ahead: [] as DeliveryPlace[], done: false }));
  return async (limit) => {
    for (const source of sources) {
      if (source.done || source.ahead.length >= limit) continue;
      const more = await source.read(limit);
      source.done = more.length === 0;
      source.ahead.push(...more);
    }
    // Each source has `limit` places ahead or has ended, so the first `limit` of both are known.
    const [a = [], b = []] = sources.map(({ ahead }) => ahead);
    const sorted = [...a, ...b].sort(compare);
    const isAgain = (place: DeliveryPlace, at: number): boolean =>
      at > 0 && compare(sorted[at - 1] as DeliveryPlace, place) === 0;
    const page = sorted.filter((place, at) => !isAgain(place, at)).slice(0, limit);
    const last = page.at(-1);
    // With the second one of a place that is in both.
    const taken = new Set(last === undefined ? [] : sorted.filter((place) => compare(place, last) <= 0));
    for (const source of sources) source.ahead = source.ahead.filter((place) => !taken.has(place));
    return page;
  };
}

function readOn(
  db: Database,
  sql: string,
  before: DeliveryPlace,
  paramsAfter: (last: DeliveryPlace) => SqlParameters,
): Places {
  let last = before;
  let done = false;
  return async (limit) => {
    if (done) return [];
    const rows = await db.all(sql, { ...paramsAfter(last), limit });
    done = rows.length < limit;
    const places = rows.map(placeOfRow);
    last = places.at(-1) ?? last;
    return places;
  };
}

function placeOfRow(row: Row): DeliveryPlace {
  return {
    key: Number(row.event_key),
    webhookNumber: Number(row.webhook_number ?? 0),
    offset: Number(row.record_offset ?? 0),
  };
}

/** Event times in epoch milliseconds: `since` inclusive, `until` exclusive. */
type EventTimes = { readonly since?: number | undefined; readonly until?: number | undefined };

// A binary search. Where housekeeping has deleted records, the next existing record is used as the middle.
const SPLIT = `
  WITH RECURSIVE halves (low, high) AS (
    SELECT (SELECT min(record_offset) FROM outbox WHERE webhook_number = @webhookNumber),
           (SELECT max(record_offset) FROM outbox WHERE webhook_number = @webhookNumber) + 1
    UNION ALL
    SELECT CASE WHEN o.event_key < @key THEN (low + high) / 2 + 1 ELSE low END,
           CASE WHEN o.event_key < @key THEN high ELSE (low + high) / 2 END
    FROM halves CROSS JOIN outbox AS o
    WHERE low < high AND o.webhook_number = @webhookNumber AND o.record_offset =
      (SELECT min(record_offset) FROM outbox WHERE webhook_number = @webhookNumber AND record_offset >= (low + high) / 2))
  SELECT low FROM halves WHERE low >= high`;
const FIRST = `
  SELECT record_offset FROM outbox
  WHERE webhook_number = @webhookNumber AND record_offset >= @from AND event_key >= @since ORDER BY record_offset LIMIT 1`;
const LAST = `
  SELECT record_offset FROM outbox
  WHERE webhook_number = @webhookNumber AND record_offset < @below AND event_key < @until ORDER BY record_offset DESC LIMIT 1`;

/**
 * The offset at which events with this key and later ones begin; 0 in an empty log. A log is almost in the order of its events' keys, but
 * two processes that publish at the same moment may write in another order than they drew their keys. A caller that needs every record
 * therefore looks LOG_DISORDER_RECORDS beyond the offset.
 */
async function splitAt(db: Database, webhookNumber: number, key: number): Promise<number> {
  return Number((await db.get(SPLIT, { webhookNumber, key }))?.low ?? 0);
}

/** Offsets that include every record of the stretch, and at both ends possibly some others. */
export async function offsetsAround(
  db: Database,
  webhookNumber: number,
  { since, until }: EventTimes,
): Promise<Offsets> {
  return {
    from: since === undefined ? 0 : (await splitAt(db, webhookNumber, firstRowKeyAt(since))) - LOG_DISORDER_RECORDS,
    below:
      until === undefined ? BEYOND : (await splitAt(db, webhookNumber, firstRowKeyAt(until))) + LOG_DISORDER_RECORDS,
  };
}

/** The first and the last record of the stretch, or null if it has none. `until` null: to the current end of the log. */
export async function offsetsWithin(
  db: Database,
  webhookNumber: number,
  stretch: { readonly since: number; readonly until: number | null },
): Promise<OffsetRange | null> {
  const around = await offsetsAround(db, webhookNumber, { since: stretch.since, until: stretch.until ?? undefined });
  const since = firstRowKeyAt(stretch.since);
  const until = stretch.until === null ? BEYOND : firstRowKeyAt(stretch.until);
  const first = await db.get(FIRST, { webhookNumber, from: around.from, since });
  const last = await db.get(LAST, { webhookNumber, below: around.below, until });
  if (first === undefined || last === undefined || Number(first.record_offset) > Number(last.record_offset))
    return null;
  return { first: Number(first.record_offset), last: Number(last.record_offset) };
}
