import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeliveryState } from '../../src/domain/webhook.ts';
import { deliveryAddress } from '../../src/kernel/ids.ts';
import type { Row } from '../../src/store/port/database.ts';
import type { DeliveryFilter } from '../../src/store/port/deliveries.ts';
import { DELIVERIES_EXAMINED_MAX, FAILURES_EXAMINED_MAX } from '../../src/store/port/limits.ts';
import { DELIVERIES_EXAMINED_AT_ONCE, deliveryStore } from '../../src/store/shared/delivery/deliveries.ts';
import { replayStore } from '../../src/store/shared/delivery/replays.ts';
import { sqliteText } from '../../src/store/sqlite/driver/dialect.ts';
import { lockNothing } from '../../src/store/sqlite/retention.ts';
import { at, ERASED, EVENTS, eventId, type LargeLog, openLargeLog, RARE, SECOND_MS } from '../support/large-log.ts';

const LIMIT = 50;

/** Makes a store that counts its reads and the rows they return, and collects its statements. */
function watched({ sqlite: database }: LargeLog) {
  const statements = new Set<string>();
  const seen = { rows: 0, reads: 0 };
  const note = (sql: string, rows: readonly Row[]): void => {
    statements.add(sql);
    seen.rows += rows.length;
    seen.reads += 1;
  };
  const all = async (sql: string, params: Parameters<typeof database.all>[1]): Promise<Row[]> => {
    const rows = await database.all(sql, params);
    note(sql, rows);
    return rows;
  };
  const get = async (sql: string, params: Parameters<typeof database.get>[1]): Promise<Row | undefined> => {
    const row = await database.get(sql, params);
    note(sql, row === undefined ? [] : [row]);
    return row;
  };
  const watching = { ...database, all, get };
  return {
    deliveries: deliveryStore(watching, { places: async () => [] }),
    replays: replayStore(watching, lockNothing),
    statements,
    seen,
  };
}

type Made = Omit<DeliveryFilter, 'offsets'> & {
  readonly n: number;
  readonly webhookNumber: number;
  readonly offset: number;
};

/** All records as created, newest event first. The expected content of lists. */
function everything(s: LargeLog): Made[] {
  const half = EVENTS / 2;
  const record = (webhookNumber: number, n: number, offset: number, state: DeliveryState) => ({
    webhookNumber,
    n,
    offset,
    eventId: eventId(n),
    state: n === ERASED && state === 'pending' ? ('discarded' as const) : state,
    ...(n % RARE === 7
      ? { eventType: 'rare.event', subject: 'somebody', orderingKey: 'order-17' }
      : { eventType: 'order.placed' }),
  });
  const all = Array.from({ length: EVENTS }, (_, n) => [
    record(s.busy, n, n, n < 100 || (n >= half && n < half + 100) ? 'dead' : 'delivered'),
    record(s.stuck, n, n, n < half ? 'delivered' : 'pending'),
    ...(n < 1000 ? [record(s.quiet, n, n, n === 999 ? 'pending' : 'delivered')] : []),
    ...(n % 10 === 0 ? [record(s.hopeless, n, n / 10, 'dead')] : []),
  ]);
  return all.flat().toSorted((a, b) => b.n - a.n || b.webhookNumber - a.webhookNumber);
}

