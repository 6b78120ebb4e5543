import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SettledBatch } from '../../src/domain/batch.ts';
import { createIds, randomBytes } from '../../src/kernel/ids.ts';
import { createAttemptFeed, FEED_BUFFERED, type FeedPiece } from '../../src/observe/attempt-feed.ts';
import { batchOf } from '../support/attempts.ts';
import { attemptOf } from '../support/batches.ts';

const clock = (): number => 1;
const ids = createIds(clock, randomBytes);

function settled(attemptNumber = 1): SettledBatch {
  const batch = batchOf(0, 0, { attemptNumber });
  return { batch, fate: { kind: 'delivered', at: 1 }, attempt: attemptOf({ ids, clock }, batch) };
}

const numbers = ({ items }: FeedPiece): number[] => items.map(({ attempt }) => attempt.attemptNumber);

describe('the feed of attempts', () => {
  it('gives a reader the attempts settled from then on, of one webhook or of all', async () => {
    const feed = createAttemptFeed();
    const { signal } = new AbortController();
    feed.observeSettled('a', settled(1));
    const all = feed.subscribe(null, signal)[Symbol.asyncIterator]();
    const one = feed.subscribe('b', signal)[Symbol.asyncIterator]();
    feed.observeSettled('a', settled(2));
    feed.observeSettled('b', settled(3));
    feed.observeSettled('b', { ...settled(4), attempt: null });
    const first = (await all.next()).value as FeedPiece;
    assert.deepEqual([numbers(first), first.dropped], [[2, 3], 0]);
    assert.deepEqual(
      first.items.map(({ webhookId, fate }) => [webhookId, fate]),
      [
        ['a', 'delivered'],
        ['b', 'delivered'],
      ],
    );
    assert.deepEqual(numbers((await one.next()).value), [3]);
    // A waiting reader wakes up.
    const next = one.next();
    feed.observeSettled('a', settled(5));
    feed.observeSettled('b', { batch: null, fate: null, attempt: settled(6).attempt });
    const { items } = (await next).value as FeedPiece;
    assert.deepEqual(
      items.map(({ attempt, fate }) => [attempt.attemptNumber, fate]),
      [[6, null]],
    );
  });

  it('drops the oldest attempts for a slow reader and says how many, without affecting other readers', async () => {
    const feed = createAttemptFeed();
    const { signal } = new AbortController();
    const slow = feed.subscribe(null, signal)[Symbol.asyncIterator]();
    const quick = feed.subscribe(null, signal)[Symbol.asyncIterator]();
    for (let n = 1; n <= FEED_BUFFERED + 7; n += 1) {
      feed.observeSettled('a', settled(n));
      assert.deepEqual(numbers((await quick.next()).value), [n]);
    }
    const piece = (await slow.next()).value as FeedPiece;
    assert.equal(piece.dropped, 7);
    assert.deepEqual(
      [numbers(piece).length, numbers(piece)[0], numbers(piece).at(-1)],
      [FEED_BUFFERED, 8, FEED_BUFFERED + 7],
    );
    feed.observeSettled('a', settled(1));
    assert.equal(((await slow.next()).value as FeedPiece).dropped, 0);
  });

  it('neither keeps nor counts for a reader attempts that do not fit', async () => {
    const feed = createAttemptFeed();
    const { signal } = new AbortController();
    const first = feed.subscribe(null, signal, ({ attemptNumber }) => attemptNumber === 1)[Symbol.asyncIterator]();
    for (let n = 0; n < FEED_BUFFERED + 7; n += 1) {
      feed.observeSettled('a', settled(1));
      feed.observeSettled('a', settled(2));
    }
    const piece = (await first.next()).value as FeedPiece;
    assert.deepEqual([new Set(numbers(piece)), piece.items.length, piece.dropped], [new Set([1]), FEED_BUFFERED, 7]);
  });

  it('ends and forgets a reader when its signal aborts, whether it waits, is busy or never read', async () => {
    const feed = createAttemptFeed();
    const gone = new AbortController();
    const waiting = feed.subscribe(null, gone.signal)[Symbol.asyncIterator]();
    const never = feed.subscribe(null, gone.signal)[Symbol.asyncIterator]();
    const next = waiting.next();
    gone.abort();
    assert.deepEqual(await next, { done: true, value: undefined });
    feed.observeSettled('a', settled());
    assert.deepEqual(await never.next(), { done: true, value: undefined });
    const late = feed.subscribe(null, gone.signal)[Symbol.asyncIterator]();
    assert.deepEqual(await late.next(), { done: true, value: undefined });
  });

  it('forgets a reader that stops reading', async () => {
    const feed = createAttemptFeed();
    const { signal } = new AbortController();
    const reader = feed.subscribe(null, signal);
    feed.observeSettled('a', settled(1));
    for await (const piece of reader) {
      assert.deepEqual(numbers(piece), [1]);
      break;
    }
    feed.observeSettled('a', settled(2));
    assert.deepEqual(await reader[Symbol.asyncIterator]().next(), { done: true, value: undefined });
  });
});
