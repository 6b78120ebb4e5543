import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UNCLAIMABLE_PAUSE_MS } from '../../src/delivery/limits.ts';
import type { Webhook } from '../../src/domain/webhook.ts';
import { deferred } from '../support/deferred.ts';
import { isDrained, openDispatching, TYPE, takeRecords, until } from '../support/dispatching.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR, makeKey, makeWebhook } from '../support/services.ts';
import { execute, onSqlite } from '../support/store.ts';

repeats('postgres');

const HOUR_MS = 3_600_000;

const attempts = async (
  rows: (sql: string) => Promise<readonly unknown[]>,
  number: number,
  kind: string,
): Promise<number> =>
  (await rows(`SELECT 1 FROM attempt WHERE webhook_number = ${number} AND kind = '${kind}'`)).length;

describe('a webhook that the service stops', () => {
  it('because its endpoint was disabled sends nothing more, notifies its subscribers, and is audited', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook, number } = await d.connect({ webhook: { maxBatchRecords: 1 } });
    const told = await d.connect({ webhook: { eventTypes: ['webhook.stopped'] } });
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    const open = deferred();
    at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    await d.publishMany(60);
    await d.start();
    await takeRecords(at, 8);
    await d.endpoints.patch(webhook.endpointId, { enabled: false }, ACTOR);
    d.advance(1);
    open.resolve();
    const [record] = (await told.at.next()).records;
    assert.deepEqual(record?.data, {
      webhookId: webhook.id,
      webhookName: webhook.name,
      endpointId: webhook.endpointId,
      state: 'stopped',
      previousState: 'running',
      reason: 'endpoint_disabled',
      at: new Date(d.clock()).toISOString(),
    });
    const ofWebhook = `SELECT 1 FROM batch WHERE webhook_number = ${number}`;
    await until('all is given back', async () => (await d.rows(ofWebhook)).length === 60);
    assert.equal(at.deliveries.length, 8);
    assert.deepEqual(
      await d.rows(
        `SELECT state, attempt_count, count(*) AS n FROM batch WHERE webhook_number = ${number}
          GROUP BY state, attempt_count ORDER BY state`,
      ),
      [
        { state: 'delivered', attempt_count: 1, n: 8 },
        { state: 'pending', attempt_count: 0, n: 52 },
      ],
    );
    const [entry] = await d.rows(`SELECT actor, changes FROM audit WHERE action = 'webhook.stop'`);
    assert.equal(entry?.actor, 'service');
    assert.match(String(entry?.changes), /endpoint_disabled/);
    // Once the endpoint is enabled again it goes on where it was.
    await d.endpoints.patch(webhook.endpointId, { enabled: true }, ACTOR);
    await takeRecords(at, 52);
    await until('the end', () => isDrained(d));
  });

  it('because its endpoint was disabled starts again with the commit that enables the endpoint, every time', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: { eventTypes: [TYPE] } });
    const { endpointId } = webhook;
    const beside = await d.connect({ at, endpoint: { name: 'another' } });
    const more: Webhook[] = [];
    for (const name of ['stopped before', 'stopped after', 'never started']) {
      const made = await makeWebhook(d, [TYPE], { endpointId, name, heartbeatSeconds: 0 });
      more.push(name === 'never started' ? made : await d.webhooks.start(made.id, ACTOR));
    }
    const [before, after, never] = more as [Webhook, Webhook, Webhook];
    await d.webhooks.stop(before.id, ACTOR);
    const dispatcher = await d.start();
    const states = async (): Promise<unknown[]> =>
      Promise.all(
        [webhook, before, after, never, beside.webhook].map(async ({ id }) => {
          const { state, stateReason } = (await d.webhooks.get(id)).progress;
          return stateReason === null ? state : stateReason;
        }),
      );
    const switchTo = async (enabled: boolean): Promise<void> => {
      await d.endpoints.patch(endpointId, { enabled }, ACTOR);
      d.advance(1);
      dispatcher.wake();
    };
    const isStopped = async (): Promise<boolean> =>
      (await d.webhooks.get(webhook.id)).progress.stateReason === 'endpoint_disabled';

    await switchTo(false);
    await until('stopped', isStopped);
    await until('the other too', async () => (await d.webhooks.get(after.id)).progress.state === 'stopped');
    await d.webhooks.stop(after.id, ACTOR);
    const byHand = 'stopped_by_administrator';
    assert.deepEqual(await states(), ['endpoint_disabled', byHand, byHand, 'stopped', 'started']);

    for (const round of [1, 2]) {
      const audited = (await d.rows("SELECT 1 FROM audit WHERE action = 'webhook.start' AND actor = 'service'")).length;
      await switchTo(true);
      assert.deepEqual(await states(), ['started', byHand, byHand, 'stopped', 'started']);
      const started = await d.rows("SELECT target FROM audit WHERE action = 'webhook.start' AND actor = 'service'");
      assert.deepEqual(started.slice(audited), [{ target: `webhook:${webhook.id}` }]);
      if (round === 1) {
        await switchTo(false);
        await until('stopped again', isStopped);
      }
    }
    await d.publishMany(1);
    dispatcher.wake();
    await at.next();
  });

  it('is not stopped if its endpoint was enabled in the meantime', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect();
    let raced = 0;
    const { webhooks } = d.store;
    const store = {
      ...d.store,
      webhooks: {
        ...webhooks,
        stopWithEndpoint: async (...asked: Parameters<typeof webhooks.stopWithEndpoint>) => {
          raced += 1;
          await d.endpoints.patch(webhook.endpointId, { enabled: true }, ACTOR);
          return webhooks.stopWithEndpoint(...asked);
        },
      },
    };
    await d.endpoints.patch(webhook.endpointId, { enabled: false }, ACTOR);
    await d.publishMany(1);
    await d.start({ store });
    await at.next();
    assert.equal(raced, 1);
    assert.deepEqual(await d.rows("SELECT 1 FROM audit WHERE action LIKE 'webhook.%' AND actor = 'service'"), []);
  });

  it('because its endpoint was disabled stops immediately, even with nothing to send', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect();
    const other = await d.connect();
    const dispatcher = await d.start({ pollMs: 60_000 });
    await d.publishMany(1);
    dispatcher.wake();
    await Promise.all([at.next(), other.at.next()]);
    await until('both rest', () => isDrained(d));
    await d.endpoints.patch(webhook.endpointId, { enabled: false }, ACTOR);
    d.advance(1);
    dispatcher.wake();
    await until('stopped', async () => (await d.webhooks.get(webhook.id)).progress.state === 'stopped');
    assert.equal((await d.webhooks.get(webhook.id)).progress.stateReason, 'endpoint_disabled');
    assert.equal((await d.webhooks.get(other.webhook.id)).progress.state, 'running', 'that of another endpoint');
    // A stopped webhook stays as it is.
    await d.endpoints.patch(webhook.endpointId, { name: 'still off' }, ACTOR);
    assert.deepEqual(await d.rows('SELECT 1 FROM webhook_change'), []);
  });

  it('stays stopped if it was stopped during the claim: nothing is sent, and no error is logged', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook, number } = await d.connect();
    const other = await d.connect();
    await d.publishMany(1);
    const { dispatch } = d.store;
    let claims = 0;
    const waiting: typeof dispatch.waiting = async (webhookNumber, ...asked) => {
      const found = await dispatch.waiting(webhookNumber, ...asked);
      if (webhookNumber !== number) return found;
      claims += 1;
      await d.webhooks.stop(webhook.id, ACTOR);
      return found;
    };
    const dispatcher = await d.start({ store: { ...d.store, dispatch: { ...dispatch, waiting } } });
    await other.at.next();
    await until('it is settled', async () => (await attempts(d.rows, other.number, 'delivery')) === 1);
    await dispatcher.stop();
    assert.equal(claims, 1);
    assert.equal(at.deliveries.length, 0);
    const { state, nextOffset } = (await d.webhooks.get(webhook.id)).progress;
    assert.deepEqual([state, nextOffset], ['stopped', 1]);
    const waits = `SELECT waiting_records + pending_records AS n FROM webhook_status WHERE webhook_number = ${number}`;
    assert.deepEqual(await d.rows(waits), [{ n: 1 }]);
    assert.deepEqual(
      d.log.lines().filter(({ level }) => Number(level) >= 50),
      [],
    );
  });

  it('because its key has expired stops even between a claim and its attempt: nothing is sent', async (t) => {
    const d = await openDispatching(t);
    const { name } = await makeKey(d, 'curve25519');
    const { at, webhook } = await d.connect({ webhook: { encryptionKeyName: name, maxBatchRecords: 1 } });
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    await d.publishMany(20);
    const { dispatch } = d.store;
    const waiting: typeof dispatch.waiting = async (...asked) => {
      const found = await dispatch.waiting(...asked);
      await execute(d, `UPDATE pgp_key SET expires_at = ${d.clock()}, updated_at = updated_at + 1`);
      return found;
    };
    await d.start({ store: { ...d.store, dispatch: { ...dispatch, waiting } } });
    await until('stopped', async () => (await d.webhooks.get(webhook.id)).progress.state === 'stopped');
    assert.equal((await d.webhooks.get(webhook.id)).progress.stateReason, 'encryption_key_expired');
    const given = "SELECT 1 FROM batch WHERE state = 'pending' AND attempt_count = 0";
    await until('all is given back', async () => (await d.rows(given)).length === 20);
    assert.equal(d.receiver.requests.length, 0);
    assert.equal(at.deliveries.length, 0);
  });
});