type Filters = (s: LargeLog) => DeliveryFilter;
const MIDDLE = EVENTS / 2;
const CASES: Readonly<Record<string, Filters>> = {
  'of all webhooks': () => ({}),
  'of one webhook': (s) => ({ webhookNumber: s.busy }),
  'before a moment long ago': (s) => ({ webhookNumber: s.stuck, until: at(1000) }),
  'from one moment to another, of all webhooks': () => ({ since: at(5000), until: at(5003) }),
  'from one moment to another, of one webhook': (s) => ({
    webhookNumber: s.hopeless,
    since: at(5000),
    until: at(5300),
  }),
  'that are dead, few of a log': (s) => ({ webhookNumber: s.busy, state: 'dead' }),
  'that are dead, the last of them long ago': (s) => ({ webhookNumber: s.busy, state: 'dead', until: at(MIDDLE) }),
  'that are dead, of all webhooks': () => ({ state: 'dead' }),
  'that are dead, of all webhooks, where those of two lie together': () => ({ state: 'dead', until: at(MIDDLE + 50) }),
  'that wait, of a webhook that has many': (s) => ({ webhookNumber: s.stuck, state: 'pending' }),
  'that wait, of a webhook that has one, long ago': (s) => ({ webhookNumber: s.quiet, state: 'pending' }),
  'that wait, of all webhooks': () => ({ state: 'pending' }),
  'that wait, of all webhooks, the last of them long ago': () => ({ state: 'pending', until: at(MIDDLE + 2) }),
  'that were delivered': () => ({ state: 'delivered' }),
  'that were delivered, of a webhook where 50,000 wait': (s) => ({ webhookNumber: s.stuck, state: 'delivered' }),
  'that were discarded': () => ({ state: 'discarded' }),
  'of a rare type': () => ({ eventType: 'rare.event' }),
  'of a rare type, of one webhook': (s) => ({ webhookNumber: s.quiet, eventType: 'rare.event' }),
  'of a rare type, delivered': () => ({ eventType: 'rare.event', state: 'delivered' }),
  'of one person': () => ({ subject: 'somebody', since: at(RARE + 1) }),
  'of one key': () => ({ orderingKey: 'order-17' }),
  'of one key, of one webhook': (s) => ({ webhookNumber: s.quiet, orderingKey: 'order-17' }),
  'of one key, that are dead': () => ({ orderingKey: 'order-17', state: 'dead' }),
  'of one event': () => ({ eventId: eventId(500) }),
  'at some offsets': (s) => ({ webhookNumber: s.hopeless, offsets: { first: 70, last: 72 } }),
};

describe('among two hundred thousand records, a page of deliveries', () => {
  it('uses an index, reads about as many rows as it shows, and continues on the next page', async (t) => {
    const s = await openLargeLog(t);
    const every = everything(s);
    const statements = new Set<string>();
    for (const [what, filterOf] of Object.entries(CASES)) {
      const filter = filterOf(s);
      const wanted = every.filter((record) => isWanted(record, filter));
      const { deliveries, statements: used, seen } = watched(s);
      const first = await deliveries.list(filter, null, LIMIT);
      assert.deepEqual(first.items.map(placeOf), wanted.slice(0, LIMIT).map(placeOf), what);
      assert.equal(first.next === null, wanted.length <= LIMIT, `${what}: whether there are more`);
      if (first.next !== null) {
        const second = await deliveries.list(filter, deliveryAddress(first.next), LIMIT);
        assert.deepEqual(
          second.items.map(placeOf),
          wanted.slice(LIMIT, 2 * LIMIT).map(placeOf),
          `${what}: the next page`,
        );
      }
      assert.ok(seen.rows <= 40 * LIMIT, `${what}: ${seen.rows} rows`);
      assert.ok(seen.reads <= 40, `${what}: ${seen.reads} reads`);
      for (const sql of used) statements.add(sql);
    }
    assert.ok(statements.size >= 12, `${statements.size} statements`);
    const used = [...statements].flatMap((sql) => planOf(s, sql)).join('\n');
    for (const index of [
      'outbox_event',
      'batch_dead',
      'batch_pending',
      'event_of_type',
      'event_subject',
      'event_of_key',
      'event_erased_key',
    ]) {
      assert.match(used, new RegExp(`INDEX ${index}\\b`));
    }
  });

  it('ends early when hardly any record matches, and the next page continues there without a gap', async (t) => {
    const s = await openLargeLog(t);
    const { deliveries, statements, seen } = watched(s);
    // Dead deliveries of a type that no dead delivery has. No index covers both columns.
    const none = { state: 'dead', eventType: 'order.lost' } as const;
    const before = seen.rows;
    const page = await deliveries.list(none, null, LIMIT);
    assert.deepEqual(page.items, []);
    assert.ok(page.next !== null);
    assert.ok(seen.rows - before < 3 * (DELIVERIES_EXAMINED_MAX + DELIVERIES_EXAMINED_AT_ONCE), `${seen.rows} rows`);
    for (const sql of statements) planOf(s, sql);
    const last = { state: 'dead', eventType: 'rare.event' } as const;
    const found: number[] = [];
    let pages = 0;
    for (let next: string | null = ''; next !== null; pages += 1) {
      const more = await deliveries.list(last, next === '' ? null : deliveryAddress(next), LIMIT);
      found.push(...more.items.map(({ createdAt }) => (createdAt - at(0)) / SECOND_MS));
      next = more.next;
    }
    assert.deepEqual(found, [MIDDLE + 7, 7]);
    assert.equal(pages, 2);
  });
});

