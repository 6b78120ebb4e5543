/**
 * A webhook that is stopped while a request is under way, and whose endpoint answers before the dispatcher's next poll. The dispatcher
 * polls once a minute here, so that a slow machine cannot turn these cases into that of a request that the poll ends.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Dispatcher } from '../../src/delivery/dispatcher.ts';
import { deferred } from '../support/deferred.ts';
import {
  type Connected,
  type Dispatching,
  isDrained,
  offsets,
  openDispatching,
  until,
} from '../support/dispatching.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR } from '../support/services.ts';

repeatsInSlowTier('postgres');

type Held = Connected & {
  readonly d: Dispatching;
  readonly dispatcher: Dispatcher;
  /** Makes the endpoint answer. */
  release(): void;
  /** The states of the webhook's records in order. */
  states(): Promise<unknown[]>;
};

/** A delivery that has arrived but is not answered yet. */
async function holdOne(t: TestContext, status = 204): Promise<Held> {
  const d = await openDispatching(t);
  const connected = await d.connect({ webhook: { ordered: true, maxBatchRecords: 1, timeoutSeconds: 60 } });
  const released = deferred();
  connected.at.answer(async () => {
    await released.promise;
    return { status };
  });
  await d.publishMany(1);
  const dispatcher = await d.start({ pollMs: 60_000 });
  await connected.at.next();
  const sql = `SELECT state FROM batch WHERE webhook_number = ${connected.number} ORDER BY first_offset`;
  const states = async (): Promise<unknown[]> => (await d.rows(sql)).map(({ state }) => state);
  return { ...connected, d, dispatcher, release: () => released.resolve(), states };
}

describe('while a delivery is in flight', () => {
  it('its webhook can be stopped: the outcome is written, and the state stays stopped', async (t) => {
    const { d, webhook, release, states } = await holdOne(t);
    await d.webhooks.stop(webhook.id, ACTOR);
    release();
    assert.equal((await d.log.nextAttempt(webhook.id)).fate, 'delivered');
    assert.deepEqual(await states(), ['delivered']);
    const { state, stateReason } = (await d.webhooks.get(webhook.id)).progress;
    assert.deepEqual([state, stateReason], ['stopped', 'stopped_by_administrator']);
  });

  it('a webhook that is stopped and started again sends it once, and in order', async (t) => {
    const { d, at, webhook, dispatcher, release } = await holdOne(t);
    await d.publishMany(1);
    await d.webhooks.stop(webhook.id, ACTOR);
    await d.webhooks.start(webhook.id, ACTOR);
    dispatcher.wake();
    release();
    await at.next();
    await until('the end', () => isDrained(d));
    assert.deepEqual(offsets(at), [0, 1]);
    assert.equal((await d.webhooks.get(webhook.id)).progress.state, 'running');
  });

  it('a request that begins after a start is not ended by a look that saw the webhook stopped', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: { ordered: true, maxBatchRecords: 1, timeoutSeconds: 60 } });
    const answers = [deferred(), deferred()];
    at.answer(async ({ records }) => {
      await answers[records[0]?.offset ?? 0]?.promise;
      return { status: 204 };
    });
    await d.publishMany(2);
    const { dispatch } = d.store;
    let isStopped = false;
    const seen = deferred();
    const stoppedAmong: typeof dispatch.stoppedAmong = async (webhookNumbers) => {
      const found = await dispatch.stoppedAmong(webhookNumbers);
      if (found.length === 0 || isStopped) return found;
      isStopped = true;
      await d.webhooks.start(webhook.id, ACTOR);
      answers[0]?.resolve();
      await until('the second', () => offsets(at).includes(1));
      seen.resolve();
      return found;
    };
    await d.start({ store: { ...d.store, dispatch: { ...dispatch, stoppedAmong } } });
    await at.next();
    await d.webhooks.stop(webhook.id, ACTOR);
    await seen.promise;
    await d.looked();
    answers[1]?.resolve();
    await until('the end', () => isDrained(d));
    assert.deepEqual(offsets(at), [0, 1]);
  });

  it('its endpoint can be disabled: the outcome is written, and no further delivery is sent', async (t) => {
    const { d, at, webhook, release, states } = await holdOne(t);
    await d.publishMany(1);
    await d.endpoints.patch(webhook.endpointId, { enabled: false }, ACTOR);
    release();
    assert.equal((await d.log.nextAttempt(webhook.id)).fate, 'delivered');
    await d.log.line(({ msg }) => msg === 'webhook stopped');
    const { state, stateReason } = (await d.webhooks.get(webhook.id)).progress;
    assert.deepEqual([state, stateReason], ['stopped', 'endpoint_disabled']);
    await until('the position', async () => (await d.webhooks.get(webhook.id)).progress.cursorOffset === 1);
    assert.deepEqual(await states(), ['delivered']);
    assert.equal(at.deliveries.length, 1);
  });

  it('and fails after its webhook was stopped, it is sent at the next start without waiting for the retry', async (t) => {
    const { d, at, webhook, dispatcher, release } = await holdOne(t, 500);
    await d.webhooks.stop(webhook.id, ACTOR);
    release();
    assert.equal((await d.log.nextAttempt(webhook.id)).fate, 'retry');
    assert.equal((await d.webhooks.get(webhook.id)).progress.state, 'stopped');
    at.answer(() => ({ status: 204 }));
    d.advance(1);
    await d.webhooks.start(webhook.id, ACTOR);
    // A look before the first job has ended passes over the webhook.
    await until('it is sent again', () => {
      dispatcher.wake();
      return at.deliveries.length === 2;
    });
    assert.equal(at.deliveries[1]?.envelope.attemptNumber, 2);
  });
});