describe('a failing webhook', () => {
  it('is failing since its first failure, also after it was stopped and started, and is given up 24 hours after it', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: { retry: { policy: 'linear', maxAttempts: 100 } } });
    at.answer(() => ({ status: 503 }));
    const state = async () => (await d.webhooks.get(webhook.id)).progress;
    const failsAgain = async (times: number): Promise<void> => {
      await until('a failure', async () => (await state()).failureStreak === times);
    };
    await d.publishMany(1);
    await d.start();
    await failsAgain(1);
    const { failingSinceAt } = await state();
    assert.equal(failingSinceAt, d.clock());
    for (let round = 1; round <= 2; round += 1) {
      // Stopped before its record is due: an attempt just before the stop would leave none for the start.
      await d.webhooks.stop(webhook.id, ACTOR);
      d.advance(11 * HOUR_MS);
      assert.equal((await state()).failingSinceAt, failingSinceAt);
      await d.webhooks.start(webhook.id, ACTOR);
      await failsAgain(1);
      assert.deepEqual([(await state()).state, (await state()).failingSinceAt], ['failing', failingSinceAt]);
    }
    d.advance(2 * HOUR_MS);
    await until('the end', async () => (await state()).state === 'failed');
    assert.equal((await state()).stateReason, 'failing_too_long');
    // The service gave it up: a start begins another 24 hours.
    await d.webhooks.start(webhook.id, ACTOR);
    await failsAgain(1);
    assert.equal((await state()).failingSinceAt, d.clock());
  });
});

