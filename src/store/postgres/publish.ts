/**
 * Publishing on PostgreSQL (`event`, `outbox`, `idempotency`): one statement for all requests that come together. Measured with
 * events of 1 KiB for three webhooks and 256 clients: 6 µs an event in the service and 24 µs in PostgreSQL, 34,000 events a second.
 */
import { type Accepted, EVENTS_PER_REQUEST, type Idempotency, type NewEvent } from '../../domain/event.ts';
import { rowKeyOf } from '../../kernel/ids.ts';
import type { Row } from '../port/database.ts';
import { ConstraintViolation, DatabaseUnavailable, KeyConflict } from '../port/errors.ts';
import type { EventStore } from '../port/events.ts';
import { BYTES_WAITING_MAX, LISTS_WAITING_MAX } from '../port/limits.ts';
import { latestEvents, publishedEvent } from '../shared/events.ts';
import { type Addressed, type Filtered, filteredWebhooks, judge } from '../shared/judging.ts';
import { columnsOf, numberArray } from './arrays.ts';
import { batched, READS } from './batched.ts';
import type { PostgresDatabase } from './driver/postgres.ts';
import type { PostgresStatement } from './driver/transaction.ts';

/** Requests that are published together. */
const REQUESTS_MAX = 1000;
/** Events and bytes of one statement. A request may have as many events, and is never divided. */
const EVENTS_MAX = EVENTS_PER_REQUEST;
const BYTES_MAX = 8 * 1024 * 1024;

/** The parameters of `publish_events` (schema.sql): an array for each column of the events, in their order. */
const EVENTS = columnsOf<NewEvent>({
  key: ['BIGINT', ({ id }) => rowKeyOf(id)],
  id: ['TEXT', ({ id }) => id],
  type: ['TEXT', ({ type }) => type],
  subject: ['TEXT', ({ subject }) => subject],
  audience: ['TEXT', ({ audience }) => audience],
  correlationId: ['TEXT', ({ correlationId }) => correlationId],
  actorId: ['TEXT', ({ actorId }) => actorId],
  orderingKey: ['TEXT', ({ orderingKey }) => orderingKey],
  createdAt: ['BIGINT', ({ createdAt }) => createdAt],
  data: ['JSON', ({ dataJson }) => dataJson],
  bytes: ['BIGINT', ({ dataJson }) => Buffer.byteLength(dataJson)],
});
type Keyed = { readonly request: number; readonly idempotency: Idempotency | null };
const KEYS = columnsOf<Keyed>({
  request: ['BIGINT', ({ request }) => request],
  publisher: ['TEXT', ({ idempotency }) => idempotency?.publisher ?? null],
  idempotencyKey: ['TEXT', ({ idempotency }) => idempotency?.key ?? null],
  expiresAt: ['BIGINT', ({ idempotency }) => idempotency?.expiresAt ?? null],
  contentHash: ['BYTEA', ({ idempotency }) => idempotency?.contentHash ?? null],
});
type Exclusion = { readonly place: number; readonly webhookNumber: number };
const EXCLUSIONS = columnsOf<Exclusion>({
  place: ['BIGINT', ({ place }) => place],
  excludedWebhook: ['BIGINT', ({ webhookNumber }) => webhookNumber],
});

const publishing = (keys: string, exclusions: string): string => `
  SELECT held_place, holder, is_same, appended AS webhook_number FROM publish_events(${EVENTS.list}, ${keys}, @now, ${exclusions})`;
const [NO_KEYS, NO_EXCLUSIONS] = ['NULL, NULL, NULL, NULL, NULL', 'NULL, NULL'];
const PUBLISH = { all: publishing(NO_KEYS, NO_EXCLUSIONS), passed: publishing(NO_KEYS, EXCLUSIONS.list) } as const;
const PUBLISH_KEYED = {
  all: publishing(KEYS.list, NO_EXCLUSIONS),
  passed: publishing(KEYS.list, EXCLUSIONS.list),
} as const;

