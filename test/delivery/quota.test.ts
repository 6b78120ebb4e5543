/** What may depart in a turn of the event loop, and when. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createQuota } from '../../src/delivery/quota.ts';
import {
  CALLED_LATELY_MS,
  CALLED_PAUSE_MS,
  CALLS_QUEUED,
  DELIVERY_BYTES_PER_CALLED_TURN,
  DELIVERY_BYTES_PER_TURN,
} from '../../src/kernel/limits/delivery.ts';

/** `endedAt`: when the turn before ended. */
const turns: readonly [what: string, answered: number, endedAt: number, now: number, bytes: number, pauseMs: number][] =
  [
    ['before any request', 7, -1000, 0, DELIVERY_BYTES_PER_TURN, 0],
    ['in which one was answered', 8, 100, 100, DELIVERY_BYTES_PER_CALLED_TURN, 0],
    ['soon after it', 8, 101, 100 + CALLED_LATELY_MS - 1, DELIVERY_BYTES_PER_CALLED_TURN, 0],
    ['once nobody has called for a while', 8, 101, 100 + CALLED_LATELY_MS, DELIVERY_BYTES_PER_TURN, 0],
    ['at the end of one, many having been answered', 4000, 300, 300, DELIVERY_BYTES_PER_CALLED_TURN, CALLED_PAUSE_MS],
    ['a while after one', 4500, 300, 301, DELIVERY_BYTES_PER_CALLED_TURN, CALLED_PAUSE_MS - 1],
    ['a whole pause after one', 5000, 300, 300 + CALLED_PAUSE_MS, DELIVERY_BYTES_PER_CALLED_TURN, 0],
    ['in which one more was', 5001, 305, 305, DELIVERY_BYTES_PER_CALLED_TURN, 0],
    ['soon after that one, not after those before', 5001, 314, 314, DELIVERY_BYTES_PER_CALLED_TURN, 0],
    ['in which just not a queue was', 5000 + CALLS_QUEUED, 320, 320, DELIVERY_BYTES_PER_CALLED_TURN, 0],
    ['in which just a queue was', 5000 + 2 * CALLS_QUEUED, 325, 325, DELIVERY_BYTES_PER_CALLED_TURN, CALLED_PAUSE_MS],
    ['much later', 5000 + 2 * CALLS_QUEUED, 325, 9000, DELIVERY_BYTES_PER_TURN, 0],
  ];

it('is less while requests are answered, and later where they queue up, unless the turn before is long over', () => {
  let answered = 7;
  let now = 0;
  const quota = createQuota(
    () => answered,
    () => now,
  );
  const given = turns.map(([what, count, endedAt, at]) => {
    now = endedAt;
    quota.turnEnded();
    answered = count;
    now = at;
    return [what, quota.bytesPerTurn(), quota.pauseMs()];
  });
  assert.deepEqual(
    given,
    turns.map(([what, , , , bytes, pauseMs]) => [what, bytes, pauseMs]),
  );
});
