import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Progress } from '../../src/domain/webhook.ts';
import { GIVE_UP_QUIET_MS } from '../../src/housekeeping/give-up.ts';
import { claimNext, publishMany, run, settleBatch } from '../support/batches.ts';
import { subscribe } from '../support/events.ts';
import { count, DAY_MS, housekeepingFor } from '../support/housekeeping.ts';
import { connect, importKey, makeEventType, publish, readWebhook, startJourney } from '../support/journey.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { openBeside } from '../support/service.ts';
import { execute, leavingNothing, openTestStore, type TestStore } from '../support/store.ts';
import { pgpVector } from '../support/vectors.ts';

repeatsInSlowTier('postgres');

/** A webhook whose only attempt just failed, and the progress that the dispatcher would read next. */
async function failing(s: TestStore, wakeAt: number): Promise<Progress> {
  const number = await subscribe(s, ['order.placed'], { heartbeatSeconds: 0 });
  await run(s, number);
  await publishMany(s, 'order.placed', 3);
  await settleBatch(s, await claimNext(s, number, 1), { kind: 'dead', at: s.clock() });
  await execute(
    s,
    `UPDATE webhook_progress SET state = 'failing', state_reason = 'connect', failing_since_at = ${s.clock()}, wake_at = ${wakeAt}
     WHERE webhook_number = ${number}`,
  );
  return progressOf(s, number);
}

async function progressOf(s: TestStore, number: number): Promise<Progress> {
  const found = (await s.store.webhooks.list('', 10)).find(({ progress }) => progress.webhookNumber === number);
  return found?.progress ?? assert.fail();
}

describe('a failing webhook without planned attempts', () => {
  it('is given up after 24 hours, with an event and an audit entry, and keeps its records', async (t) => {
    const s = await openTestStore(t);
    const watcher = await subscribe(s, ['webhook.failed']);
    const { webhookNumber } = await failing(s, s.clock() + DAY_MS + GIVE_UP_QUIET_MS + 1);
    const house = housekeepingFor(s);
    s.advance(DAY_MS - 1);
    await leavingNothing(s, () => house.runOnce());
    s.advance(1);
    await house.runOnce();
    const { state, stateReason, wakeAt } = await progressOf(s, webhookNumber);
    assert.deepEqual([state, stateReason, wakeAt], ['failed', 'failing_too_long', null]);
    assert.equal(await count(s, 'outbox', `webhook_number = ${watcher}`), 1);
    const [entry] = await s.store.audit.list(null, 1);
    assert.deepEqual([entry?.actor, entry?.action], ['service', 'webhook.stop']);
    assert.equal(await count(s, 'outbox', `webhook_number = ${webhookNumber}`), 3);
    assert.equal(house.wakes(), 1);
    await leavingNothing(s, () => house.runOnce());
  });

  it('is not given up if an attempt is running, due or planned', async (t) => {
    for (const soon of [-1, 0, GIVE_UP_QUIET_MS]) {
      const s = await openTestStore(t);
      await failing(s, s.clock() + DAY_MS + soon);
      s.advance(DAY_MS);
      await leavingNothing(s, () => housekeepingFor(s).runOnce());
    }
  });
});

describe('in the whole service', () => {
  it('a webhook without heartbeats whose last batch is dead is given up after 24 hours', async (t) => {
    const { service, admin, receiver } = await startJourney(t);
    await makeEventType(admin, 'order.placed');
    const { at, webhook } = await connect({ admin, receiver }, ['order.placed'], {
      webhook: { retry: { maxAttempts: 1 } },
    });
    at.answer(() => ({ status: 500 }));
    await publish(admin, 'order.placed', { n: 1 });
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'dead');
    service.advance(DAY_MS + 1000);
    await service.log.line(({ msg, webhookId }) => msg === 'webhook failed' && webhookId === webhook.id);
    const { state, stateReason } = await readWebhook(await service.signIn(), webhook);
    assert.deepEqual([state, stateReason], ['failed', 'failing_too_long']);
    assert.equal(at.deliveries.length, 1);
  });

  it('a running webhook with nothing to send stops at the renewal of its session once its key has expired', async (t) => {
    const { service, admin, receiver } = await startJourney(t);
    await makeEventType(admin, 'order.placed');
    const { name } = await importKey(admin, 'payroll', pgpVector('curve25519'));
    const { at, webhook } = await connect({ admin, receiver }, ['order.placed'], {
      webhook: { encryptionKeyName: name },
    });
    const beside = await openBeside(t, service);
    const expiresAt = service.clock() + DAY_MS / 2;
    await beside.commit([
      { sql: 'UPDATE pgp_key SET expires_at = @expiresAt, updated_at = updated_at + 1', params: { expiresAt } },
      { sql: "UPDATE webhook_progress SET state = 'running'", params: {} },
    ]);
    service.advance(DAY_MS + 1000);
    await service.log.line(({ msg, webhookId }) => msg === 'webhook stopped' && webhookId === webhook.id);
    const { state, stateReason } = await readWebhook(await service.signIn(), webhook);
    assert.deepEqual([state, stateReason], ['stopped', 'encryption_key_expired']);
    assert.deepEqual(at.deliveries, []);
  });
});
