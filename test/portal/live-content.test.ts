/** Live parts of a page: when they are read, and when they are sent. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { html } from '../../src/http/html.ts';
import { createIds, randomBytes } from '../../src/kernel/ids.ts';
import { createAttemptFeed } from '../../src/observe/attempt-feed.ts';
import { inLiveTurn, type LivePace, liveContent, liveTurns } from '../../src/portal/frame/live-content.ts';
import { batchOf } from '../support/attempts.ts';
import { attemptOf } from '../support/batches.ts';
import { cleanUp } from '../support/cleanup.ts';
import { deferred } from '../support/deferred.ts';

const clock = (): number => 1;
const ids = createIds(clock, randomBytes);
/** Longer than any test. */
const NEVER_MS = 600_000;

function start(t: TestContext, pace: LivePace) {
  const feed = createAttemptFeed();
  const leaving = new AbortController();
  cleanUp(t, () => leaving.abort());
  const settle = (webhookId = 'w'): void => {
    const batch = batchOf(0, 0);
    feed.observeSettled(webhookId, {
      batch,
      fate: { kind: 'delivered', at: 1 },
      attempt: attemptOf({ ids, clock }, batch),
    });
  };
  const state = { version: '1', readings: 0 };
  const read = async () => {
    state.readings += 1;
    const { version } = state;
    return { version, content: () => html`${version}` };
  };
  return { feed, leaving, settle, state, events: liveContent(feed, 'w', leaving.signal, read, pace) };
}

describe('a live part', () => {
  it('ends with the error of a feed that failed during a turn, and leaves no rejection that ends the process', async () => {
    const away = new Error('the database is away');
    const feed = { subscribe: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(away) }) }) };
    const turns = liveTurns(feed, null, new AbortController().signal, { everyMs: 0, checkMs: NEVER_MS });
    await turns.next();
    // The turn lasts until the feed has failed, and the process has looked for rejections that nobody handles.
    await new Promise((resolve) => setImmediate(resolve));
    await assert.rejects(turns.next(), away);
  });

  it('is sent immediately, and again after an attempt if it changed', async (t) => {
    const { events, settle, state } = start(t, { everyMs: 0, checkMs: NEVER_MS });
    assert.equal((await events.next()).value?.html.markup, '1');
    const next = events.next();
    settle('other');
    state.version = '2';
    settle();
    assert.equal((await next).value?.html.markup, '2');
    assert.equal(state.readings, 2, 'the attempt of another webhook caused a reading');
  });

  it('is read now and then without an attempt, and sent only if it changed', async (t) => {
    const { events, state } = start(t, { everyMs: 0, checkMs: 1 });
    await events.next();
    const next = events.next();
    const until = async (readings: number): Promise<void> => {
      while (state.readings < readings) await new Promise((resolve) => setTimeout(resolve, 1));
    };
    await until(4);
    state.version = '2';
    assert.equal((await next).value?.html.markup, '2');
  });

  it('misses no attempt that settles while it is read', async (t) => {
    const { feed, leaving, settle } = start(t, {});
    const turns = liveTurns(feed, 'w', leaving.signal, { everyMs: 0, checkMs: NEVER_MS });
    assert.equal((await turns.next()).value, null);
    settle();
    settle();
    const piece = (await turns.next()).value;
    assert.equal(piece?.items.length, 2);
  });

  it('is read when it is the turn of the customer whose attempts it shows', async (t) => {
    const { feed, leaving } = start(t, {});
    const done: string[] = [];
    const first = deferred();
    void inLiveTurn('first', () => first.promise);
    const own = ['a', 'b', 'c'].map((name) => inLiveTurn(null, async () => void done.push(name)));
    const read = async () => {
      done.push('of the customer');
      return { version: '1', content: () => html`1` };
    };
    const ofCustomer = feed.within(async () => new Set(['w']), 'one');
    const next = liveContent(ofCustomer, 'w', leaving.signal, read, { everyMs: 0, checkMs: NEVER_MS }).next();
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    assert.deepEqual(done, []);
    first.resolve();
    await Promise.all([...own, next]);
    assert.deepEqual(done, ['a', 'of the customer', 'b', 'c']);
  });

  it('ends when its client is gone', async (t) => {
    const { events, leaving } = start(t, { everyMs: 0, checkMs: NEVER_MS });
    await events.next();
    const next = events.next();
    leaving.abort();
    assert.equal((await next).done, true);
  });
});

describe('the work for live pages', () => {
  it('is done one piece at a time, of each customer in turn, and passes on results and failures', async () => {
    const done: string[] = [];
    let underWay = 0;
    const piece = (owner: string): Promise<string> =>
      inLiveTurn(owner, async () => {
        underWay += 1;
        assert.equal(underWay, 1);
        await new Promise(setImmediate);
        underWay -= 1;
        done.push(owner);
        if (owner === 'failing') throw new Error('the list cannot be read');
        return owner;
      });
    void piece('first');
    const pieces = [...Array.from({ length: 5 }, () => piece('many')), piece('failing'), piece('one')];
    const results = await Promise.allSettled(pieces);
    assert.deepEqual(done.slice(0, 5), ['first', 'many', 'failing', 'one', 'many']);
    assert.deepEqual(
      results.map(({ status }) => status),
      [...Array.from({ length: 5 }, () => 'fulfilled'), 'rejected', 'fulfilled'],
    );
  });
});
