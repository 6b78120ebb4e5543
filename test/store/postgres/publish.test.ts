/** Publishing on PostgreSQL: instances that publish at the same time, and what the newest records of a log are found by. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { NewEvent } from '../../../src/domain/event.ts';
import { createIds, firstRowKeyAt, randomBytes, rowKeyOf } from '../../../src/kernel/ids.ts';
import { createVault, MASTER_KEY_BYTES } from '../../../src/kernel/vault.ts';
import { ConstraintViolation, retryStale } from '../../../src/store/port/errors.ts';
import type { EventStore } from '../../../src/store/port/events.ts';
import type { PostgresDatabase } from '../../../src/store/postgres/driver/postgres.ts';
import { ensurePartitions, listPartitions, partitionsByAge } from '../../../src/store/postgres/partitions.ts';
import { eventStore } from '../../../src/store/postgres/publish.ts';
import { createPostgresStore } from '../../../src/store/postgres/store.ts';
import { publishStatements } from '../../../src/store/shared/events.ts';
import { openEmptied } from '../../support/emptied-databases.ts';
import { dropLastPartitions, openAt, openTestPostgres } from '../../support/postgres.ts';
import { NOW } from '../../support/store.ts';

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const KEEPS_ALL = { deliveredSince: null, recordsSince: null, attemptsSince: null };

/** Patterns by webhook number. */
const SUBSCRIPTIONS: Readonly<Record<number, readonly string[]>> = {
  1: ['*'],
  2: ['a.*'],
  3: ['b.one', 'a.two'],
  4: ['b.*'],
  5: ['*'],
};

async function subscribe(db: PostgresDatabase): Promise<void> {
  await db.run(`
    INSERT INTO endpoint (id, name, url, api_key, secret, secret_created_at, token_challenge, verified, enabled, enable_when_verified,
      created_at, updated_at) VALUES ('e', 'e', 'https://e.example', '', '', 0, false, true, true, false, 0, 0)`);
  for (const [number, patterns] of Object.entries(SUBSCRIPTIONS)) {
    const rows = patterns.map((pattern) => `('${pattern}', '', ${number}, false)`).join(', ');
    await db.run(`
      INSERT INTO webhook (number, id, name, endpoint_id, event_types, custom_headers, ordered, max_batch_records, retry_policy,
        max_attempts, standard_webhooks, heartbeat_seconds, timeout_seconds, created_at, updated_at)
      VALUES (${number}, 'w${number}', 'w', 'e', '[]', '[]', 'none', 100, 'linear', 1, false, 0, 15, 0, 0);
      INSERT INTO webhook_progress (webhook_number, state, state_at, failure_streak, dead_streak) VALUES (${number}, 'running', 0, 0, 0);
      INSERT INTO webhook_position (webhook_number) VALUES (${number});
      INSERT INTO subscription (pattern, customer_id, webhook_number, filtered) VALUES ${rows}`);
  }
}

type Publisher = {
  readonly event: (type: string, at?: number, key?: string) => NewEvent;
  readonly publish: EventStore['publish'];
};

/** Row keys of the same millisecond may be equal. */
let ticks = 0;

function publisherOn(db: PostgresDatabase): Publisher {
  let at = NOW;
  const ids = createIds(() => at, randomBytes);
  return {
    event: (type, createdAt = NOW, key) => {
      ticks += 1;
      at = createdAt + ticks;
      const id = ids.uuid();
      const contentHash = new Uint8Array(32);
      const idempotency =
        key === undefined ? null : { publisher: 'p', key, expiresAt: createdAt + DAY_MS, contentHash };
      const plain = {
        subject: null,
        orderingKey: null,
        audience: '',
        correlationId: 'c',
        actorId: null,
        dataJson: '{}',
        excluded: [],
      } as const;
      return { ...plain, id, type, createdAt, idempotency };
    },
    publish: eventStore(db).publish,
  };
}

