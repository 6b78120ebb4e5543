import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import type { DeliveryState } from '../../src/domain/webhook.ts';
import { createErasures, type ErasedView } from '../../src/events/erase.ts';
import { createLog } from '../../src/observe/log.ts';
import { ATTEMPT_COLUMNS, EVENT_COLUMNS } from '../../src/store/shared/erasure.ts';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';
import { attemptOf, checkLog, claimNext, publishMany, run, settleBatch } from '../support/batches.ts';
import { cleanUp } from '../support/cleanup.ts';
import { type ApiClient, EDGE, type ErrorBody, succeeded } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';
import { newEvent, subscribe } from '../support/events.ts';
import { count, DAY_MS } from '../support/housekeeping.ts';
import {
  connect,
  deliveriesOf,
  makeEventType,
  only,
  publish,
  registerApplication,
  startJourney,
  startWebhook,
  stopWebhook,
} from '../support/journey.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR, openTestServices } from '../support/services.ts';
import { leavingNothing, onPostgres, openTestStore, type TestStore } from '../support/store.ts';

repeats('postgres');

const SECRET = 'Jane-Doe-of-Elm-Street';
/** Long enough for any erasure here to finish. */
const PATIENCE_MS = 60_000;

/** How often the text is in the files of SQLite; on PostgreSQL in how many rows. */
async function found({ path, database }: TestStore, text: string): Promise<number> {
  if (onPostgres) {
    const columns = ['data FROM event', "concat(response_headers, convert_from(response_body, 'UTF8')) FROM attempt"];
    const sql = `SELECT count(*) AS n FROM (${columns.map((column) => `SELECT ${column}`).join(' UNION ALL ')}) AS t (kept)
      WHERE strpos(kept, @text) > 0`;
    return Number((await database.get(sql, { text }))?.n);
  }
  return foundInFiles(path, text);
}

function foundInFiles(path: string, text: string): number {
  return [path, `${path}-wal`].reduce(
    (sum, file) => sum + (existsSync(file) ? occurrences(readFileSync(file), text) : 0),
    0,
  );
}

function occurrences(bytes: Buffer, text: string): number {
  let n = 0;
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + 1)) n += 1;
  return n;
}

const erasing = (s: TestStore) =>
  createErasures({ ...s, log: createLog('silent'), replyMs: PATIENCE_MS, pause: async () => {} }).erase;
const about = (subject: string, text: string, n = 0) => ({ subject, dataJson: JSON.stringify({ n, text }) });

async function states(s: TestStore, webhookNumber: number): Promise<DeliveryState[]> {
  return (await s.store.deliveries.list({ webhookNumber }, null, 200)).items.map(({ state }) => state).toReversed();
}

