/** Deliveries: the records of webhooks' logs with the state of their batch. Reads only. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Delivery } from '../../../domain/webhook.ts';
import {
  type DeliveryAddress,
  deliveryId,
  firstRowKeyAt,
  isUuidV7,
  rowKeyOf,
  rowKeyTime,
} from '../../../kernel/ids.ts';
import type { Database, Row } from '../../port/database.ts';
import type {
  DeliveryFilter,
  DeliveryPage,
  DeliveryStore,
  RecordPlace,
  ResponseFilter,
} from '../../port/deliveries.ts';
import { DELIVERIES_EXAMINED_MAX } from '../../port/limits.ts';
import { customer, flag, readRow } from '../table.ts';
import type { Terms } from '../terms.ts';
import { isAttemptOf, isBatchOf } from './covering.ts';
import {
  addressOf,
  comparePlaces,
  type DeliveryPlace,
  type EventKind,
  FIRST_PLACE,
  type KeyRange,
  mergedPlaces,
  offsetsAround,
  offsetsWithin,
  type Places,
  placesInAllLogs,
  placesInLog,
  placesInState,
  placesOfEvent,
  placesOfEvents,
  placesOfOrderingKey,
  placesOfWebhooks,
} from './delivery-places.ts';
import { failures, lastAttempts } from './outcomes.ts';

/** Of `DELIVERIES_EXAMINED_MAX`, at a time. */
export const DELIVERIES_EXAMINED_AT_ONCE = 500;
/** Values of events that are looked up for a page: an event may have several. */
const VALUES_PER_PAGE = 500;

// A record that was erased before its batch was settled is discarded: attempts since the erasure did not carry it.
const UNSENT = 'e.erased_at < coalesce(b.settled_at, e.erased_at + 1)';
const SENT_SINCE = `
  SELECT count(*) FROM attempt AS a WHERE a.webhook_number = o.webhook_number AND a.started_at >= e.erased_at
    AND ${isAttemptOf('o.record_offset')}`;
const READ = `
  SELECT o.webhook_number, o.record_offset AS offset, o.event_key, w.id AS webhook_id, w.customer_id, w.name AS webhook_name,
         p.state AS webhook_state, w.mode AS webhook_mode,
         e.id AS event_id, e.type AS event_type, e.subject, e.ordering_key, e.created_at,
         e.erased_at, CASE WHEN ${UNSENT} THEN 'discarded' ELSE coalesce(b.state, 'pending') END AS state,
         greatest(0, coalesce(b.attempt_count, 0) - CASE WHEN ${UNSENT} THEN (${SENT_SINCE}) ELSE 0 END) AS attempt_count,
         CASE WHEN e.erased_at IS NULL THEN b.next_attempt_at END AS next_attempt_at,
         e.erased_at IS NULL AND b.lease_owner IS NOT NULL AS is_leased,
         CASE WHEN ${UNSENT} THEN e.erased_at ELSE b.settled_at END AS settled_at,
         greatest(e.created_at, coalesce(e.erased_at, 0), coalesce(b.settled_at, 0), coalesce(b.updated_at, 0)) AS updated_at
  FROM tuples(@places) AS place
  CROSS JOIN outbox AS o CROSS JOIN event AS e CROSS JOIN webhook AS w CROSS JOIN webhook_progress AS p
  LEFT JOIN batch AS b ON ${isBatchOf('o.webhook_number', 'o.record_offset')}
  WHERE o.webhook_number = CAST(place.value ->> 0 AS BIGINT) AND o.record_offset = CAST(place.value ->> 1 AS BIGINT)
    AND e.key = o.event_key AND w.number = o.webhook_number AND p.webhook_number = o.webhook_number`;
const CONTENT = `
  SELECT e.data AS data_json, e.erased_at, e.correlation_id, e.actor_id FROM outbox AS o CROSS JOIN event AS e
  WHERE e.key = o.event_key AND o.webhook_number = @webhookNumber AND o.record_offset = @offset`;
const EVENT_KEY = 'SELECT event_key FROM outbox WHERE webhook_number = @webhookNumber AND record_offset = @offset';

