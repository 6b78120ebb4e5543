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

/** The reason why a failing webhook does not send now, if any. */
type Waiting = {
  readonly ordered?: boolean;
  readonly heartbeatSeconds?: number;
  /** Records that are in no batch. */
  readonly waiting?: number;
  /** When the last batch is due again; null: it is dead. */
  readonly dueAt?: number | null;
  readonly probeAt?: number | null;
};

/** A webhook whose only attempt just failed. */
async function failing(
  s: TestStore,
  { waiting = 0, dueAt = null, probeAt = null, ...settings }: Waiting,
): Promise<number> {
  const number = await subscribe(s, ['order.placed'], { heartbeatSeconds: 0, ...settings });
  await run(s, number);
  await publishMany(s, 'order.placed', 1 + waiting);
  const batch = await claimNext(s, number, 1);
  await settleBatch(
    s,
    batch,
    dueAt === null ? { kind: 'dead', at: s.clock() } : { kind: 'retry', at: dueAt, contentRefusals: 0 },
  );
  await execute(
    s,
    `UPDATE webhook_progress
     SET state = 'failing', state_reason = 'connect', failing_since_at = ${s.clock()}, probe_at = ${probeAt ?? 'NULL'}
     WHERE webhook_number = ${number}`,
    `UPDATE webhook_position SET sent_at = ${s.clock()} WHERE webhook_number = ${number}`,
  );
  return number;
}

async function progressOf(s: TestStore, number: number): Promise<Progress> {
  const found = (await s.store.webhooks.list('', 10)).find(({ progress }) => progress.webhookNumber === number);
  return found?.progress ?? assert.fail();
}

describe('a failing webhook without planned attempts', () => {
  it('is given up after 24 hours, with an event and an audit entry, and keeps its records', async (t) => {
    const s = await openTestStore(t);
    const watcher = await subscribe(s, ['webhook.failed']);
    const webhookNumber = await failing(s, { waiting: 2, probeAt: s.clock() + DAY_MS + GIVE_UP_QUIET_MS + 1 });
    const house = housekeepingFor(s);
    s.advance(DAY_MS - 1);
    await leavingNothing(s, () => house.runOnce());
    s.advance(1);
    await house.runOnce();
    const { state, stateReason } = await progressOf(s, webhookNumber);
    assert.deepEqual([state, stateReason], ['failed', 'failing_too_long']);
    assert.equal(await count(s, 'outbox', `webhook_number = ${watcher}`), 1);
    const [entry] = await s.store.audit.list(null, 1);
    assert.deepEqual([entry?.actor, entry?.action], ['service', 'webhook.stop']);
    assert.equal(await count(s, 'outbox', `webhook_number = ${webhookNumber}`), 3);
    assert.equal(house.wakes(), 1);
    await leavingNothing(s, () => house.runOnce());
  });

  it('is not given up if an attempt is running, due or planned', async (t) => {
    const soon = GIVE_UP_QUIET_MS;
    const later = soon + 1;
    const cases: readonly (readonly [isGivenUp: boolean, waiting: (at: number) => Waiting])[] = [
      [true, () => ({})],
      [false, () => ({ waiting: 1 })],
      [true, (at) => ({ waiting: 1, probeAt: at + later })],
      [false, (at) => ({ waiting: 1, probeAt: at + soon })],
      [true, (at) => ({ dueAt: at + later })],
      [false, (at) => ({ dueAt: at + soon })],
      [false, (at) => ({ dueAt: at - 1 })],
      [true, (at) => ({ dueAt: at - 1, probeAt: at + later })],
      // Records behind the first pending batch of an ordered webhook wait for that batch.
      [true, (at) => ({ ordered: true, waiting: 1, dueAt: at + later })],
      [false, (at) => ({ ordered: true, waiting: 1, dueAt: at + soon })],
      [false, (at) => ({ waiting: 1, dueAt: at + later })],
      [true, () => ({ heartbeatSeconds: (DAY_MS + later + 999) / 1000 })],
      [false, () => ({ heartbeatSeconds: 3600 })],
    ];
    for (const [isGivenUp, waiting] of cases) {
      const s = await openTestStore(t);
      const given = waiting(s.clock() + DAY_MS);
      const number = await failing(s, given);
      s.advance(DAY_MS);
      await housekeepingFor(s).runOnce();
      const { state } = await progressOf(s, number);
      assert.equal(state, isGivenUp ? 'failed' : 'failing', JSON.stringify(given));
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