describe('a session', () => {
  it('is renewed 24 hours after it began, with or without records to send, and at every start', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect();
    const dispatcher = await d.start();
    const sent = async (): Promise<string> => {
      await d.publishMany(1);
      dispatcher.wake();
      return (await at.next()).envelope.sessionId;
    };
    const current = async () => (await d.webhooks.get(webhook.id)).progress.sessionId;
    const first = webhook.progress.sessionId;
    assert.equal(await sent(), first);
    d.advance(24 * 3_600_000 - 1);
    assert.equal(await sent(), first);
    d.advance(1);
    dispatcher.wake();
    await until('another session', async () => (await current()) !== first);
    const second = await current();
    assert.equal(await sent(), second);
    d.advance(24 * 3_600_000);
    const third = await sent();
    assert.notEqual(third, second);
    assert.equal(third, await current());

    await d.webhooks.stop(webhook.id, ACTOR);
    assert.equal(await current(), null);
    await d.webhooks.start(webhook.id, ACTOR);
    const fourth = await sent();
    assert.equal(new Set([first, second, third, fourth]).size, 4);
  });
});

describe('a heartbeat', () => {
  it('is not sent while a request is in progress, or before its interval has passed without requests', async (t) => {
    const d = await openDispatching(t);
    const { at, number } = await d.connect({ webhook: { heartbeatSeconds: 60 } });
    // So that it has places for more than one request.
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    const open = deferred();
    at.answer(async ({ records }) => {
      if (records.length > 0) await open.promise;
      return { status: 200 };
    });
    await d.publishMany(1);
    let looks = 0;
    const { dispatch } = d.store;
    const changed: typeof dispatch.changed = async () => {
      looks += 1;
      return dispatch.changed();
    };
    const dispatcher = await d.start({ store: { ...d.store, dispatch: { ...dispatch, changed } } });
    await at.next();
    for (let minutes = 0; minutes < 5; minutes += 1) {
      const before = looks;
      d.advance(60_000);
      dispatcher.wake();
      await until('two looks', () => looks > before + 1);
    }
    assert.equal(d.receiver.requests.length, 1);
    open.resolve();
    await until('the outcome', async () => (await attempts(d.rows, number, 'delivery')) === 1);
    // The silence began with the attempt, five minutes ago.
    assert.deepEqual((await at.next()).records, []);
    await until('the heartbeat', async () => (await attempts(d.rows, number, 'heartbeat')) === 1);
    d.advance(59_999);
    dispatcher.wake();
    await d.publishMany(1);
    assert.equal((await at.next()).records.length, 1);
    await until('the outcome', async () => (await attempts(d.rows, number, 'delivery')) === 2);
    d.advance(59_999);
    dispatcher.wake();
    d.advance(1);
    dispatcher.wake();
    assert.deepEqual((await at.next()).records, []);
    assert.equal(at.deliveries.length, 4);
  });
});

describe('a webhook whose settings cannot be read', () => {
  onSqlite('delays no other webhook, is logged, and continues once they can be read', async (t) => {
    const d = await openDispatching(t);
    const broken = await d.connect();
    const well = await d.connect({ webhook: { maxBatchRecords: 1 } });
    const [{ secret } = {}] = await d.rows(`SELECT secret FROM endpoint WHERE id = '${broken.webhook.endpointId}'`);
    const setSecret = d.sqlite.connection.prepare('UPDATE endpoint SET secret = ? WHERE id = ?');
    setSecret.run(Buffer.from('altered'), broken.webhook.endpointId);
    await d.publishMany(20);
    const dispatcher = await d.start();
    await takeRecords(well.at, 20);
    const line = await d.log.line(({ msg }) => msg === 'no work could be claimed for a webhook');
    assert.equal(line.webhookNumber, broken.number);
    assert.match(JSON.stringify(line.err), /endpoint\.secret:.* is not a sealed value/);
    assert.equal(broken.at.deliveries.length, 0);
    setSecret.run(secret, broken.webhook.endpointId);
    d.advance(UNCLAIMABLE_PAUSE_MS);
    dispatcher.wake();
    await takeRecords(broken.at, 20);
    await until('the end', () => isDrained(d));
  });
});