export function deliveryStore(db: Database, terms: Pick<Terms, 'places'>): DeliveryStore {
  return {
    get: async (address) => {
      const delivery = await readOne(db, address.webhookNumber, address.offset);
      return delivery?.id === deliveryId(address) ? delivery : null;
    },
    at: (webhookNumber, offset) => readOne(db, webhookNumber, offset),
    atPlaces: async (places) => {
      const found = await readAll(db, places);
      return places.map((place) => found.get(nameOf(place)) ?? null);
    },
    list: async (filter, before, limit) => list(db, await withTerms(db, terms, filter, before), before, limit),
    failures: (webhookNumbers, within, most) => failures(db, webhookNumbers, within, most),
    content: async (webhookNumber, offset) => {
      const row = await db.get(CONTENT, { webhookNumber, offset });
      return row === undefined ? null : readRow(row);
    },
    offsetsBetween: (webhookNumber, period) => offsetsWithin(db, webhookNumber, period),
  };
}

/**
 * A filter with the keys of the events that have its text as a value, newest first. `cut`: the last of the keys, if there may be older
 * ones, which the next page looks up.
 */
type Filter = DeliveryFilter & { readonly keys?: readonly number[]; readonly cut?: number | undefined };

/** Each page looks up the values of events that are not newer than its beginning. */
async function withTerms(
  db: Database,
  terms: Pick<Terms, 'places'>,
  filter: DeliveryFilter,
  before: DeliveryAddress | null,
): Promise<Filter> {
  const { text, audience = null } = filter;
  if (text === undefined) return filter;
  const { since: from, until } = keysOf(filter);
  const place = before === null ? FIRST_PLACE : await placeOf(db, before, filter.webhookNumbers ?? null);
  const stretch = { from, through: Math.min(place.key, until) };
  const found = await terms.places(text, audience, stretch, VALUES_PER_PAGE);
  const cut = found.length < VALUES_PER_PAGE ? undefined : found.at(-1)?.key;
  return { ...filter, keys: [...new Set(found.map(({ key }) => key))], cut };
}

async function list(
  db: Database,
  filter: Filter,
  before: DeliveryAddress | null,
  limit: number,
): Promise<DeliveryPage> {
  if (filter.response !== undefined && 'errorClasses' in filter.response && filter.response.errorClasses.length === 0) {
    return { items: [], next: null };
  }
  const source = await placesFor(db, filter, before);
  const items: Delivery[] = [];
  let examined = 0;
  for (let size = limit + 1; ; size = Math.min(2 * size, DELIVERIES_EXAMINED_AT_ONCE)) {
    const places = await source(size);
    const found = await readAll(db, places);
    const fitting = places.flatMap((place) => {
      const delivery = found.get(nameOf(place));
      return delivery === undefined || !fits(delivery, place, filter) ? [] : [delivery];
    });
    for (const delivery of await withResponse(db, fitting, filter.response)) {
      if (items.length === limit) return { items, next: items.at(-1)?.id ?? null };
      items.push(delivery);
    }
    const last = places.at(-1);
    if (last === undefined) return { items, next: filter.cut === undefined ? null : afterEvent(filter.cut) };
    examined += places.length;
    if (examined >= DELIVERIES_EXAMINED_MAX) return { items, next: deliveryId(addressOf(last)) };
    // Reading so many rows takes some milliseconds, so other work gets a turn.
    await nextTurn();
  }
}

/** The address after every delivery of the event with this key. */
function afterEvent(key: number): string {
  return deliveryId(addressOf({ key, webhookNumber: 0, offset: 0 }));
}

/** Those whose last attempt has such an outcome. */
async function withResponse(
  db: Database,
  deliveries: readonly Delivery[],
  response: ResponseFilter | undefined,
): Promise<readonly Delivery[]> {
  if (response === undefined) return deliveries;
  const last = await lastAttempts(db, deliveries);
  return deliveries.filter((_, at) => {
    const attempt = last[at] ?? null;
    if (attempt === null) return false;
    const { errorClass, responseStatus } = attempt;
    if ('errorClasses' in response) return errorClass !== null && response.errorClasses.includes(errorClass);
    // The status that came before another error, for example a response that is too large, is not the outcome.
    const isStatus = errorClass === null || errorClass === 'http_status';
    return isStatus && responseStatus !== null && responseStatus >= response.first && responseStatus <= response.last;
  });
}

type Search = {
  readonly db: Database;
  readonly filter: Filter;
  readonly before: DeliveryAddress | null;
  /** The only webhook of the search; null: there are several. */
  readonly inLog: number | null;
  /** The webhooks of the search; null: all. */
  readonly among: readonly number[] | null;
  /** The keys of the period of the search. */
  keys(): Promise<KeyRange>;
};

