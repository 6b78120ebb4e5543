/** Partitions are made ahead of time, and dropped once all of their rows have passed their retention. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { createIds, firstRowKeyAt, randomBytes } from '../../../src/kernel/ids.ts';
import { createVault, MASTER_KEY_BYTES } from '../../../src/kernel/vault.ts';
import type { KeptSince, PartitionsByAge } from '../../../src/store/port/housekeeping.ts';
import { openPostgres, type PostgresDatabase } from '../../../src/store/postgres/driver/postgres.ts';
import { ensurePartitions, listPartitions, partitionsEndAt } from '../../../src/store/postgres/partitions.ts';
import { createPostgresStore } from '../../../src/store/postgres/store.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { newDatabase, openClient } from '../../support/postgres.ts';
import { NOW } from '../../support/store.ts';

const DAY_MS = 86_400_000;
const TABLES = ['access_token', 'event', 'outbox', 'attempt'] as const;
type Table = (typeof TABLES)[number];
const KEEPS_ALL: KeptSince = { deliveredSince: null, recordsSince: null, attemptsSince: null };

type Opened = {
  readonly database: PostgresDatabase;
  readonly url: string;
  readonly step: PartitionsByAge['step'];
  /** The partitions of a table, the oldest first, without the name of the table. */
  readonly of: (table: Table) => Promise<string[]>;
};

async function open(t: TestContext): Promise<Opened> {
  const url = await newDatabase(t);
  const database = await openPostgres({ connection: { connectionString: url } });
  cleanUp(t, () => database.close());
  await database.run(readFileSync(new URL('../../../src/store/postgres/schema.sql', import.meta.url), 'utf8'));
  const vault = createVault(randomBytes(MASTER_KEY_BYTES), randomBytes);
  const store = createPostgresStore(
    database,
    vault,
    createIds(() => NOW, randomBytes),
  );
  const { byAge } = store.retention;
  assert.ok(byAge.kind === 'partitions');
  const of: Opened['of'] = async (table) =>
    (await listPartitions(database)).filter((one) => one.table === table).map(({ name }) => name.replace(table, ''));
  return { database, url, step: byAge.step, of };
}

/** An event at a time, and its record and attempt if it has any. */
async function insert(db: PostgresDatabase, at: number, offset: number | null): Promise<void> {
  const key = firstRowKeyAt(at) + 1;
  await db.run(
    `INSERT INTO event (key, id, type, data, correlation_id, created_at) VALUES (${key}, ${key}, 't.t', '{}', 'c', ${at})`,
  );
  if (offset === null) return;
  await db.run(`INSERT INTO outbox VALUES (1, ${offset}, ${key}, 2);
    INSERT INTO attempt (key, id, webhook_number, kind, batch_id, first_offset, last_offset, attempt_number, started_at,
      request_headers, timings)
    VALUES (${key + 1}, ${key}, 1, 'delivery', 'b', ${offset}, ${offset}, 1, ${at}, '{}', '{}')`);
}