describe('erasing a person’s data', () => {
  it('overwrites it in events and responses of attempts, discards pending deliveries, and changes nothing of others', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['order.*']);
    await run(s, number);
    const who = (n: number) => (n % 2 === 0 ? about('jane', `${SECRET} ${n}`, n) : about('john', `John ${n}`, n));
    await publishMany(s, 'order.placed', 12, who);
    await publishMany(s, 'stock.low', 1, () => about('jane', SECRET));
    const echo = { responseBody: Buffer.from(`not so: ${SECRET}`), responseHeaders: { location: `/${SECRET}` } };
    await settleBatch(s, await claimNext(s, number, 4), { kind: 'delivered', at: s.clock() }, echo);
    s.advance(1000);
    const retry = { kind: 'retry', at: s.clock() + 1, contentRefusals: 0 } as const;
    await settleBatch(s, await claimNext(s, number, 2), retry, echo);
    await settleBatch(s, await claimNext(s, number, 2), { kind: 'dead', at: s.clock() }, { responseStatus: 503 });
    s.advance(1000);
    const others = await s.rows("SELECT * FROM event WHERE subject = 'john'");
    assert.ok((await found(s, SECRET)) > 0);

    const { id, backups, ...erased } = await erasing(s)({ subject: 'jane' }, ACTOR);
    const at = '2026-11-21T05:00:02.000Z';
    const counts = { events: 7, deliveriesDiscarded: 3, attempts: 3 };
    assert.deepEqual(erased, { subject: 'jane', state: 'finished', ...counts, startedAt: at, finishedAt: at });
    assert.match(backups, /made before 2026-11-21T05:00:02\.000Z .* out of reach/);
    assert.equal(await found(s, SECRET), 0);
    assert.equal(await count(s, 'event', "subject = 'jane' AND data IS NULL"), 7);
    assert.deepEqual(await s.rows("SELECT * FROM event WHERE subject = 'john'"), others);
    assert.equal(await count(s, 'attempt', 'response_body IS NULL AND response_headers IS NULL'), 3);
    assert.equal(await count(s, 'attempt', 'response_status IS NOT NULL'), 3);
    assert.deepEqual(await states(s, number), [
      'delivered',
      'delivered',
      'delivered',
      'delivered',
      'discarded',
      'pending',
      'dead',
      'dead',
      'discarded',
      'pending',
      'discarded',
      'pending',
    ]);
    // What waits beside the discarded ones in their batch is due again, they are not.
    for (const { state, nextAttemptAt } of (await s.store.deliveries.list({ webhookNumber: number }, null, 200)).items)
      assert.equal(state === 'discarded' && nextAttemptAt !== null, false);
    const sent = await s.store.dispatch.records(number, 0, 11);
    assert.deepEqual(
      sent.map(({ dataJson }) => dataJson === null),
      Array.from({ length: 12 }, (_, n) => n % 2 === 0),
    );
    await checkLog(s, number);
  });

  it('writes audit entries with the subject and the actor before and after overwriting', async (t) => {
    const s = await openTestStore(t);
    await publishMany(s, 'order.placed', 3, () => about('jane', SECRET));
    await erasing(s)({ subject: 'jane' }, ACTOR);
    const [after, before] = await s.store.audit.list(null, 10);
    assert.deepEqual(
      [before?.action, before?.target, before?.actor, before?.changes],
      ['event.erase', 'subject:jane', ACTOR.actor, {}],
    );
    assert.deepEqual([after?.action, after?.target, after?.actor], ['event.erase-done', 'subject:jane', ACTOR.actor]);
    assert.deepEqual(after?.changes.events, { from: null, to: 3 });
    assert.equal(await s.store.audit.firstBroken(), null);
  });

  it('finds nothing the second time, and nothing for an unknown person', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    await run(s, number);
    await publishMany(s, 'order.placed', 3, () => about('jane', SECRET));
    await settleBatch(s, await claimNext(s, number, 1), { kind: 'delivered', at: s.clock() });
    const erase = erasing(s);
    await erase({ subject: 'jane' }, ACTOR);
    const nothing = { events: 0, deliveriesDiscarded: 0, attempts: 0 };
    for (const subject of ['jane', 'nobody']) {
      const { events, deliveriesDiscarded, attempts } = await erase({ subject }, ACTOR);
      assert.deepEqual({ events, deliveriesDiscarded, attempts }, nothing);
    }
    await s.store.events.publish([newEvent(s, 'order.placed', about('jane', SECRET))]);
    assert.equal((await erase({ subject: 'jane' }, ACTOR)).events, 1);
  });

  it('refuses a body without a subject, and erases nothing', async (t) => {
    const s = await openTestServices(t);
    await publishMany(s, 'order.placed', 1, () => about('jane', SECRET));
    for (const body of [{}, { subject: '' }, { subject: null }, { subject: 7 }, { subject: 'x'.repeat(201) }]) {
      await leavingNothing(s, () =>
        refused(() => s.erasures.erase(body, ACTOR), { code: 'validation_failed', fields: ['subject'] }),
      );
    }
    const unknown = { subject: 'jane', all: true };
    await leavingNothing(s, () =>
      refused(() => s.erasures.erase(unknown, ACTOR), { code: 'validation_failed', fields: ['all'] }),
    );
  });

  it('takes as many steps as it needs, with a pause after each but the last', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    await publishMany(s, 'order.placed', 150, (n) => about(n % 3 === 0 ? 'john' : 'jane', `${SECRET} ${n}`));
    const pauses: number[] = [];
    const { erase } = createErasures({
      ...s,
      log: createLog('silent'),
      replyMs: PATIENCE_MS,
      pause: async (ms: number) => pauses.push(ms),
    });
    const { events, deliveriesDiscarded } = await erase({ subject: 'jane' }, ACTOR);
    assert.deepEqual([events, deliveriesDiscarded], [100, 100]);
    assert.ok(pauses.length > 2 && pauses.every((ms) => ms >= 5), pauses.join(', '));
    assert.equal(await count(s, 'event', 'data IS NOT NULL'), 50);
    assert.equal((await states(s, number)).filter((state) => state === 'discarded').length, 100);
  });

  it('does not keep the response to a request in progress, which may repeat the data, and keeps other responses', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    await run(s, number);
    await publishMany(s, 'order.placed', 2, () => about('jane', SECRET));
    await publishMany(s, 'order.placed', 2, () => about('john', 'John'));
    const [hers, his] = [await claimNext(s, number, 2), await claimNext(s, number, 2)];
    const startedAt = s.clock();
    s.advance(3000);
    const { deliveriesDiscarded } = await erasing(s)({ subject: 'jane' }, ACTOR);
    assert.equal(deliveriesDiscarded, 2);
    s.advance(3000);
    const echo = { startedAt, responseBody: Buffer.from(SECRET), responseHeaders: { location: SECRET } };
    await settleBatch(s, hers, { kind: 'delivered', at: s.clock() }, echo);
    await settleBatch(s, his, { kind: 'delivered', at: s.clock() }, { startedAt });
    s.advance(DAY_MS);
    await s.store.attempts.insert(attemptOf(s, hers));
    await s.store.erasures.forgetCopies();
    assert.equal(await found(s, SECRET), 0);
    const kept = await s.rows('SELECT first_offset, response_body IS NULL AS gone FROM attempt ORDER BY key');
    assert.deepEqual(
      kept.map(({ first_offset, gone }) => [first_offset, gone]),
      [
        [0, 1],
        [2, 0],
        [0, 0],
      ],
    );
  });

  it('knows every column: a row is found again by the bytes of all of them', async (t) => {
    const s = await openTestStore(t);
    for (const [table, columns] of [
      ['event', EVENT_COLUMNS],
      ['attempt', ATTEMPT_COLUMNS],
    ] as const) {
      const [row] = await s.database.all(`SELECT x.* FROM (SELECT 1) AS one LEFT JOIN ${table} AS x ON false`, {});
      assert.deepEqual(['key', ...columns.split(/,\s+/)], Object.keys(row ?? {}), table);
    }
  });

  // Where two half-empty pages were put together, SQLite leaves copies of moved rows that it never overwrites by itself. With these
  // seeds it does so, in the table of events and in that of attempts.
  for (const seed of onPostgres ? [] : [2, 7, 11]) {
    it(`leaves nothing in a file from which rows between others have been taken (${seed})`, async (t) => {
      const s = await openTestStore(t);
      const { connection } = s.sqlite;
      connection.pragma('synchronous = OFF');
      const number = await subscribe(s, ['*']);
      await run(s, number);
      const random = randomNumbers(seed);
      const texts = Array.from({ length: 1000 }, (_, n) =>
        `<${n % 7 === 0 ? SECRET : 'someone else'}>`.repeat(1 + random(40)),
      );
      await publishMany(s, 'order.placed', texts.length, (n) =>
        about(n % 7 === 0 ? 'jane' : `p${n}`, texts[n] ?? '', n),
      );
      for (const text of texts) {
        const responseBody = Buffer.from(text.slice(0, 1 + random(1000)));
        await settleBatch(s, await claimNext(s, number, 1), { kind: 'delivered', at: s.clock() }, { responseBody });
      }
      for (const table of ['event', 'attempt']) {
        const take = connection.prepare(`DELETE FROM ${table} WHERE key = ?`);
        for (const { key } of await s.rows(`SELECT key FROM ${table} ORDER BY key`))
          if (random(100) < 60) take.run(key);
      }
      connection.exec('DELETE FROM outbox WHERE event_key NOT IN (SELECT key FROM event)');
      const others = (): Promise<unknown[]> => s.rows("SELECT * FROM event WHERE subject <> 'jane' ORDER BY key");
      const attempts = (): Promise<unknown[]> =>
        s.rows('SELECT key, id, request_headers, timings FROM attempt ORDER BY key');
      // Responses to removed records can no longer be matched to the subject; housekeeping deletes them with the record.
      connection.exec(`DELETE FROM attempt WHERE first_offset NOT IN (SELECT record_offset FROM outbox)`);
      const [eventsBefore, attemptsBefore] = [await others(), await attempts()];
      assert.ok((await found(s, SECRET)) > 0);
      await erasing(s)({ subject: 'jane' }, ACTOR);
      assert.equal(await found(s, SECRET), 0);
      assert.deepEqual([await others(), await attempts()], [eventsBefore, attemptsBefore]);
      assert.deepEqual(connection.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
    });
  }
});

