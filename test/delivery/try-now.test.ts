/** Sending a pending delivery now, while the clock stands still: without it, no retry would ever be due. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { offsets, openDispatching, until, watchDeliveries } from '../support/dispatching.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR } from '../support/services.ts';
import { leavingNothing } from '../support/store.ts';

repeats('postgres');

describe('replaying a pending delivery', () => {
  it('sends it now, also to an endpoint that fails, and is audited', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: { maxBatchRecords: 1 } });
    at.answer(() => ({ status: 503 }));
    await d.publishMany(3);
    const dispatcher = await d.start();
    for (let n = 0; n < 3; n += 1) await at.next();
    const list = async () => (await d.deliveries.list({ webhookId: webhook.id }, null, 10)).items;
    await until('the retries of all three', async () =>
      (await list()).every(({ nextAttemptAt }) => (nextAttemptAt ?? 0) > d.clock()),
    );
    const tried = (await list()).find(({ offset }) => offset === 0);
    assert.ok(tried !== undefined);
    const made = await d.deliveries.replay(tried.id, ACTOR);
    assert.deepEqual([made.state, made.attemptCount >= 1], ['pending', true]);
    dispatcher.wake();
    await at.next();
    assert.deepEqual(offsets(at).slice(3), [0]);
    const [entry] = await d.store.audit.list(null, 1, { exactAction: 'delivery.replay' });
    const from = new Date(tried.nextAttemptAt ?? 0).toISOString();
    const to = new Date(d.clock()).toISOString();
    assert.deepEqual([entry?.target, entry?.changes], [`delivery:${tried.id}`, { nextAttemptAt: { from, to } }]);
  });

  it('keeps the order: what an ordered webhook sends before it goes first', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: { maxBatchRecords: 1, ordered: true } });
    at.answer(() => ({ status: 503 }));
    await d.publishMany(3);
    const watched = watchDeliveries(d);
    const dispatcher = await d.start(watched.options);
    await at.next();
    await watched.everythingIsSent();
    at.answer(() => ({ status: 200 }));
    const [last] = (await d.deliveries.list({ webhookId: webhook.id }, null, 10)).items;
    assert.equal(last?.offset, 2);
    await d.deliveries.replay(last?.id ?? '', ACTOR);
    dispatcher.wake();
    for (let n = 0; n < 3; n += 1) await at.next();
    assert.deepEqual(offsets(at), [0, 0, 1, 2]);
  });

  it('is refused while its webhook is stopped, and changes nothing', async (t) => {
    const d = await openDispatching(t);
    const { webhook } = await d.connect();
    await d.publishMany(1);
    await d.webhooks.stop(webhook.id, ACTOR);
    const [waiting] = (await d.deliveries.list({ webhookId: webhook.id }, null, 10)).items;
    await leavingNothing(d, () =>
      refused(() => d.deliveries.replay(waiting?.id ?? '', ACTOR), {
        code: 'invalid_state',
        says: 'its webhook is stopped: start the webhook to send it',
      }),
    );
  });
});
