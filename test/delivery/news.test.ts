import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createNews } from '../../src/delivery/news.ts';
import { STATE_NEWS_PER_MINUTE, STATE_NEWS_WEBHOOKS } from '../../src/kernel/limits/delivery.ts';
import type { StateChange, WebhookState } from '../../src/webhooks/webhook.ts';
import { progressOf } from '../support/attempts.ts';
import { isDrained, openDispatching, until } from '../support/dispatching.ts';
import { NOW } from '../support/store.ts';

const changeTo = (state: WebhookState, webhookNumber = 1): StateChange => ({
  progress: progressOf({ state, webhookNumber }),
  stateBefore: 'running',
  event: {} as StateChange['event'],
});

describe('that a webhook runs or fails', () => {
  it('is told so many times a minute, each webhook by itself, and that it stopped always', () => {
    const news = createNews();
    const tell = (changes: readonly StateChange[], now: number): number => {
      const bounded = news.bounded(changes, now);
      assert.deepEqual(
        bounded.map(({ progress }) => progress),
        changes.map(({ progress }) => progress),
      );
      news.written(bounded, now);
      return bounded.filter(({ event }) => event !== null).length;
    };
    const many = Array.from({ length: STATE_NEWS_PER_MINUTE + 5 }, () => changeTo('failing'));
    assert.equal(tell(many.slice(0, 10), NOW), 10);
    assert.equal(tell(many, NOW + 1000), STATE_NEWS_PER_MINUTE - 10);
    assert.equal(tell([changeTo('running')], NOW + 2000), 0);
    assert.equal(tell([changeTo('failing'), changeTo('failed')], NOW + 2000), 1);
    assert.equal(tell([changeTo('running', 2)], NOW + 2000), 1);
    assert.equal(tell(many, NOW + 60_000), 9, 'as many as were told a minute ago, but for the stop');
  });

  it('does not count where it could not be written', () => {
    const news = createNews();
    for (let n = 0; n < 2 * STATE_NEWS_PER_MINUTE; n += 1) {
      assert.ok(news.bounded([changeTo('failing')], NOW)[0]?.event !== null);
    }
  });

  it('is counted for a bounded number of webhooks', () => {
    const news = createNews();
    const full = Array.from({ length: STATE_NEWS_PER_MINUTE }, () => changeTo('failing'));
    news.written(full, NOW);
    assert.equal(news.bounded([changeTo('running')], NOW)[0]?.event, null);
    for (let n = 2; n <= STATE_NEWS_WEBHOOKS + 1; n += 1) news.written([changeTo('running', n)], NOW);
    assert.ok(news.bounded([changeTo('running')], NOW)[0]?.event !== null, 'the one told of longest ago is forgotten');
  });
});

describe('a receiver of such events that refuses some of them', () => {
  it('does not make more of them for ever, and gets all that there are', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: { eventTypes: ['webhook.*'], maxBatchRecords: 1 } });
    // Each refusal is a change to failing, and the next delivery one to running.
    at.answer(({ records, envelope }) => {
      const refuses = envelope.attemptNumber === 1 && records[0]?.eventType === 'webhook.running';
      return { status: refuses ? 500 : 200 };
    });
    const dispatcher = await d.start();
    const events = (): number =>
      d.rows(`SELECT 1 FROM event WHERE type IN ('webhook.running', 'webhook.failing')`).length;
    await until('the bound', () => events() === STATE_NEWS_PER_MINUTE);
    const beginning = d.clock();
    await until('all is taken', () => {
      if (isDrained(d)) return true;
      // On to the retries, once nothing is under way.
      if (d.rows('SELECT 1 FROM batch WHERE lease_owner IS NOT NULL').length === 0) d.advance(50);
      dispatcher.wake();
      return false;
    });
    assert.ok(d.clock() - beginning < 60_000, 'within the minute');
    assert.equal(events(), STATE_NEWS_PER_MINUTE);
    assert.equal((await d.webhooks.get(webhook.id)).progress.failureStreak, 0);
  });
});