/** The ids of each log in the order of their offsets. Throws if an offset is missing or taken twice. */
async function logsOf(db: PostgresDatabase): Promise<Map<number, string[]>> {
  const rows = await db.all(
    `SELECT o.webhook_number, o.record_offset, e.id FROM outbox AS o JOIN event AS e ON e.key = o.event_key
     ORDER BY o.webhook_number, o.record_offset`,
    {},
  );
  const logs = new Map<number, string[]>();
  for (const { webhook_number: number, record_offset: offset, id } of rows) {
    const log = logs.get(Number(number)) ?? [];
    assert.equal(offset, log.length, `webhook ${number}`);
    log.push(String(id));
    logs.set(Number(number), log);
  }
  return logs;
}

async function opened(t: TestContext): Promise<{ readonly url: string; readonly database: PostgresDatabase }> {
  const { url, database } = await openEmptied(t, NOW);
  await subscribe(database);
  return { url, database };
}

const TYPES = ['a.one', 'a.two', 'b.one', 'b.two', 'c.one'];

describe('instances that publish at the same time', () => {
  it('number each log without gaps or repeats, and keep the events of a request together', async (t) => {
    const { url, database } = await opened(t);
    const others = [await openAt(t, url), await openAt(t, url)];
    const published: string[][] = [];
    const each = [database, ...others].map(async (db, n) => {
      const { event, publish } = publisherOn(db);
      for (let round = 0; round < 150; round += 1) {
        const size = (round + n) % 3 === 0 ? 1 : 1 + ((round * 7 + n) % 5);
        const type = (at: number): string => TYPES[(round + at * (n + 1)) % TYPES.length] as string;
        const request = Array.from({ length: size }, (_, at) =>
          event(type(at), NOW, round % 4 === 0 ? `${n} ${round} ${at}` : undefined),
        );
        published.push(request.map(({ id }) => id));
        // The event of a change goes out in the transaction of the change.
        if (round % 10 === 9) await db.commit(request.flatMap((one) => publishStatements(one)));
        else await publish(request);
      }
    });
    await Promise.all(each);
    const logs = await logsOf(database);
    const all = published.flat();
    assert.deepEqual(
      [logs.get(1), logs.get(5)].map((log) => log?.toSorted()),
      [all.toSorted(), all.toSorted()],
    );
    for (const request of published) {
      const first = logs.get(1)?.indexOf(request[0] ?? '') ?? -1;
      assert.deepEqual(logs.get(1)?.slice(first, first + request.length), request);
    }
    const types = new Map(
      (await database.all('SELECT id, type FROM event', {})).map(({ id, type }) => [id, String(type)]),
    );
    const wanted = (isWanted: (type: string) => boolean) =>
      all.filter((id) => isWanted(types.get(id) ?? '')).toSorted();
    assert.deepEqual(
      logs.get(2)?.toSorted(),
      wanted((type) => type.startsWith('a.')),
    );
    assert.deepEqual(
      logs.get(3)?.toSorted(),
      wanted((type) => type === 'b.one' || type === 'a.two'),
    );
    assert.deepEqual(
      logs.get(4)?.toSorted(),
      wanted((type) => type.startsWith('b.')),
    );
  });

  it('publish the event of an idempotency key once', async (t) => {
    const { url, database } = await opened(t);
    const publishers = [database, await openAt(t, url)].map(publisherOn);
    for (let round = 0; round < 30; round += 1) {
      const size = 1 + (round % 3);
      const accepted = await Promise.all(
        publishers.map(({ event, publish }) =>
          publish(Array.from({ length: size }, (_, at) => event('a.one', NOW, `${round} ${at}`))),
        ),
      );
      const [one, other] = accepted.map((some) => some.map(({ id }) => id));
      assert.deepEqual(one, other);
    }
    assert.equal((await logsOf(database)).get(1)?.length, 60);
  });
});