/** Attempts for the dead batches, and for the one that waits at the quiet webhook. Every hundredth one at the hopeless timed out. */
function answered({ sqlite: { connection }, ...s }: LargeLog): void {
  const insert = (number: number, count: number, size: number, first: string, cause: string): void => {
    connection.exec(`
      INSERT INTO attempt (key, id, webhook_number, kind, batch_id, first_offset, last_offset, attempt_number, started_at,
        request_headers, response_status, response_headers, error_class, error_message, timings)
      SELECT ${number} * 1000000 + n, 'attempt ' || n, ${number}, 'delivery', 'batch', ${first}, ${first} + ${size - 1}, 1, ${at(0)} + n,
        '{}', iif(cause GLOB '[0-9]*', CAST(cause AS INTEGER), NULL), NULL, iif(cause GLOB '[0-9]*', 'http_status', cause),
          'it failed', '{}'
      FROM (WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ${count}) SELECT n, ${cause} AS cause FROM n)`);
  };
  insert(s.hopeless, EVENTS / 10, 1, 'n', "iif(n % 100 = 0, 'timeout', '503')");
  insert(s.busy, 2, 100, `n * ${MIDDLE}`, "'dns'");
  insert(s.quiet, 1, 1, '999', "'429'");
}

const WITH_RESPONSE: Readonly<Record<string, (s: LargeLog) => { filter: DeliveryFilter; offsets: number[] }>> = {
  'of one webhook, by status': (s) => ({
    filter: { webhookNumber: s.hopeless, response: { first: 503, last: 503 } },
    offsets: [9999, 9998],
  }),
  'of all webhooks, by class': () => ({ filter: { response: { first: 500, last: 599 } }, offsets: [9999, 9998] }),
  'of all webhooks, by error': () => ({ filter: { response: { errorClasses: ['timeout'] } }, offsets: [9900, 9800] }),
  'that wait': () => ({ filter: { response: { first: 400, last: 499 }, state: 'pending' }, offsets: [999] }),
  'of a webhook where 50,000 wait': (s) => ({
    filter: { webhookNumber: s.stuck, response: { first: 500, last: 599 } },
    offsets: [],
  }),
  'of one webhook, that wait or are dead': (s) => ({
    filter: { webhookNumber: s.quiet, response: { first: 429, last: 429 } },
    offsets: [999],
  }),
  'that are dead, by error': (s) => ({
    filter: { webhookNumber: s.busy, state: 'dead', response: { errorClasses: ['dns'] } },
    offsets: [MIDDLE + 99, MIDDLE + 98],
  }),
};