const publishingOne = (again: boolean): string => `
  SELECT 1 AS held_place, p.holder, p.is_same, unnest(p.appended) AS webhook_number
  FROM publish_event(@key, @id, @type, @data, @subject, @audience, @correlationId, @actorId, @orderingKey, @createdAt, @publisher,
    @idempotencyKey, @expiresAt, @contentHash, CAST(@excluded AS BIGINT[]), ${again}) AS p`;
const [PUBLISH_ONE, PUBLISH_ONE_AGAIN] = [publishingOne(false), publishingOne(true)];

type Outcome = readonly Accepted[] | Error;

export function eventStore(db: PostgresDatabase): EventStore {
  const publish = batched<readonly NewEvent[], Outcome>(
    async (requests) => {
      const outcomes: Outcome[] = [];
      for (const set of setsOf(requests)) outcomes.push(...(await publishSet(db, set)));
      return outcomes;
    },
    // One at a time: a second statement would only wait for the locks of the first.
    { inProgressMax: 1, callsMax: REQUESTS_MAX },
  );
  const filters = batched<readonly Addressed[], readonly Filtered[]>(async (lists) => {
    const found = await filteredWebhooks(db, lists.flat());
    return lists.map(() => found);
  }, READS);
  let waiting = 0;
  let waitingBytes = 0;
  return {
    find: publishedEvent(db),
    latest: latestEvents(db),
    judge: (events) => judge(db, events, filters),
    publish: async (events) => {
      const bytes = bytesOf(events);
      if (waiting >= LISTS_WAITING_MAX || (waiting > 0 && waitingBytes + bytes > BYTES_WAITING_MAX)) {
        throw new DatabaseUnavailable('overloaded');
      }
      waiting += 1;
      waitingBytes += bytes;
      try {
        const outcome = await publish(events);
        if (outcome instanceof Error) throw outcome;
        return [...outcome];
      } finally {
        waiting -= 1;
        waitingBytes -= bytes;
      }
    },
  };
}

/** Divides requests into sets of a bounded size in which no idempotency key comes twice. Statements see no rows of their own. */
function setsOf(requests: readonly (readonly NewEvent[])[]): (readonly NewEvent[])[][] {
  const sets: (readonly NewEvent[])[][] = [];
  let set: (readonly NewEvent[])[] = [];
  let keys = new Set<string>();
  let events = 0;
  let bytes = 0;
  for (const request of requests) {
    const itsKeys = request.flatMap(({ idempotency }) => (idempotency === null ? [] : [nameOf(idempotency)]));
    const itsBytes = bytesOf(request);
    const isFull = events + request.length > EVENTS_MAX || bytes + itsBytes > BYTES_MAX;
    if (set.length === 0 || isFull || itsKeys.some((key) => keys.has(key))) {
      set = [];
      sets.push(set);
      keys = new Set();
      events = 0;
      bytes = 0;
    }
    set.push(request);
    for (const key of itsKeys) keys.add(key);
    events += request.length;
    bytes += itsBytes;
  }
  return sets;
}

/** About how many bytes the events take: each character of the data counts as one byte. */
function bytesOf(events: readonly NewEvent[]): number {
  return events.reduce((sum, { dataJson }) => sum + dataJson.length, 0);
}

function nameOf({ publisher, key }: Idempotency): string {
  return `${publisher} ${key}`;
}

/** Publishes the requests of a set, each all or none. */
async function publishSet(db: PostgresDatabase, requests: readonly (readonly NewEvent[])[]): Promise<Outcome[]> {
  const written = requests.map(firstOfEachKey);
  const events = written.flatMap((request) => (request instanceof Error ? [] : request));
  const [first] = events;
  if (first === undefined) return written.map((request) => (request instanceof Error ? request : []));
  const numbers = written.flatMap((request, n) => (request instanceof Error ? [] : request.map(() => n)));
  try {
    const [result] = await db.commit([events.length === 1 ? oneStatement(first) : setStatement(events, numbers)]);
    const held = new Map(
      result?.rows.flatMap((row) => (row.holder === null ? [] : [[events[Number(row.held_place) - 1], row] as const])),
    );
    return requests.map((request, n) => {
      const own = written[n] ?? [];
      return own instanceof Error ? own : outcomeOf(request, own, held);
    });
  } catch (error) {
    if (!(error instanceof ConstraintViolation) || requests.length === 1) return requests.map(() => error as Error);
    // Another process took the row key of one of them.
    const outcomes: Outcome[] = [];
    for (const request of requests) outcomes.push(...(await publishSet(db, [request])));
    return outcomes;
  }
}

