import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WebhookState } from '../../src/domain/webhook.ts';
import { viewWebhook } from '../../src/webhooks/webhook-schema.ts';
import { takeChanges } from '../support/batches.ts';
import { logs } from '../support/events.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import {
  ACTOR,
  actingAs,
  makeEventType,
  makeWebhook,
  openTestServices,
  type TestServices,
} from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';

repeatsInSlowTier('postgres');

/** Types and data of the events that a webhook got. */
async function received({ rows }: TestServices, number: number): Promise<unknown[]> {
  const sql = `SELECT e.type, e.data FROM outbox AS o JOIN event AS e ON e.key = o.event_key
    WHERE webhook_number = ${number} ORDER BY record_offset`;
  return (await rows(sql)).map(({ type, data }) => [type, JSON.parse(String(data))]);
}
const numberOf = async ({ webhooks }: TestServices, id: string): Promise<number> =>
  (await webhooks.get(id)).progress.webhookNumber;
const put = async ({ database }: TestServices, id: string, state: WebhookState): Promise<void> => {
  const sql =
    'UPDATE webhook_progress SET state = @state WHERE webhook_number = (SELECT number FROM webhook WHERE id = @id)';
  await database.commit([{ sql, params: { id, state } }]);
};

describe('starting a webhook', () => {
  it('begins a session, tells the dispatcher, emits an event, writes an audit entry, and returns the stored webhook', async (t) => {
    const s = await openTestServices(t);
    const { id, name, endpointId } = await makeWebhook(s, ['webhook.failed']);
    const watcher = await makeWebhook(s, ['webhook.*']);
    await s.database.commit([{ sql: 'UPDATE webhook_position SET sent_at = 5', params: {} }]);
    s.advance(1000);
    const started = await s.webhooks.start(id, ACTOR);
    const { state, stateReason, stateAt, sessionAt, sentAt } = started.progress;
    const at = NOW + 1000;
    assert.deepEqual(
      { state, stateReason, stateAt, sessionAt, sentAt },
      { state: 'started', stateReason: null, stateAt: at, sessionAt: at, sentAt: null },
    );
    assert.match(started.progress.sessionId ?? '', /^[0-9a-f-]{36}$/);
    assert.deepEqual(await s.webhooks.get(id), started);
    assert.deepEqual(await takeChanges(s), [started.progress.webhookNumber]);
    assert.equal(s.wakes(), 1);
    assert.deepEqual(await received(s, await numberOf(s, watcher.id)), [
      [
        'webhook.started',
        {
          webhookId: id,
          webhookName: name,
          endpointId,
          state: 'started',
          previousState: 'stopped',
          reason: null,
          at: '2026-11-21T05:00:01.000Z',
        },
      ],
    ]);
    const [entry] = await s.store.audit.list(null, 1);
    assert.deepEqual(
      [entry?.actor, entry?.action, entry?.changes],
      [ACTOR.actor, 'webhook.start', { state: { from: 'stopped', to: 'started' } }],
    );
  });

  it('changes nothing if it is started already', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeWebhook(s, ['webhook.failed']);
    for (const state of ['started', 'running', 'failing'] as const) {
      await put(s, id, state);
      assert.equal((await leavingNothing(s, () => s.webhooks.start(id, ACTOR))).progress.state, state);
    }
    assert.equal(s.wakes(), 0);
  });

  it('restarts a failed webhook', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeWebhook(s, ['webhook.failed']);
    await put(s, id, 'failed');
    assert.equal((await s.webhooks.start(id, ACTOR)).progress.state, 'started');
  });

  it('happens once for concurrent requests', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeWebhook(s, ['webhook.failed']);
    const watcher = await makeWebhook(s, ['webhook.started']);
    const started = await Promise.all(Array.from({ length: 10 }, () => s.webhooks.start(id, ACTOR)));
    assert.equal(new Set(started.map(({ progress }) => progress.sessionId)).size, 1);
    assert.equal((await received(s, await numberOf(s, watcher.id))).length, 1);
  });

  it('is refused while its endpoint is disabled or unverified, or its key has expired, and says which', async (t) => {
    const s = await openTestServices(t);
    const { id, endpointId } = await makeWebhook(s, ['employee.*'], { key: true });
    const refusal = (says: string) =>
      leavingNothing(s, () => refused(() => s.webhooks.start(id, ACTOR), { code: 'invalid_state', says }));
    await s.endpoints.patch(endpointId, { enabled: false }, ACTOR);
    const wakesBefore = s.wakes();
    await refusal(`its endpoint is not enabled; enable it first: PATCH /endpoints/${endpointId}`);
    await s.database.commit([{ sql: 'UPDATE endpoint SET token_challenge = true', params: {} }]);
    await refusal(`its endpoint is not verified; verify it first: POST /endpoints/${endpointId}/verify`);
    await s.database.commit([
      { sql: 'UPDATE endpoint SET token_challenge = false, enabled = true', params: {} },
      { sql: 'UPDATE pgp_key SET expires_at = 5', params: {} },
    ]);
    await refusal('has expired');
    assert.equal(s.wakes(), wakesBefore);
    await s.database.commit([{ sql: 'UPDATE pgp_key SET expires_at = NULL', params: {} }]);
    assert.equal((await s.webhooks.start(id, ACTOR)).progress.state, 'started');
  });
});

