import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deferred } from '../support/deferred.ts';
import { isDrained, messageIds, openDispatching, takeRecords, until } from '../support/dispatching.ts';
import { startOidcServer } from '../support/oidc-server.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR } from '../support/services.ts';
import { execute } from '../support/store.ts';
import { sharedCertificates } from '../support/tls.ts';

repeatsInSlowTier('postgres');

describe('when an administrator stops a webhook', () => {
  it('its attempt in progress is ended and kept as one, and its records stay pending until it starts again', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook, number } = await d.connect({ webhook: { maxBatchRecords: 1 } });
    const other = await d.connect({ webhook: { maxBatchRecords: 1 } });
    const closed = deferred();
    let hangs = true;
    at.answer(() => {
      if (!hangs) return { status: 204 };
      return (_request, response) => void response.once('close', () => closed.resolve());
    });
    const answer = deferred();
    other.at.answer(async () => {
      await answer.promise;
      return { status: 204 };
    });
    const ids = await d.publishMany(1);
    await d.start();
    await Promise.all([at.next(), other.at.next()]);
    await d.webhooks.stop(webhook.id, ACTOR);
    await closed.promise;
    await until('the attempt is written', async () => (await d.rows('SELECT 1 FROM attempt')).length === 1);
    assert.deepEqual(await d.rows('SELECT webhook_number, error_class, error_message, attempt_number FROM attempt'), [
      {
        webhook_number: number,
        error_class: 'internal',
        error_message: 'the webhook was stopped before the answer: the receiver had not begun to answer',
        attempt_number: 1,
      },
    ]);
    const batch = `SELECT state, attempt_count, lease_owner FROM batch WHERE webhook_number = ${number}`;
    assert.deepEqual(await d.rows(batch), [{ state: 'pending', attempt_count: 0, lease_owner: null }]);
    const { progress } = await d.webhooks.get(webhook.id);
    assert.deepEqual([progress.state, progress.stateReason], ['stopped', 'stopped_by_administrator']);
    // No attempt of another webhook is ended.
    answer.resolve();
    await until(
      'the other delivery',
      async () => (await d.rows(`SELECT 1 FROM batch WHERE state = 'delivered'`)).length === 1,
    );
    hangs = false;
    await d.webhooks.start(webhook.id, ACTOR);
    const { envelope } = await at.next();
    assert.equal(envelope.attemptNumber, 1);
    await until('the end', () => isDrained(d));
    assert.deepEqual(messageIds(at), [...ids, ...ids]);
    assert.deepEqual(messageIds(other.at), ids);
  });

  it('in another process its attempt in progress is ended too', async (t) => {
    for (const sql of [
      `UPDATE webhook_progress SET state = 'stopped', state_reason = 'stopped_by_administrator'`,
      `UPDATE webhook_progress SET state = 'stopped', state_reason = 'endpoint_disabled'`,
    ]) {
      const d = await openDispatching(t);
      const { at } = await d.connect();
      const answer = deferred();
      at.answer(async () => {
        await answer.promise;
        return { status: 204 };
      });
      await d.publishMany(1);
      const dispatcher = await d.start();
      await at.next();
      await execute(d, sql);
      const isEnded = sql.includes('administrator');
      if (isEnded)
        await until('the attempt is written', async () => (await d.rows('SELECT 1 FROM attempt')).length === 1);
      answer.resolve();
      // If the service stops a webhook itself, its attempts end normally.
      await until('the attempt is written', async () => (await d.rows('SELECT 1 FROM attempt')).length === 1);
      const kept = await d.rows('SELECT error_class FROM attempt');
      assert.deepEqual(kept, [{ error_class: isEnded ? 'internal' : null }]);
      await dispatcher.stop();
    }
  });
});

describe('when the dispatcher stops', () => {
  it('attempts that have not started are given back and do not count, and attempts in progress are finished', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: { maxBatchRecords: 1 } });
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    const open = deferred();
    at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    await d.publishMany(40);
    const dispatcher = await d.start();
    await takeRecords(at, 8);
    const stopped = dispatcher.stop();
    open.resolve();
    await stopped;
    assert.deepEqual(
      await d.rows(
        'SELECT state, attempt_count, lease_owner, count(*) AS n FROM batch GROUP BY state, attempt_count, lease_owner ORDER BY state',
      ),
      [
        { state: 'delivered', attempt_count: 1, lease_owner: null, n: 8 },
        { state: 'pending', attempt_count: 0, lease_owner: null, n: 32 },
      ],
    );
    assert.equal(at.deliveries.length, 8);
  });

  it('an attempt without an answer in time is cut off: it is recorded, does not count, and is sent again at the next start', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: { maxBatchRecords: 1 } });
    let hangs = true;
    at.answer(() => (hangs ? () => undefined : { status: 200 }));
    const ids = await d.publishMany(1);
    const dispatcher = await d.start({ drainMs: 20 });
    await at.next();
    await dispatcher.stop();
    const [attempt, ...more] = await d.rows(
      'SELECT error_class, error_message, attempt_number, response_status FROM attempt',
    );
    assert.deepEqual(more, []);
    assert.deepEqual(attempt, {
      error_class: 'internal',
      error_message: 'the service stopped before the answer: the receiver had not begun to answer',
      attempt_number: 1,
      response_status: null,
    });
    const [batch] = await d.rows('SELECT state, attempt_count, lease_owner, next_attempt_at FROM batch');
    assert.deepEqual(batch, { state: 'pending', attempt_count: 0, lease_owner: null, next_attempt_at: d.clock() });
    // It says nothing of the endpoint.
    const { progress } = await d.webhooks.get(webhook.id);
    assert.deepEqual([progress.state, progress.failureStreak], ['started', 0]);
    hangs = false;
    await d.start();
    const { envelope } = await at.next();
    assert.equal(envelope.attemptNumber, 1);
    assert.deepEqual(messageIds(at), [...ids, ...ids]);
  });

  it('a token server that does not answer is waited for no longer', async (t) => {
    const d = await openDispatching(t);
    const server = await startOidcServer(t, sharedCertificates().server, { validitySeconds: 600 });
    const release = server.hold();
    t.after(release);
    const { at } = await d.connect({ endpoint: { oauth: server.oauth } });
    await d.publishMany(1);
    const dispatcher = await d.start({ drainMs: 20 });
    await until('a token is asked for', () => server.tokenRequests() === 1);
    await dispatcher.stop();
    assert.equal(at.deliveries.length, 0);
    assert.deepEqual(await d.rows('SELECT error_class, error_message FROM attempt'), [
      { error_class: 'internal', error_message: 'the service stopped before it had a token' },
    ]);
    assert.deepEqual(await d.rows('SELECT state, attempt_count FROM batch'), [{ state: 'pending', attempt_count: 0 }]);
  });

  it('an outcome that the store will not take does not keep the process from ending', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect();
    const settle = (): Promise<never> => Promise.reject(new Error('SQLITE_FULL'));
    const store = { ...d.store, settlements: { ...d.store.settlements, settle } };
    const ids = await d.publishMany(1);
    const dispatcher = await d.start({ store, drainMs: 20 });
    await at.next();
    await dispatcher.stop();
    assert.match(d.log.text(), /could not be written/);
    assert.deepEqual(await d.rows('SELECT 1 FROM batch'), []);
    await d.start();
    await takeRecords(at, 1);
    await until('the end', () => isDrained(d));
    assert.deepEqual(messageIds(at), [...ids, ...ids]);
  });
});
