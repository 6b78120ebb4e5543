import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StateChange, WebhookState } from '../../src/domain/webhook.ts';
import {
  createStateEventLimit,
  STATE_EVENT_WEBHOOKS,
  STATE_EVENTS_PER_MINUTE,
} from '../../src/domain/webhook-states.ts';
import { progressOf } from '../support/attempts.ts';
import { isDrained, openDispatching, until } from '../support/dispatching.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { NOW } from '../support/store.ts';

repeatsInSlowTier('postgres');

const changeTo = (state: WebhookState, webhookNumber = 1): StateChange => ({
  progress: progressOf({ state, webhookNumber }),
  stateBefore: 'running',
  event: {} as StateChange['event'],
});

describe('the events of a webhook that runs or fails', () => {
  it('are limited per minute and webhook, except the event of a stop', () => {
    const limit = createStateEventLimit();
    const tell = (changes: readonly StateChange[], now: number): number => {
      const limited = limit.limited(changes, now);
      assert.deepEqual(
        limited.map(({ progress }) => progress),
        changes.map(({ progress }) => progress),
      );
      limit.written(limited, now);
      return limited.filter(({ event }) => event !== null).length;
    };
    const many = Array.from({ length: STATE_EVENTS_PER_MINUTE + 5 }, () => changeTo('failing'));
    assert.equal(tell(many.slice(0, 10), NOW), 10);
    assert.equal(tell(many, NOW + 1000), STATE_EVENTS_PER_MINUTE - 10);
    assert.equal(tell([changeTo('running')], NOW + 2000), 0);
    assert.equal(tell([changeTo('failing'), changeTo('failed')], NOW + 2000), 1);
    assert.equal(tell([changeTo('running', 2)], NOW + 2000), 1);
    assert.equal(tell(many, NOW + 60_000), 9, 'as many as a minute ago, without the stop');
  });

  it('do not count unless they are written', () => {
    const limit = createStateEventLimit();
    for (let n = 0; n < 2 * STATE_EVENTS_PER_MINUTE; n += 1) {
      assert.ok(limit.limited([changeTo('failing')], NOW)[0]?.event !== null);
    }
  });

  it('are counted for a bounded number of webhooks', () => {
    const limit = createStateEventLimit();
    const full = Array.from({ length: STATE_EVENTS_PER_MINUTE }, () => changeTo('failing'));
    limit.written(full, NOW);
    assert.equal(limit.limited([changeTo('running')], NOW)[0]?.event, null);
    for (let n = 2; n <= STATE_EVENT_WEBHOOKS + 1; n += 1) limit.written([changeTo('running', n)], NOW);
    assert.ok(
      limit.limited([changeTo('running')], NOW)[0]?.event !== null,
      'the least recently used webhook is dropped',
    );
  });
});

describe('a receiver of these events that refuses some of them', () => {
  it('does not cause more of them without end, and gets every one', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: { eventTypes: ['webhook.*'], maxBatchRecords: 1 } });
    // Each refusal is a change to failing, and the next delivery one to running.
    at.answer(({ records, envelope }) => {
      const refuses = envelope.attemptNumber === 1 && records[0]?.eventType === 'webhook.running';
      return { status: refuses ? 500 : 200 };
    });
    const dispatcher = await d.start();
    const events = async (): Promise<number> =>
      (await d.rows(`SELECT 1 FROM event WHERE type IN ('webhook.running', 'webhook.failing')`)).length;
    await until('the bound', async () => (await events()) === STATE_EVENTS_PER_MINUTE);
    const beginning = d.clock();
    await until('all is taken', async () => {
      if (await isDrained(d)) return true;
      // On to the retries, once nothing is under way.
      if ((await d.rows('SELECT 1 FROM batch WHERE lease_owner IS NOT NULL')).length === 0) d.advance(50);
      dispatcher.wake();
      return false;
    });
    assert.ok(d.clock() - beginning < 60_000, 'within the minute');
    assert.equal(await events(), STATE_EVENTS_PER_MINUTE);
    assert.equal((await d.webhooks.get(webhook.id)).progress.failureStreak, 0);
  });
});