describe('stopping a webhook', () => {
  for (const state of ['started', 'running', 'failing', 'failed'] as const) {
    it(`ends the session of one that is ${state}, and emits an event`, async (t) => {
      const s = await openTestServices(t);
      const { id } = await makeWebhook(s, ['webhook.failed']);
      const watcher = await makeWebhook(s, ['webhook.stopped']);
      await s.webhooks.start(id, ACTOR);
      await put(s, id, state);
      const stopped = await s.webhooks.stop(id, ACTOR);
      assert.deepEqual(await s.webhooks.get(id), stopped);
      const { stateReason, stateDescription, sessionId } = viewWebhook(stopped);
      assert.deepEqual(
        [stopped.progress.state, stateReason, stateDescription, sessionId],
        ['stopped', 'stopped_by_administrator', 'An administrator stopped it.', null],
      );
      const [event] = (await received(s, await numberOf(s, watcher.id))) as [string, { previousState: string }][];
      assert.deepEqual([event?.[0], event?.[1].previousState], ['webhook.stopped', state]);
    });
  }

  it('changes nothing if it is stopped', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeWebhook(s, ['webhook.failed']);
    await leavingNothing(s, () => s.webhooks.stop(id, ACTOR));
  });

  it('keeps new records pending, in order', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, 'order.placed');
    const { id } = await makeWebhook(s, ['order.*']);
    await s.webhooks.start(id, ACTOR);
    await s.webhooks.stop(id, ACTOR);
    await s.publish({ events: [1, 2, 3].map((n) => ({ type: 'order.placed', data: { n } })) }, actingAs('me'));
    assert.deepEqual(
      [...(await logs(s)).values()].map((log) => log.map(([offset]) => offset)),
      [[0, 1, 2]],
    );
    assert.deepEqual(
      (await s.deliveries.list({ webhookId: id }, null, 10)).items.map(({ state }) => state),
      ['pending', 'pending', 'pending'],
    );
    const { nextOffset, cursorOffset } = (await s.webhooks.get(id)).progress;
    assert.deepEqual([nextOffset, cursorOffset], [3, 0]);
  });
});

describe('a failing webhook', () => {
  it('shows the error of the last attempt, with advice', async (t) => {
    const s = await openTestServices(t);
    const webhook = await makeWebhook(s, ['webhook.failed']);
    const progress = {
      ...webhook.progress,
      state: 'failing' as const,
      stateReason: 'oauth_token',
      stateDetail: 'the token endpoint answered 401',
    };
    const { stateReason, stateDescription } = viewWebhook({ ...webhook, progress });
    assert.equal(stateReason, 'oauth_token: the token endpoint answered 401');
    assert.match(stateDescription ?? '', /token/);
  });
});