/** The source of places for the most selective condition of the filter. `fits` checks the others. */
async function placesFor(db: Database, filter: Filter, before: DeliveryAddress | null): Promise<Places> {
  const { webhookNumber: inLog = null, webhookNumbers: among = null, eventId } = filter;
  if (eventId !== undefined) {
    const key = isUuidV7(eventId) ? rowKeyOf(eventId) : 0;
    const range = await keyRange(db, { since: key, until: key + 1 }, before, among);
    return among === null ? placesInAllLogs(db, range) : placesOfEvent(db, among, range);
  }
  const keys = (): Promise<KeyRange> => keyRange(db, keysOf(filter), before, among);
  const search: Search = { db, filter, before, inLog, among, keys };
  return (
    (await placesByText(search)) ??
    (await placesByEvents(search)) ??
    (inLog === null ? placesInLogs(search) : placesInOneLog(search, inLog))
  );
}

/** The events of this kind and value in the index. It has those of all webhooks. */
async function placesIn({ db, inLog, keys }: Search, kind: EventKind, value: string | null): Promise<Places> {
  return placesOfEvents(db, { kind, value, inLog }, await keys());
}

/** By the text of a search: a subject, or a value by which events are found, of the events with `keys`. Null without a text. */
async function placesByText(search: Search): Promise<Places | null> {
  const { db, filter, before, inLog, among } = search;
  const { text, keys = [], cut = 0 } = filter;
  if (text === undefined) return null;
  const place = before === null ? FIRST_PLACE : await placeOf(db, before, among);
  const found = placesOfKeys(db, keys, inLog === null ? among : [inLog], place);
  if (among === null && inLog === null) {
    const { from, before: start } = await search.keys();
    const subjects = placesOfEvents(
      db,
      { kind: 'subject', value: text, inLog },
      { from: Math.max(from, cut), before: start },
    );
    return mergedPlaces(subjects, found, comparePlaces);
  }
  return keys.length > 0 ? found : null;
}

/** By an index of events. Null if the filter has no condition with one. */
async function placesByEvents(search: Search): Promise<Places | null> {
  const { db, filter, inLog, among, keys } = search;
  const { subject, orderingKey, audience = null, state, eventType } = filter;
  if (among === null && subject !== undefined) return placesIn(search, 'subject', subject);
  if (orderingKey !== undefined) {
    if (audience === null) return placesIn(search, 'key', orderingKey);
    const numbers = inLog === null ? (among ?? []) : [inLog];
    return placesOfOrderingKey(db, { customerId: audience, orderingKey, among: numbers }, await keys());
  }
  if (among !== null) return null;
  if (state === 'discarded') return placesIn(search, 'erased', null);
  return eventType === undefined || isIndexed(state) ? null : placesIn(search, 'type', eventType);
}

async function placesInLogs({ db, filter, among, keys }: Search): Promise<Places> {
  const { state } = filter;
  if (!isOfFailures(filter)) {
    if (among === null && !isIndexed(state)) return placesInAllLogs(db, await keys());
    return placesOfWebhooks(db, isIndexed(state) ? state : 'any', await keys(), among);
  }
  const claimed = placesOfWebhooks(db, 'claimed', await keys(), among);
  if (state === 'pending') return claimed;
  return mergedPlaces(placesOfWebhooks(db, 'dead', await keys(), among), claimed, comparePlaces);
}

async function placesInOneLog({ db, filter, before }: Search, webhookNumber: number): Promise<Places> {
  const { state, offsets: named } = filter;
  const offsets =
    named === undefined ? await offsetsAround(db, webhookNumber, filter) : { from: named.first, below: named.last + 1 };
  const page = before === null ? offsets : { ...offsets, below: Math.min(offsets.below, before.offset) };
  if (!isOfFailures(filter)) {
    return state === undefined || state === 'discarded'
      ? placesInLog(db, webhookNumber, page)
      : placesInState(db, state, webhookNumber, page);
  }
  const claimed = await placesInState(db, 'claimed', webhookNumber, page);
  if (state === 'pending') return claimed;
  const dead = await placesInState(db, 'dead', webhookNumber, page);
  return mergedPlaces(dead, claimed, (a, b) => b.offset - a.offset);
}

/** The states with an index of their own. */
function isIndexed(state: Filter['state']): state is 'dead' | 'pending' {
  return state === 'dead' || state === 'pending';
}

/** Whether only failed attempts have the outcome of the search: their records are dead, or pending in a batch. */
function isOfFailures({ response, state }: Filter): boolean {
  if (response === undefined || !(state === undefined || state === 'pending')) return false;
  return 'errorClasses' in response || response.first >= 300 || response.last < 200;
}

