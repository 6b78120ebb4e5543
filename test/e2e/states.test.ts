import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AuditEntry } from '../../src/domain/audit.ts';
import { type ApiClient, type Page, succeeded } from '../support/client.ts';
import {
  connect,
  deliveriesOf,
  type Journey,
  makeEventType,
  only,
  publish,
  readWebhook,
  startJourney,
  startWebhook,
  stopWebhook,
} from '../support/journey.ts';
import type { ReceivingEndpoint } from '../support/receiver.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

const TYPE = 'order.placed';
const HOUR_MS = 3_600_000;

type StatusEvent = { readonly webhookId: string; readonly state: string; readonly previousState: string };

/** A webhook that subscribes to every change of state. Ordered, so that the changes arrive in order. */
async function watch(journey: Journey): Promise<{ at: ReceivingEndpoint; next(of: string): Promise<StatusEvent> }> {
  const { at } = await connect(journey, ['webhook.*'], { webhook: { ordered: true, maxBatchRecords: 1 } });
  const next = async (of: string): Promise<StatusEvent> => {
    for (;;) {
      const { data, eventType } = only((await at.next()).records);
      const event = data as StatusEvent;
      assert.equal(eventType, `webhook.${event.state}`);
      // It also gets its own changes.
      if (event.webhookId === of) return event;
    }
  };
  return { at, next };
}

/** Checks that the audit log has the service's own stop once, with its reason. */
async function assertAudited(admin: ApiClient, { id }: { readonly id: string }, reason: string): Promise<void> {
  const { items } = await succeeded<Page<Pick<AuditEntry, 'actor' | 'action' | 'target' | 'changes'>>>(
    admin.get('audit'),
  );
  const { action, changes } = only(
    items.filter(({ actor, target }) => actor === 'service' && target === `webhook:${id}`),
  );
  assert.deepEqual([action, changes.stateReason?.to], ['webhook.stop', reason]);
}

describe('the states of a webhook', () => {
  it('go from started to running, failing, running and stopped, each with an event', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    const watcher = await watch(journey);
    const { at, webhook } = await connect(journey, [TYPE]);
    assert.equal(webhook.state, 'started');
    const told: StatusEvent[] = [await watcher.next(webhook.id)];

    await publish(admin, TYPE, { n: 1 });
    await at.next();
    told.push(await watcher.next(webhook.id));
    assert.equal((await readWebhook(admin, webhook)).state, 'running');

    at.answer(() => ({ status: 500 }));
    await publish(admin, TYPE, { n: 2 });
    await at.next();
    told.push(await watcher.next(webhook.id));
    const failing = await readWebhook(admin, webhook);
    assert.deepEqual([failing.state, failing.stateReason], ['failing', 'http_status: the receiver answered 500']);
    assert.ok(failing.stateDescription);

    at.answer(() => ({ status: 204 }));
    service.advance(5000);
    await at.next();
    told.push(await watcher.next(webhook.id));

    const stopped = await stopWebhook(admin, webhook);
    told.push(await watcher.next(webhook.id));
    assert.deepEqual([stopped.state, stopped.stateReason], ['stopped', 'stopped_by_administrator']);
    assert.equal(stopped.sessionId, null);
    assert.deepEqual(
      told.map(({ previousState, state }) => `${previousState} → ${state}`),
      ['stopped → started', 'started → running', 'running → failing', 'failing → running', 'running → stopped'],
    );
    const again = await startWebhook(admin, webhook);
    assert.notEqual(again.sessionId, webhook.sessionId);
  });

  it('end in failed after 24 hours of failing; records are kept, and the webhook can be started again', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    const { service } = journey;
    await makeEventType(journey.admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE]);
    at.answer(() => ({ status: 500 }));
    await publish(journey.admin, TYPE, { n: 1 });
    await service.log.nextAttempt(webhook.id);
    await at.next();
    service.advance(25 * HOUR_MS);
    await at.next();
    await service.log.nextAttempt(webhook.id);
    const admin = await service.signIn();
    const failed = await readWebhook(admin, webhook);
    assert.deepEqual([failed.state, failed.stateReason], ['failed', 'failing_too_long']);
    await assertAudited(admin, webhook, 'failing_too_long');
    assert.equal(only(await deliveriesOf(admin, webhook)).state, 'pending');

    at.answer(() => ({ status: 204 }));
    await startWebhook(admin, webhook);
    assert.deepEqual(only((await at.next()).records).data, { n: 1 });
    await service.log.nextAttempt(webhook.id);
    assert.equal((await readWebhook(admin, webhook)).state, 'running');
  });

  it('end in failed after ten dead batches in a row; the eleventh is not sent', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    const watcher = await watch(journey);
    const { at, webhook } = await connect(journey, [TYPE], {
      webhook: { ordered: true, maxBatchRecords: 1, retry: { maxAttempts: 1 } },
    });
    at.answer(() => ({ status: 500 }));
    await publish(admin, TYPE, ...Array.from({ length: 11 }, (_, n) => ({ n })));
    for (let dead = 1; dead <= 10; dead += 1) {
      assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'dead');
      // Past the pause before the next attempt at a failing endpoint.
      service.advance(300_000);
    }
    const renewed = await service.signIn();
    const failed = await readWebhook(renewed, webhook);
    assert.deepEqual([failed.state, failed.stateReason], ['failed', 'too_many_dead']);
    await assertAudited(renewed, webhook, 'too_many_dead');
    const states = (await deliveriesOf(renewed, webhook)).map(({ state }) => state);
    assert.deepEqual(states, [...Array.from({ length: 10 }, () => 'dead'), 'pending']);
    assert.equal(at.deliveries.length, 10);
    for (;;) if ((await watcher.next(webhook.id)).state === 'failed') break;
  });

  it('410 stops the webhook with endpoint_gone, and its records stay pending', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    await makeEventType(admin, 'other.type');
    const { at, webhook } = await connect(journey, [TYPE]);
    const other = await connect(journey, ['other.type'], { webhook: { heartbeatSeconds: 60 } });
    at.answer(() => ({ status: 410 }));
    await publish(admin, TYPE, { n: 1 });
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'release');
    const stopped = await readWebhook(admin, webhook);
    assert.deepEqual([stopped.state, stopped.stateReason], ['stopped', 'endpoint_gone']);
    await assertAudited(admin, webhook, 'endpoint_gone');
    assert.equal(only(await deliveriesOf(admin, webhook)).state, 'pending');
    await publish(admin, TYPE, { n: 2 });
    // The dispatcher checked another webhook after the clock had moved, so it would have sent these records as well.
    for (let looks = 0; looks < 3; looks += 1) {
      service.advance(HOUR_MS / 6);
      await other.at.next();
      await service.log.nextAttempt(other.webhook.id);
    }
    assert.equal(at.deliveries.length, 1);
    await at.next();

    at.answer(() => ({ status: 204 }));
    await startWebhook(admin, webhook);
    assert.deepEqual(only((await at.next()).records).data, { n: 1 });
    assert.deepEqual(only((await at.next()).records).data, { n: 2 });
    await service.log.nextAttempt(webhook.id);
    await service.log.nextAttempt(webhook.id);
    assert.equal(at.deliveries.length, 3);
  });
});
