/** Webhooks in the store, the data that the dispatcher reads, and expiring keys. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Progress, Webhook } from '../../src/domain/webhook.ts';
import { webhookNumbersIn } from '../../src/kernel/ids.ts';
import { StaleWrite } from '../../src/store/port/errors.ts';
import { STEP_ROWS_FIRST } from '../../src/store/port/steps.ts';
import { RECORD_OVERHEAD_BYTES } from '../../src/store/shared/delivery/dispatch.ts';
import { makeDue } from '../../src/store/shared/delivery/resume.ts';
import { claimNext, takeChanges } from '../support/batches.ts';
import { openDispatching } from '../support/dispatching.ts';
import { logs, newEvent, subscribe } from '../support/events.ts';
import { pgpKeyPair } from '../support/pgp-keys.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeEndpoint, makeKey, openTestServices } from '../support/services.ts';
import { leavingNothing, NOW, openTestStore, type TestStore } from '../support/store.ts';
import { sharedCertificates } from '../support/tls.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

async function made(s: TestStore, eventTypes: readonly string[]): Promise<Webhook> {
  const number = await subscribe(s, eventTypes);
  const found = (await s.store.webhooks.list('', 100)).find(({ progress }) => progress.webhookNumber === number);
  return found ?? assert.fail();
}

const patterns = async (s: TestStore, webhook: Webhook): Promise<unknown[]> =>
  (
    await s.rows(
      `SELECT pattern FROM subscription WHERE webhook_number = ${webhook.progress.webhookNumber} ORDER BY pattern`,
    )
  ).map(({ pattern }) => pattern);
const running = (progress: Progress): Progress => ({
  ...progress,
  state: 'running',
  sessionId: 'session',
  sessionAt: NOW,
  stateAt: NOW,
});

describe('the webhook store', () => {
  it('creates a stopped webhook with its number, its subscriptions and an empty log', async (t) => {
    const s = await openTestStore(t);
    const webhook = await made(s, ['order.*', 'stock.low']);
    const { state, nextOffset, cursorOffset, sessionId, stateAt } = webhook.progress;
    assert.deepEqual(
      { state, nextOffset, cursorOffset, sessionId, stateAt },
      { state: 'stopped', nextOffset: 0, cursorOffset: 0, sessionId: null, stateAt: NOW },
    );
    assert.deepEqual(await patterns(s, webhook), ['order.*', 'stock.low']);
    assert.deepEqual(await s.store.webhooks.get(webhook.id), webhook);
    assert.equal(await s.store.webhooks.get('unknown'), null);
  });

  it('takes its number from the random bits of its id, and none that another webhook has or had', async (t) => {
    const s = await openTestStore(t);
    // All have the same random bits.
    const idOf = (at: number): string => `0193a1f0-00${String(at).padStart(2, '0')}-7000-8123-456789abcdef`;
    const drawn = webhookNumbersIn(idOf(0));
    const { progress, ...configuration } = await made(s, ['order.*']);
    assert.ok(!drawn.includes(progress.webhookNumber));
    const add = async (at: number): Promise<number> => {
      await s.store.webhooks.insert({ ...configuration, id: idOf(at), name: `webhook ${at}` }, s.entry());
      return (await s.store.webhooks.get(idOf(at)))?.progress.webhookNumber ?? assert.fail();
    };
    const numbers: number[] = [];
    for (let at = 0; at < drawn.length - 1; at += 1) numbers.push(await add(at));
    assert.deepEqual(numbers, drawn.slice(0, -1));
    assert.equal(new Set(drawn).size, drawn.length);
    await s.store.webhooks.remove(idOf(0), s.entry());
    assert.equal(await add(20), drawn.at(-1));
    assert.equal(await add(21), Math.max(...drawn) + 1);
  });

  it('replaces the subscriptions at every update and keeps number, log and state', async (t) => {
    const s = await openTestStore(t);
    const before = await made(s, ['order.*', 'stock.low']);
    await s.store.events.publish([newEvent(s, 'order.placed')]);
    const { progress, ...configuration } = before;
    const after = { ...configuration, eventTypes: ['stock.*', 'stock.low'], name: 'renamed', updatedAt: NOW + 1 };
    await s.store.webhooks.update(after, before, s.entry());
    assert.deepEqual(await patterns(s, before), ['stock.*', 'stock.low']);
    assert.deepEqual(await s.store.webhooks.get(before.id), { ...after, progress: { ...progress, nextOffset: 1 } });
    await leavingNothing(s, () =>
      assert.rejects(s.store.webhooks.update({ ...after, name: 'x' }, before, s.entry()), StaleWrite),
    );
    assert.equal((await logs(s)).get(progress.webhookNumber)?.length, 1);
  });

  it('hides a removed webhook, leaves its log to housekeeping, and never reuses its number', async (t) => {
    const s = await openTestStore(t);
    const kept = await made(s, ['*']);
    const gone = await made(s, ['*']);
    await s.store.events.publish([newEvent(s, 'order.placed')]);
    const number = gone.progress.webhookNumber;
    await s.store.webhooks.remove(gone.id, s.entry());
    for (const table of ['webhook_progress', 'subscription']) {
      assert.deepEqual(await s.rows(`SELECT * FROM ${table} WHERE webhook_number = ${number}`), [], table);
    }
    assert.deepEqual(await s.rows('SELECT number FROM removed_webhook'), [{ number }]);
    const shown = (await s.store.deliveries.list({}, null, 100)).items;
    assert.deepEqual(
      shown.map(({ webhookId }) => webhookId),
      [kept.id],
    );
    assert.equal(await s.store.deliveries.get({ createdAt: NOW, webhookNumber: number, offset: 0 }), null);
    assert.deepEqual((await s.store.deliveries.list({ webhookNumber: number }, null, 100)).items, []);
    await s.store.events.publish([newEvent(s, 'order.placed')]);
    assert.equal((await logs(s)).get(number)?.length, 1);
    assert.ok((await made(s, ['*'])).progress.webhookNumber > number);
    await leavingNothing(s, () => assert.rejects(s.store.webhooks.remove(gone.id, s.entry()), StaleWrite));
  });

  it('writes a state together with its event, or neither', async (t) => {
    const s = await openTestStore(t);
    const webhook = await made(s, ['order.*']);
    const watcher = await made(s, ['webhook.*']);
    const progress = running(webhook.progress);
    const change = () => ({ progress, stateBefore: 'stopped' as const, event: newEvent(s, 'webhook.running') });
    await s.store.webhooks.setState(change(), s.entry());
    assert.deepEqual((await s.store.webhooks.get(webhook.id))?.progress, progress);
    assert.equal((await logs(s)).get(watcher.progress.webhookNumber)?.length, 1);
    await leavingNothing(s, () => assert.rejects(s.store.webhooks.setState(change(), s.entry()), StaleWrite));
  });

  it('keeps events that arrive while a state is written', async (t) => {
    const s = await openTestStore(t);
    const webhook = await made(s, ['order.*']);
    await s.store.events.publish([newEvent(s, 'order.placed'), newEvent(s, 'order.placed')]);
    const progress = running(webhook.progress);
    assert.equal(progress.nextOffset, 0);
    await s.store.webhooks.setState(
      { progress, stateBefore: 'stopped', event: newEvent(s, 'webhook.running') },
      s.entry(),
    );
    assert.equal((await s.store.webhooks.get(webhook.id))?.progress.nextOffset, 2);
  });

  it('makes waiting retries due, but not batches in progress, and tells the sender of the webhook', async (t) => {
    const s = await openTestStore(t);
    const { progress } = await made(s, ['order.*']);
    const other = await made(s, ['order.*']);
    const number = progress.webhookNumber;
    await s.database.commit([
      { sql: `UPDATE webhook_progress SET state = 'started'`, params: {} },
      {
        sql: `INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals,
          next_attempt_at, lease_owner, settled_at) VALUES
         (${number}, 0, 0, 'waiting', 'pending', 1, 0, ${NOW + 60_000}, NULL, NULL),
         (${number}, 1, 1, 'leased', 'pending', 1, 0, ${NOW + 60_000}, 'me', NULL),
         (${number}, 2, 2, 'due', 'pending', 1, 0, ${NOW - 60_000}, NULL, NULL),
         (${number}, 3, 3, 'dead', 'dead', 1, 0, NULL, NULL, 1),
         (${other.progress.webhookNumber}, 0, 0, 'another''s', 'pending', 1, 0, ${NOW + 60_000}, NULL, NULL)`,
        params: {},
      },
    ]);
    await s.store.webhooks.resume(number, NOW);
    const dues = await s.rows('SELECT next_attempt_at AS at FROM batch ORDER BY webhook_number, first_offset');
    assert.deepEqual(
      dues.map(({ at }) => at),
      [NOW, NOW + 60_000, NOW - 60_000, null, NOW + 60_000],
    );
    assert.deepEqual(await takeChanges(s), [number]);
  });

  it('makes any number of retries due in small steps', async (t) => {
    const s = await openTestStore(t);
    const number = (await made(s, ['order.*'])).progress.webhookNumber;
    const count = 3 * STEP_ROWS_FIRST + 7;
    await s.database.commit([
      {
        sql: `WITH RECURSIVE n (o) AS (SELECT 0 UNION ALL SELECT o + 2 FROM n WHERE o + 2 < ${2 * count})
       INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at)
       SELECT ${number}, o, o + 1, 'batch ' || o, 'pending', 1, 0, ${NOW + 60_000} FROM n`,
        params: {},
      },
    ]);
    const changed: number[] = [];
    const db = {
      ...s.database,
      commit: async (...args: Parameters<typeof s.database.commit>) => {
        const results = await s.database.commit(...args);
        changed.push(results[0]?.changes ?? 0);
        return results;
      },
    };
    await makeDue(db, number, NOW);
    assert.equal(
      changed.reduce((sum, n) => sum + n, 0),
      count,
    );
    assert.equal(changed[0], STEP_ROWS_FIRST);
    assert.ok(changed.length > 1);
    assert.equal((await s.rows(`SELECT 1 FROM batch WHERE next_attempt_at > ${NOW}`)).length, 0);
  });

  it('finds webhooks by endpoint, by pattern, and the ones that receive a type without an encryption key', async (t) => {
    const s = await openTestStore(t);
    const [name, category, all, other] = await Promise.all(
      [['order.placed'], ['order.*'], ['*'], ['order.paid']].map((types) => made(s, types)),
    );
    await s.database.commit([
      {
        sql: `INSERT INTO pgp_key (id, name, public_key, fingerprint, algorithm, created_at, updated_at)
       VALUES ('k', 'key', '', '', '', 1, 1)`,
        params: {},
      },
      {
        sql: `UPDATE webhook SET encryption_key_name = 'key' WHERE number = ${all?.progress.webhookNumber}`,
        params: {},
      },
    ]);
    const ids = (webhooks: readonly Webhook[]) => webhooks.map(({ id }) => id).toSorted();
    assert.deepEqual(ids(await s.store.webhooks.ofEndpoint(other?.endpointId ?? '')), [other?.id]);
    assert.deepEqual(ids(await s.store.webhooks.ofPattern('order.*')), [category?.id]);
    assert.deepEqual(ids(await s.store.webhooks.ofPattern('order.placed')), [name?.id]);
    assert.deepEqual(ids(await s.store.webhooks.ofKey(null, 'key')), [all?.id]);
    assert.deepEqual(
      ids(await s.store.webhooks.unencryptedOf({ name: 'order.placed', public: true })),
      [name?.id, category?.id].toSorted(),
    );
    assert.deepEqual(ids(await s.store.webhooks.unencryptedOf({ name: 'stock.low', public: true })), []);
  });
});

it('the sizes of waiting records stay as published, also after an erasure', async (t) => {
  const d = await openDispatching(t);
  const { number } = await d.connect();
  // As part of a request and as a request of its own.
  await d.publishMany(2, { text: 'é'.repeat(100) });
  await d.publishMany(1);
  const bytes = async (cursor = 0): Promise<number[]> =>
    (await d.store.dispatch.waiting(number, cursor, 10)).map((record) => record.bytes - RECORD_OVERHEAD_BYTES);
  const published = [0, 1].map((n) => Buffer.byteLength(JSON.stringify({ n, text: 'é'.repeat(100) })));
  const all = [...published, Buffer.byteLength(JSON.stringify({ n: 0 }))];
  assert.deepEqual(await bytes(), all);
  assert.deepEqual(await bytes(1), all.slice(1));

  const kept = await d.rows('SELECT data_bytes FROM outbox ORDER BY record_offset');
  assert.deepEqual(
    kept.map(({ data_bytes }) => data_bytes),
    all,
  );
  await d.database.commit([{ sql: 'UPDATE event SET data = NULL, erased_at = 1', params: {} }]);
  assert.deepEqual(await bytes(), all);
});

it('several webhooks are read together, each with its own batches and records, in order and up to its limit', async (t) => {
  const d = await openDispatching(t);
  const [a, b, c] = [(await d.connect()).number, (await d.connect()).number, (await d.connect()).number] as const;
  await d.publishMany(5);
  const batches = [
    await claimNext(d, a, 1),
    await claimNext(d, a, 1),
    await claimNext(d, b, 1),
    await claimNext(d, b, 1),
  ];
  await claimNext(d, c, 1);
  const set = `UPDATE batch SET next_attempt_at = CASE WHEN webhook_number = ${c} THEN 2000 ELSE 1000 - first_offset END`;
  await d.database.commit([{ sql: set, params: {} }]);
  const { dueBatches, waiting } = d.store.dispatch;

  const found = await Promise.all([
    dueBatches(a, 1000, 10, []),
    dueBatches(b, 1000, 1, []),
    dueBatches(b, 999, 10, []),
  ]);
  const due = found.map(({ batches: some }) => some);
  const elsewhere = await Promise.all([
    dueBatches(c, 1000, 10, []),
    dueBatches(c + 1, 1000, 10, []),
    dueBatches(a, 1000, 10, [0, 1]),
  ]);
  const none = [...elsewhere.map(({ batches: some }) => some), await waiting(c, 5, 10)];
  const records = await Promise.all([waiting(a, 0, 10), waiting(b, 3, 10), waiting(a, 1, 2), waiting(c, 4, 1)]);
  const [first, second, , later] = batches.map((batch) => ({
    ...batch,
    attemptNumber: 2,
    orderKey: null,
    bytes: Buffer.byteLength(JSON.stringify({ n: 0 })) + RECORD_OVERHEAD_BYTES,
  }));
  assert.deepEqual(due, [[second, first], [later], [later]]);
  assert.deepEqual(none, [[], [], [], []]);
  assert.equal(elsewhere[0]?.nextAt, 2000);
  const offsets = records.map((some) => some.map(({ offset }) => offset));
  assert.deepEqual(offsets, [[0, 1, 2, 3, 4], [3, 4], [1, 2], [4]]);
});

it('expiring keys and client certificates are listed together, soonest first', async (t) => {
  const s = await openTestServices(t);
  await makeKey(s, 'rsa4096');
  const { publicKey } = await pgpKeyPair({ lastsDays: 4000, at: NOW - 1000 });
  const key = await s.keys.create({ name: 'hr', publicKey }, ACTOR);
  const endpoint = await makeEndpoint(s, { clientCertificate: sharedCertificates().client });
  await makeEndpoint(s);
  const own = { customerId: null };
  const listed = await s.store.expiry.all(null, 10);
  assert.deepEqual(listed, [
    {
      kind: 'certificate',
      ...own,
      id: endpoint.id,
      name: endpoint.name,
      expiresAt: endpoint.clientCertificateExpiresAt,
    },
    { kind: 'key', ...own, id: key.id, name: 'hr', expiresAt: key.expiresAt },
  ]);
  assert.deepEqual(await s.store.expiry.all(null, 1), listed.slice(0, 1));
});