/** The records of events with these keys, newest first: in the logs of some webhooks, or in all with `among` null. */
function placesOfKeys(
  db: Database,
  keys: readonly number[],
  among: readonly number[] | null,
  after: DeliveryPlace,
): Places {
  const left = [...keys];
  let source: Places | null = null;
  return async (limit) => {
    const places: DeliveryPlace[] = [];
    while (places.length < limit) {
      if (source === null) {
        const key = left.shift();
        if (key === undefined) break;
        const range = rangeAfter({ since: key, until: key + 1 }, after);
        source = among === null ? placesInAllLogs(db, range) : placesOfEvent(db, among, range);
      }
      const found = await source(limit - places.length);
      if (found.length === 0) source = null;
      places.push(...found);
    }
    return places;
  };
}

type Keys = { readonly since: number; readonly until: number };

function keysOf({ since, until }: DeliveryFilter): Keys {
  return {
    since: since === undefined ? 0 : firstRowKeyAt(since),
    until: until === undefined ? FIRST_PLACE.key : firstRowKeyAt(until),
  };
}

async function keyRange(
  db: Database,
  { since, until }: Keys,
  before: DeliveryAddress | null,
  among: readonly number[] | null,
): Promise<KeyRange> {
  return rangeAfter({ since, until }, before === null ? FIRST_PLACE : await placeOf(db, before, among));
}

function rangeAfter({ since, until }: Keys, place: DeliveryPlace): KeyRange {
  const end: DeliveryPlace = until === FIRST_PLACE.key ? FIRST_PLACE : { key: until, webhookNumber: -1, offset: -1 };
  return { from: since, before: comparePlaces(place, end) > 0 ? place : end };
}

async function placeOf(
  db: Database,
  { createdAt, webhookNumber, offset }: DeliveryAddress,
  among: readonly number[] | null,
): Promise<DeliveryPlace> {
  if (webhookNumber === 0) return { key: firstRowKeyAt(createdAt) + offset, webhookNumber, offset };
  const isAmong = among === null || among.includes(webhookNumber);
  const record = isAmong ? await db.get(EVENT_KEY, { webhookNumber, offset }) : undefined;
  // If housekeeping has deleted the record, or it is of another customer, the page begins with all records of its millisecond: it may
  // repeat some but misses none.
  return { key: Number(record?.event_key ?? firstRowKeyAt(createdAt + 1)), webhookNumber, offset };
}

async function readOne(db: Database, webhookNumber: number, offset: number): Promise<Delivery | null> {
  const [delivery = null] = (await readAll(db, [{ webhookNumber, offset }])).values();
  return delivery;
}

async function readAll(db: Database, places: readonly RecordPlace[]): Promise<Map<string, Delivery>> {
  if (places.length === 0) return new Map();
  const wanted = places.map(({ webhookNumber, offset }) => [webhookNumber, offset]);
  const rows = await db.all(READ, { places: JSON.stringify(wanted) });
  return new Map(rows.map(read).map((delivery) => [nameOf(delivery), delivery]));
}

function nameOf({ webhookNumber, offset }: RecordPlace): string {
  return `${webhookNumber} ${offset}`;
}

function fits(delivery: Delivery, { key }: DeliveryPlace, filter: Filter): boolean {
  const {
    since,
    until,
    offsets,
    webhookNumbers,
    text,
    keys,
    cut: _cut,
    audience: _audience,
    response: _response,
    ...equal
  } = filter;
  if (text !== undefined && delivery.subject !== text && keys?.includes(key) !== true) return false;
  if (webhookNumbers !== undefined && !webhookNumbers.includes(delivery.webhookNumber)) return false;
  if (offsets !== undefined && (delivery.offset < offsets.first || delivery.offset > offsets.last)) return false;
  if (since !== undefined && key < firstRowKeyAt(since)) return false;
  if (until !== undefined && key >= firstRowKeyAt(until)) return false;
  return Object.entries(equal).every(([name, value]) => delivery[name as keyof typeof equal] === value);
}

function read(row: Row): Delivery {
  const { eventKey, ...delivery } = readRow<Omit<Delivery, 'id'> & { readonly eventKey: number }>(row, {
    customerId: customer,
    isLeased: flag,
  });
  const { webhookNumber, offset } = delivery;
  return { id: deliveryId({ createdAt: rowKeyTime(eventKey), webhookNumber, offset }), ...delivery };
}