describe('partitions', () => {
  it('are made for two weeks, once, by every run', async (t) => {
    const { database, step, of } = await open(t);
    await step(KEEPS_ALL, NOW);
    const made = await listPartitions(database);
    for (const endAt of Object.values(partitionsEndAt(made))) assert.ok(endAt >= NOW + 14 * DAY_MS);
    assert.equal((await of('access_token')).length, 1 + 15);
    await step(KEEPS_ALL, NOW);
    assert.deepEqual(await listPartitions(database), made);
    await step(KEEPS_ALL, NOW + 7 * DAY_MS);
    assert.equal((await of('event')).length, 1 + 4);
  });

  it('of expired tokens are dropped, a day after their last token was issued', async (t) => {
    const { step, of } = await open(t);
    await step(KEEPS_ALL, NOW);
    const [past, today, ...more] = await of('access_token');
    assert.equal(past, '_p0');
    const endOfDay = Math.floor(NOW / DAY_MS) * DAY_MS + DAY_MS;
    await step(KEEPS_ALL, endOfDay - 1);
    assert.deepEqual((await of('access_token')).slice(0, 2), [past, today]);
    assert.equal((await step(KEEPS_ALL, endOfDay)).rows > 0, true);
    assert.equal((await of('access_token'))[0], today);
    await step(KEEPS_ALL, endOfDay + DAY_MS);
    assert.equal((await of('access_token'))[0], more[0]);
  });

  it('of events and records are dropped when all of their events are old and none has a record', async (t) => {
    const { database, step, of } = await open(t);
    await step(KEEPS_ALL, NOW);
    await insert(database, NOW, 0);
    await insert(database, NOW + 1, null);
    const [, ofEvent] = await of('event');
    const later = NOW + 60 * DAY_MS;
    const old: KeptSince = { ...KEEPS_ALL, deliveredSince: later - 30 * DAY_MS };
    await step(old, later);
    // The empty one before it is gone.
    assert.equal((await of('event'))[0], ofEvent);
    assert.equal((await of('outbox'))[0], ofEvent);
    await database.run('DELETE FROM outbox');
    await step(KEEPS_ALL, later);
    assert.equal((await of('event'))[0], ofEvent);
    await step({ ...old, deliveredSince: NOW }, later);
    assert.equal((await of('event'))[0], ofEvent);
    await step(old, later);
    assert.notEqual((await of('event'))[0], ofEvent);
    assert.equal((await database.get('SELECT count(*) AS n FROM event', {}))?.n, 0);
  });

  it('of attempts are dropped by their age, or after the records of all of them', async (t) => {
    const { database, step, of } = await open(t);
    await step(KEEPS_ALL, NOW);
    await insert(database, NOW, 0);
    const [, first] = await of('attempt');
    const later = NOW + 60 * DAY_MS;
    const byRecords: KeptSince = { ...KEEPS_ALL, recordsSince: later - 30 * DAY_MS };
    await step(byRecords, later);
    assert.equal((await of('attempt')).includes(first ?? ''), true);
    await database.run('DELETE FROM outbox');
    await step(KEEPS_ALL, later);
    assert.equal((await of('attempt')).includes(first ?? ''), true);
    await step(byRecords, later);
    assert.equal((await of('attempt')).includes(first ?? ''), false);

    await insert(database, later, 1);
    const [second] = await of('attempt').then((all) => all.slice(-3));
    await step({ ...KEEPS_ALL, attemptsSince: later + 30 * DAY_MS }, later + 60 * DAY_MS);
    assert.equal((await of('attempt')).includes(second ?? ''), false);
    assert.equal((await database.get('SELECT count(*) AS n FROM outbox', {}))?.n, 1);
  });

  it('are made while someone reads, and those to drop are left for the next run', async (t) => {
    const { database, url, step, of } = await open(t);
    const reader = await openClient(t, url);
    await step(KEEPS_ALL, NOW);
    const later = NOW + 60 * DAY_MS;
    const old: KeptSince = { deliveredSince: later, recordsSince: later, attemptsSince: later };
    await reader.query('BEGIN');
    await reader.query('SELECT count(*) FROM event');
    await step(old, later);
    assert.equal((await of('event'))[0], '_p0');
    assert.notEqual((await of('attempt'))[0], '_p0');
    // Housekeeping has not made others wait: new rows find their partition.
    await insert(database, later, 0);
    await reader.query('COMMIT');
    await step(old, later);
    assert.notEqual((await of('event'))[0], '_p0');
  });

  it('say how long they last if nobody could make new ones for a week', async (t) => {
    const { database, step } = await open(t);
    await step(KEEPS_ALL, NOW);
    // It covers a part of the day for which the next partition would be made.
    const from = firstRowKeyAt(NOW + 16 * DAY_MS);
    await database.run(`CREATE TABLE odd PARTITION OF access_token FOR VALUES FROM (${from}) TO (${from + 1})`);
    await assert.rejects(step(KEEPS_ALL, NOW + 7 * DAY_MS), /would overlap partition "odd"/);
    const soon = step(KEEPS_ALL, NOW + 12 * DAY_MS);
    await assert.rejects(soon, /there are partitions for [2-4] more days, and no new ones can be made/);
  });

  it('take old rows again when data is moved into a database that ran before', async (t) => {
    const { database, step, of } = await open(t);
    await step(KEEPS_ALL, NOW);
    const later = NOW + 60 * DAY_MS;
    await step({ deliveredSince: later, recordsSince: later, attemptsSince: later }, later);
    await ensurePartitions(database, { now: later, aheadMs: 0 });
    assert.equal((await of('event')).includes('_p0'), false);
    await ensurePartitions(database, { now: later, aheadMs: 0, hasPast: true });
    assert.equal((await of('event'))[0], '_p0');
    await insert(database, NOW, 0);
  });
});