describe('among two hundred thousand records, failures', () => {
  it('are found by the response to their last attempt, through an index', async (t) => {
    const s = await openLargeLog(t);
    answered(s);
    for (const [what, of] of Object.entries(WITH_RESPONSE)) {
      const { filter, offsets } = of(s);
      const { deliveries, statements, seen } = watched(s);
      const { items } = await deliveries.list(filter, null, 2);
      assert.deepEqual(
        items.map(({ offset }) => offset),
        offsets,
        what,
      );
      assert.ok(seen.rows <= 4000, `${what}: ${seen.rows} rows`);
      for (const sql of statements) planOf(s, sql);
    }
  });

  it('are grouped by webhook and cause, from a bounded number of batches', async (t) => {
    const s = await openLargeLog(t);
    answered(s);
    const { deliveries, statements, seen } = watched(s);
    const { groups, isWhole } = await deliveries.failures(null);
    assert.equal(isWhole, false, 'the hopeless webhook has more than its share');
    const numbers = await s.rows('SELECT id, number FROM webhook');
    const nameOf = (id: string): unknown => numbers.find((row) => row.id === id)?.number;
    const told = groups.map(({ webhookId, cause, dead, retrying }) => [nameOf(webhookId), cause, dead, retrying]);
    const share = FAILURES_EXAMINED_MAX / 6;
    assert.deepEqual(told.filter(([number]) => number !== s.hopeless).toSorted(), [
      [s.busy, 'dns', 200, 0],
      [s.quiet, '429', 0, 1],
    ]);
    const ofHopeless = new Map(
      told.filter(([number]) => number === s.hopeless).map(([, cause, dead]) => [cause, dead]),
    );
    assert.equal(Number(ofHopeless.get('503')) + Number(ofHopeless.get('timeout')), Math.ceil(share));
    assert.ok(seen.rows <= FAILURES_EXAMINED_MAX);
    for (const sql of statements) planOf(s, sql);
    // Of one webhook all are examined.
    const one = await deliveries.failures([s.busy]);
    assert.equal(one.isWhole, true);
    assert.deepEqual(
      one.groups.map(({ cause, dead, firstAt, lastAt }) => [cause, dead, firstAt, lastAt]),
      [['dns', 200, at(0), at(0) + 1]],
    );
  });

  it('are replayed by cause, and others stay', async (t) => {
    const s = await openLargeLog(t);
    answered(s);
    const { deliveries, replays, statements } = watched(s);
    const range = { webhookNumber: s.hopeless, first: 0, last: EVENTS / 10 - 1, states: ['dead'] as const };
    const timedOut = { ...range, cause: 'timeout' };
    assert.equal(await replays.count(timedOut), 100);
    assert.equal(await replays.count({ ...range, cause: '503' }), 9900);
    assert.equal(await replays.count({ ...range, cause: 'dns' }), 0);
    // A part of a batch that was cut keeps the cause of its attempt.
    const cut = { webhookNumber: s.busy, first: 10, last: 19, states: ['dead'] as const, cause: 'dns' };
    const how = { now: s.clock(), newId: s.ids.uuid };
    assert.equal(await replays.replay({ ...cut, ...how }, s.entry()), 10);
    assert.equal(await replays.count({ ...cut, first: 0, last: 99 }), 90);
    assert.equal(await replays.replay({ ...timedOut, ...how }, s.entry()), 100);
    assert.equal(await replays.count(timedOut), 0);
    assert.equal(await replays.count(range), 9900);
    const { items } = await deliveries.list({ webhookNumber: s.hopeless, state: 'pending' }, null, 200);
    assert.deepEqual(
      items.map(({ offset }) => offset % 100),
      Array(100).fill(0),
    );
    for (const sql of statements) planOf(s, sql);
  });
});