it('publishing updates no row', async (t) => {
  const { database } = await opened(t);
  const { event, publish } = publisherOn(database);
  const versions = async (): Promise<unknown> =>
    Promise.all(
      ['webhook', 'webhook_progress', 'webhook_position', 'subscription', 'event_type', 'outbox', 'event'].map(
        (table) =>
          database.all(
            `SELECT CAST(tableoid AS text) || ctid || ' ' || xmin AS version FROM ${table} WHERE ctid < '(0,4)' ORDER BY 1`,
            {},
          ),
      ),
    );
  await publish([event('a.one'), event('b.one'), event('a.two'), event('c.one')]);
  const before = await versions();
  await publish([event('a.one')]);
  await publish([event('a.one', NOW, 'key')]);
  await publish([event('a.one'), event('b.one'), event('b.two', NOW, 'other')]);
  await database.commit(publishStatements(event('a.one')));
  assert.deepEqual(await versions(), before);
  assert.equal((await logsOf(database)).get(1)?.length, 10);
});

describe('an event whose publication was not answered', () => {
  const again = async (db: PostgresDatabase, { id, type, idempotency }: NewEvent, key = rowKeyOf(id)) =>
    db.all(
      `SELECT holder, appended FROM publish_event(@key, @id, @type, '{}', NULL, '', 'c', NULL, NULL, @now, CAST(@publisher AS TEXT),
         CAST(@name AS TEXT), CAST(@expiresAt AS BIGINT), CAST(@hash AS BYTEA), '{}', true)`,
      {
        key,
        id,
        type,
        now: NOW,
        publisher: idempotency?.publisher ?? null,
        name: idempotency?.key ?? null,
        expiresAt: idempotency?.expiresAt ?? null,
        hash: idempotency?.contentHash ?? null,
      },
    );

  it('is published by the second call, unless it was by the first', async (t) => {
    const { database } = await opened(t);
    const { event, publish } = publisherOn(database);
    for (const name of [undefined, 'key']) {
      const published = event('a.one', NOW, name);
      await publish([published]);
      assert.deepEqual(await again(database, published), [{ holder: null, appended: '{NULL}' }]);
      const lost = event('a.one', NOW, name === undefined ? undefined : 'other');
      assert.deepEqual(await again(database, lost), [{ holder: null, appended: '{1,2,5}' }]);
    }
    assert.equal((await logsOf(database)).get(1)?.length, 4);
  });

  it('is refused if another event has its row key', async (t) => {
    const { database } = await opened(t);
    const { event, publish } = publisherOn(database);
    const published = event('a.one');
    await publish([published]);
    await assert.rejects(again(database, event('a.one'), rowKeyOf(published.id)), ConstraintViolation);
    await assert.rejects(publish([{ ...event('b.one'), id: published.id }]), ConstraintViolation);
  });
});