describe('an erasure that takes long', () => {
  const begun = async (t: TestContext) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    await run(s, number);
    await publishMany(s, 'order.placed', 40, (n) => about(n % 2 === 0 ? 'jane' : 'john', `${SECRET} ${n}`));
    // No step but the first until the test says so.
    const goOn = deferred();
    const options = { ...s, log: createLog('silent'), replyMs: 0 };
    const erasures = createErasures({ ...options, pause: () => goOn.promise });
    const erased = await erasures.erase({ subject: 'jane' }, ACTOR);
    return { s, number, options, erasures, erased, goOn };
  };

  it('is answered while it goes on, and no delivery reads the person’s events from then on', async (t) => {
    const { s, number, erased, erasures, goOn } = await begun(t);
    assert.deepEqual([erased.state, erased.finishedAt], ['overwriting', null]);
    assert.ok((await count(s, 'event', "subject = 'jane' AND data IS NOT NULL")) > 0);
    const read = async (): Promise<boolean[]> =>
      (await s.store.dispatch.records(number, 0, 39)).map(({ dataJson }) => dataJson === null);
    assert.deepEqual(
      await read(),
      Array.from({ length: 40 }, (_, n) => n % 2 === 0),
    );
    await s.store.events.publish([newEvent(s, 'order.placed', about('jane', 'published later'))]);
    const [later] = await s.store.dispatch.records(number, 40, 40);
    assert.ok(later?.dataJson?.includes('published later'));
    goOn.resolve();
    await erasures.stop();
  });

  it('continues where it stopped, and counts batches settled without their records as discarded', async (t) => {
    const { s, number, options, erased, erasures, goOn } = await begun(t);
    const stopped = erasures.stop();
    goOn.resolve();
    await stopped;
    const halfway = await erasures.get(erased.id);
    assert.equal(halfway.state, 'overwriting');
    s.advance(1000);
    await settleBatch(s, await claimNext(s, number, 40), { kind: 'delivered', at: s.clock() });
    const next = createErasures({ ...options, pause: async () => {} });
    next.start();
    let done = halfway;
    while (done.state !== 'finished') {
      await sleep(5);
      done = await next.get(erased.id);
    }
    await next.stop();
    assert.deepEqual([done.events, done.deliveriesDiscarded], [20, 20]);
    assert.equal(await count(s, 'event', "subject = 'jane' AND data IS NOT NULL"), 0);
    assert.equal(await count(s, 'event', "subject = 'john' AND data IS NOT NULL"), 20);
    assert.deepEqual(
      await states(s, number),
      Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? 'discarded' : 'delivered')),
    );
  });

  it('can be requested again before it ends: the second erases later events, and counts nothing twice', async (t) => {
    const { s, erasures, erased, goOn } = await begun(t);
    await s.store.events.publish([newEvent(s, 'order.placed', about('jane', SECRET))]);
    const second = await erasures.erase({ subject: 'jane' }, ACTOR);
    assert.notEqual(second.id, erased.id);
    goOn.resolve();
    while ((await erasures.get(second.id)).state !== 'finished') await sleep(5);
    assert.deepEqual([(await erasures.get(erased.id)).events, (await erasures.get(second.id)).events], [20, 1]);
    assert.equal(await found(s, SECRET), 20);
  });

  it('is done once if two processes work on it', async (t) => {
    const { s, options, erased, erasures, goOn } = await begun(t);
    const other = createErasures({ ...options, pause: async () => {} });
    other.start();
    goOn.resolve();
    while ((await erasures.get(erased.id)).state !== 'finished') await sleep(5);
    await Promise.all([other.stop(), erasures.stop()]);
    assert.equal((await erasures.get(erased.id)).events, 20);
    const actions = (await s.store.audit.list(null, 10, { target: 'subject:' })).map(({ action }) => action);
    assert.deepEqual(actions, ['event.erase-done', 'event.erase']);
  });
});