/** An event that repeats the key of an earlier one of its request is not written. With other content it refuses the request. */
function firstOfEachKey(request: readonly NewEvent[]): readonly NewEvent[] | KeyConflict {
  const first = new Map<string, Idempotency>();
  const conflicts: number[] = [];
  const events = request.filter(({ idempotency }, at) => {
    if (idempotency === null) return true;
    const earlier = first.get(nameOf(idempotency));
    if (earlier === undefined) first.set(nameOf(idempotency), idempotency);
    else if (Buffer.compare(earlier.contentHash, idempotency.contentHash) !== 0) conflicts.push(at);
    return earlier === undefined;
  });
  return conflicts.length === 0 ? events : new KeyConflict(conflicts);
}

/** `written`: the events of the request that were passed to the statement; `held`: the events whose keys others hold. */
function outcomeOf(
  request: readonly NewEvent[],
  written: readonly NewEvent[],
  held: ReadonlyMap<NewEvent | undefined, Row>,
): Outcome {
  const byKey = new Map(
    written.flatMap((event) => (event.idempotency === null ? [] : [[nameOf(event.idempotency), event] as const])),
  );
  const conflicts: number[] = [];
  const accepted = request.map((event, at) => {
    const first = event.idempotency === null ? event : byKey.get(nameOf(event.idempotency));
    const holder = held.get(first);
    if (holder?.is_same === 0) conflicts.push(at);
    const id = holder === undefined ? first?.id : holder.holder;
    return { id: String(id), duplicate: holder !== undefined || first !== event };
  });
  return conflicts.length === 0 ? accepted : new KeyConflict(conflicts);
}

/** A set costs more than twice as much for one event. */
function oneStatement({ dataJson: data, idempotency, excluded, ...event }: NewEvent): PostgresStatement {
  const { publisher = null, key: idempotencyKey = null, expiresAt = null, contentHash = null } = idempotency ?? {};
  const { id, type, subject, audience, correlationId, actorId, orderingKey, createdAt } = event;
  return {
    sql: PUBLISH_ONE,
    again: PUBLISH_ONE_AGAIN,
    params: {
      key: rowKeyOf(id),
      id,
      type,
      data,
      subject,
      audience,
      correlationId,
      actorId,
      orderingKey,
      createdAt,
      publisher,
      idempotencyKey,
      expiresAt,
      contentHash,
      excluded: numberArray(excluded),
    },
    appends: true,
  };
}

function setStatement(events: readonly NewEvent[], requests: readonly number[]): PostgresStatement {
  const isKeyed = events.some(({ idempotency }) => idempotency !== null);
  const exclusions = events.flatMap(({ excluded }, at) =>
    excluded.map((webhookNumber): Exclusion => ({ place: at + 1, webhookNumber })),
  );
  const keys = events.map(({ idempotency }, at): Keyed => ({ request: requests[at] ?? 0, idempotency }));
  return {
    sql: (isKeyed ? PUBLISH_KEYED : PUBLISH)[exclusions.length === 0 ? 'all' : 'passed'],
    params: {
      ...EVENTS.parameters(events),
      ...(isKeyed ? KEYS.parameters(keys) : {}),
      ...(exclusions.length === 0 ? {} : EXCLUSIONS.parameters(exclusions)),
      now: Math.max(...events.map(({ createdAt }) => createdAt)),
    },
    appends: true,
  };
}