describe('the newest record of a log', () => {
  /** Housekeeping at a later time, with partitions until then. */
  const keepHouse = async (database: PostgresDatabase, now: number): Promise<void> => {
    await partitionsByAge(database).step(KEEPS_ALL, now);
  };
  const basesOf = async (database: PostgresDatabase): Promise<unknown[]> =>
    (await database.all('SELECT DISTINCT base_key FROM webhook_progress ORDER BY 1', {})).map(
      ({ base_key }) => base_key,
    );

  it('is looked for from the partition before the current one on', async (t) => {
    const { url, database } = await openTestPostgres(t, NOW - 10 * WEEK_MS);
    await subscribe(database);
    await dropLastPartitions(database);
    await ensurePartitions(database, { now: NOW - 10 * WEEK_MS, aheadMs: 12 * WEEK_MS });
    const { event, publish } = publisherOn(database);
    await publish([event('a.one', NOW - 3 * WEEK_MS), event('a.one', NOW - 3 * WEEK_MS)]);
    await keepHouse(database, NOW);
    const previous = Math.floor(NOW / WEEK_MS) * WEEK_MS - WEEK_MS;
    assert.deepEqual(await basesOf(database), [firstRowKeyAt(previous)]);
    const versions = async () => database.all('SELECT xmin FROM webhook_progress', {});
    const before = await versions();
    await keepHouse(database, NOW + 1);
    assert.deepEqual(await versions(), before, 'once for each partition');

    // No record is behind the base: the next offset follows from it.
    await publish([event('a.one')]);
    const status = 'SELECT next_offset FROM webhook_status WHERE webhook_number = 1';
    const plan = await (await openAt(t, url)).all(`EXPLAIN (ANALYZE, TIMING off) ${status}`, {});
    const partitions = (await listPartitions(database)).filter(({ table }) => table === 'outbox');
    const looked = partitions.filter(({ name }) =>
      plan.some((row) => new RegExp(`on ${name} .*loops=1`).test(String(Object.values(row)[0]))),
    );
    const isRecent = ({ to }: (typeof partitions)[number]): boolean => to > firstRowKeyAt(previous);
    assert.deepEqual(looked, partitions.filter(isRecent));
    assert.ok(partitions.length > looked.length);
    // Neither the functions nor the view need the others.
    for (const one of partitions) if (!isRecent(one)) await database.run(`DROP TABLE ${one.name}`);
    await publish([event('a.one'), event('a.two')]);
    assert.deepEqual(await database.all(status, {}), [{ next_offset: 5 }]);
  });

  it('is found also for an event from before that partition, after the clock was set back by weeks', async (t) => {
    const { database } = await openTestPostgres(t, NOW - 10 * WEEK_MS);
    await subscribe(database);
    await dropLastPartitions(database);
    await ensurePartitions(database, { now: NOW - 10 * WEEK_MS, aheadMs: 12 * WEEK_MS });
    const { event, publish } = publisherOn(database);
    await publish([event('a.one', NOW - 4 * WEEK_MS)]);
    await keepHouse(database, NOW);
    await publish([event('a.one')]);
    await publish([event('a.one', NOW - 3 * WEEK_MS)]);
    await publish([event('a.one', NOW - 3 * WEEK_MS), event('b.one', NOW - 4 * WEEK_MS)]);
    await publish([event('a.one')]);
    assert.deepEqual(
      [...(await logsOf(database))].map(([number, log]) => [number, log.length]),
      [
        [1, 6],
        [2, 5],
        [3, 1],
        [4, 1],
        [5, 6],
      ],
    );
    await keepHouse(database, NOW);
    await publish([event('a.one')]);
    assert.equal((await logsOf(database)).get(2)?.length, 6);
  });

  it('keeps its partition until no publisher looks into it', async (t) => {
    const { database } = await opened(t);
    await dropLastPartitions(database);
    const partitions = async () =>
      (
        await database.all("SELECT relname AS name FROM pg_class WHERE relname LIKE 'outbox_p________' ORDER BY 1", {})
      ).map(({ name }) => name);
    const [first] = await partitions();
    const ofFirst = Math.floor(NOW / WEEK_MS) * WEEK_MS;
    await keepHouse(database, ofFirst + WEEK_MS + 2 * DAY_MS);
    assert.equal((await partitions())[0], first);
    await keepHouse(database, ofFirst + 2 * WEEK_MS + 2 * DAY_MS);
    assert.notEqual((await partitions())[0], first);
  });

  it('is seen by housekeeping that waited for its publisher', async (t) => {
    const { url, database } = await opened(t);
    const vault = createVault(randomBytes(MASTER_KEY_BYTES), randomBytes);
    const store = createPostgresStore(
      await openAt(t, url),
      vault,
      createIds(() => NOW, randomBytes),
    );
    const { event, publish } = publisherOn(database);
    await publish([event('a.one')]);
    await database.run(`
      INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, settled_at)
      VALUES (2, 0, 0, 'b', 'delivered', 1, 0, 0); UPDATE webhook_position SET covered_offset = 1`);
    // Retention deletes the only record while others are added.
    const publishing = Array.from({ length: 20 }, () => publish([event('a.two')]));
    const deleting = retryStale(() =>
      store.retention.records({ webhookNumber: 2, from: 0, deliveredBy: NOW + DAY_MS, deadBy: null }, 100),
    );
    await Promise.all([...publishing, deleting]);
    const rows = await database.all('SELECT record_offset FROM outbox WHERE webhook_number = 2 ORDER BY 1', {});
    assert.deepEqual(
      rows.map(({ record_offset }) => record_offset),
      Array.from({ length: 20 }, (_, n) => n + 1),
    );
  });
});