/** A number below the bound, the same ones for the same seed. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed * 7919;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    return (state >> 8) % below;
  };
}

describe('POST /events/erase', () => {
  it('erases, and still delivers the records of others in the same batch', async (t) => {
    const { service, admin, receiver } = await startJourney(t);
    await makeEventType(admin, 'order.placed');
    const { at, webhook } = await connect({ admin, receiver }, ['order.placed'], {});
    at.answer(({ json }) => ({ status: 200, body: `got ${json}` }));
    await succeeded(admin.post('events', { type: 'order.placed', data: { text: SECRET }, subject: 'jane' }));
    await at.next();
    await service.log.nextAttempt(webhook.id);
    await stopWebhook(admin, webhook);
    const events = ['jane', 'john', 'jane'].map((subject) => ({
      type: 'order.placed',
      data: { text: `${subject} ${SECRET}` },
      subject,
    }));
    await succeeded(admin.post('events', { events }));

    const { api } = await registerApplication(admin, ['events:erase']);
    const { status, body } = await api.post<ErasedView>('events/erase', { subject: 'jane' });
    const { id, backups, startedAt, finishedAt, ...erased } = body;
    const counts = { events: 3, deliveriesDiscarded: 2, attempts: 1 };
    assert.deepEqual([status, erased], [200, { subject: 'jane', state: 'finished', ...counts }]);
    assert.ok(finishedAt !== null && finishedAt >= startedAt);
    assert.deepEqual(await succeeded(api.get(`erasures/${id}`)), body);
    assert.match(backups, /^Backups and copies of the database made before/);
    assert.equal(foundInFiles(join(service.dataDir, DATABASE_FILE), `{"text":"${SECRET}`), 0);
    assert.equal(foundInFiles(join(service.dataDir, DATABASE_FILE), `jane ${SECRET}`), 0);

    await startWebhook(admin, webhook);
    assert.deepEqual(
      (await at.next()).records.map((record) => record.data),
      [{ text: `john ${SECRET}` }],
    );
    await service.log.nextAttempt(webhook.id);
    const shown = await deliveriesOf(admin, webhook);
    assert.deepEqual(
      shown.map(({ state }) => state),
      ['delivered', 'discarded', 'delivered', 'discarded'],
    );
    await publish(admin, 'order.placed', { n: 1 });
    assert.equal(only((await at.next()).records).offset, 4);
  });

  it('needs the scope events:erase', async (t) => {
    const { admin } = await startJourney(t);
    const { api } = await registerApplication(admin, ['events:publish', 'deliveries:view', 'webhooks:manage']);
    const { status, body } = await api.post<ErrorBody>('events/erase', { subject: 'jane' });
    assert.deepEqual([status, body.error.code], [401, 'insufficient_scope']);
    assert.equal((await admin.as(null).post('events/erase', { subject: 'jane' })).status, 401);
    assert.equal((await admin.post('events/erase', { who: 'jane' })).status, 400);
  });

  // A snapshot of SQLite keeps the log.
  if (!onPostgres)
    it('answers 202 and continues automatically while another process reads the database', async (t) => {
      const { service, admin } = await startJourney(t);
      await makeEventType(admin, 'order.placed');
      await succeeded(admin.post('events', { type: 'order.placed', data: { text: SECRET }, subject: 'jane' }));
      const reader = openSqlite(join(service.dataDir, DATABASE_FILE));
      cleanUp(t, () => reader.close());
      reader.connection.exec('BEGIN');
      assert.equal(reader.connection.prepare('SELECT count(*) FROM event WHERE subject = ?').pluck().get('jane'), 1);
      const { status, headers, body } = await admin.post<ErasedView>('events/erase', { subject: 'jane' });
      assert.deepEqual([status, body.state, body.events, body.finishedAt], [202, 'removing_copies', 1, null]);
      const location = headers.get('location') ?? '';
      assert.equal(location, `${EDGE}/erasures/${body.id}`);
      assert.equal((await succeeded<ErasedView>(admin.get(location))).state, 'removing_copies');
      // A long read delays no other erasure.
      await succeeded(admin.post('events', { type: 'order.placed', data: { text: 'Joe' }, subject: 'joe' }));
      assert.equal((await succeeded<ErasedView>(admin.post('events/erase', { subject: 'joe' }))).events, 1);
      reader.connection.exec('COMMIT');
      await finished(admin, location);
      assert.equal(foundInFiles(join(service.dataDir, DATABASE_FILE), SECRET), 0);
    });

  it('aborts a request with the person’s events, and sends the rest of its batch again', async (t) => {
    const { service, admin, receiver } = await startJourney(t);
    await makeEventType(admin, 'order.placed');
    const { at, webhook } = await connect({ admin, receiver }, ['order.placed'], { webhook: { timeoutSeconds: 60 } });
    await stopWebhook(admin, webhook);
    const closed = deferred();
    at.answer(() => (_, response) => void response.on('close', closed.resolve));
    const events = ['jane', 'john'].map((subject) => ({ type: 'order.placed', data: { subject }, subject }));
    await succeeded(admin.post('events', { events }));
    await startWebhook(admin, webhook);
    assert.equal((await at.next()).records.length, 2);
    at.answer(() => ({ status: 204 }));
    await succeeded(admin.post('events/erase', { subject: 'jane' }));
    await closed.promise;
    assert.deepEqual(
      (await at.next()).records.map((record) => record.data),
      [{ subject: 'john' }],
    );
    const [cutOff, delivered] = [await service.log.nextAttempt(webhook.id), await service.log.nextAttempt(webhook.id)];
    assert.deepEqual([cutOff.fate, delivered.fate, delivered.attemptNumber], ['release', 'delivered', 1]);
    assert.deepEqual(
      (await deliveriesOf(admin, webhook)).map(({ state }) => state),
      ['discarded', 'delivered'],
    );
  });

  it('answers 404 for an unknown erasure', async (t) => {
    const { admin } = await startJourney(t);
    const { status, body } = await admin.get<ErrorBody>('erasures/01a1fc79-c080-7000-8001-000000000000');
    assert.deepEqual([status, body.error.code], [404, 'not_found']);
  });
});

/** Asks until the erasure is finished. */
async function finished(admin: ApiClient, location: string): Promise<ErasedView> {
  for (;;) {
    const erased = await succeeded<ErasedView>(admin.get(location));
    if (erased.state === 'finished') return erased;
    await sleep(100);
  }
}