describe('among two hundred thousand records, a replay', () => {
  it('counts and replays in small steps through an index', async (t) => {
    const s = await openLargeLog(t);
    const { replays, statements } = watched(s);
    const all = { webhookNumber: s.hopeless, first: 0, last: EVENTS / 10 - 1, states: ['dead'] as const };
    assert.equal(await replays.count(all), EVENTS / 10);
    const busy = { webhookNumber: s.busy, first: 0, last: EVENTS - 1 };
    assert.equal(await replays.count({ ...busy, states: ['dead'] }), 200);
    // One of them was erased, so it cannot be replayed.
    assert.equal(await replays.count({ ...busy, first: 50, states: ['dead', 'delivered'] }), EVENTS - 51);
    const audited = Number((await s.rows('SELECT count(*) AS n FROM audit'))[0]?.n);
    const turns = countTurns();
    const replay = { now: s.clock(), newId: s.ids.uuid };
    assert.equal(
      await replays.replay({ ...busy, ...replay, first: 50, last: EVENTS - 51, states: ['dead'] }, s.entry()),
      150,
    );
    assert.equal(await replays.replay({ ...all, ...replay }, s.entry()), EVENTS / 10);
    assert.ok(turns.stop() > 20, 'others had their turn');
    assert.equal(await replays.count(all), 0);
    assert.deepEqual(await s.rows(`SELECT count(*) - ${audited} AS n FROM audit`), [{ n: 2 }]);
    const progress = 'SELECT pending_records FROM webhook_position WHERE webhook_number';
    assert.deepEqual(await s.rows(`${progress} = ${s.hopeless}`), [{ pending_records: EVENTS / 10 }]);
    assert.deepEqual(await s.rows(`${progress} = ${s.busy}`), [{ pending_records: 150 }]);
    for (const sql of statements) planOf(s, sql);
  });

  it('finds the ends of a period without scanning the log', async (t) => {
    const s = await openLargeLog(t);
    const { deliveries, statements, seen } = watched(s);
    const between = (from: number, to: number) => deliveries.offsetsBetween(s.busy, { since: at(from), until: at(to) });
    assert.deepEqual(await between(0, EVENTS), { first: 0, last: EVENTS - 1 });
    assert.deepEqual(await between(777, 778), { first: 777, last: 777 });
    assert.equal(await between(EVENTS, EVENTS + 5), null);
    assert.equal(await between(-5, 0), null);
    assert.deepEqual(await deliveries.offsetsBetween(s.hopeless, { since: at(11), until: at(41) - SECOND_MS / 2 }), {
      first: 2,
      last: 4,
    });
    assert.equal(await deliveries.offsetsBetween(s.hopeless, { since: at(11), until: at(20) }), null);
    assert.ok(seen.rows <= 24 && seen.reads <= 24);
    for (const sql of statements) planOf(s, sql);
  });
});

function isWanted(
  record: Made,
  { since = 0, until = at(EVENTS), offsets = { first: 0, last: EVENTS }, ...equal }: DeliveryFilter,
): boolean {
  const entries = Object.entries(equal) as [keyof typeof equal, unknown][];
  const { n, offset } = record;
  const isWithin = at(n) >= since && at(n) < until && offset >= offsets.first && offset <= offsets.last;
  return isWithin && entries.every(([name, value]) => record[name] === value);
}

function placeOf({ webhookNumber, offset }: { readonly webhookNumber: number; readonly offset: number }): string {
  return `${webhookNumber} ${offset}`;
}

/** Returns the query plan. Fails if it scans a growing table, or sorts more than the records of one batch. */
function planOf({ sqlite: database }: LargeLog, sql: string): string[] {
  const params = Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, 0]));
  const unseen = sqliteText(sql).replaceAll('@', '+@');
  const plan = database.connection.prepare(`EXPLAIN QUERY PLAN ${unseen}`).all(params) as { detail: string }[];
  const details = plan.map(({ detail }) => detail);
  const bad = details.filter(
    (detail) =>
      /^SCAN (batch|outbox|event|o|e|b)\b/.test(detail) || (/TEMP B-TREE/.test(detail) && !/LAST TERM/.test(detail)),
  );
  assert.deepEqual(bad, [], sql);
  return details;
}

/** Counts the turns of the event loop. */
function countTurns(): { stop(): number } {
  let turns = 0;
  let next = setImmediate(turn);
  function turn(): void {
    turns += 1;
    next = setImmediate(turn);
  }
  return {
    stop: () => {
      clearImmediate(next);
      return turns;
    },
  };
}
