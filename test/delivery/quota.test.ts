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
} from '../../src/delivery-limits.ts';

const turns: readonly [what: string, answered: number, now: number, bytes: number, pauseMs: number][] = [
  ['before any request', 7, 0, DELIVERY_BYTES_PER_TURN, 0],
  ['in which one was answered', 8, 100, DELIVERY_BYTES_PER_CALLED_TURN, 0],
  ['soon after it', 8, 100 + CALLED_LATELY_MS - 1, DELIVERY_BYTES_PER_CALLED_TURN, 0],
  ['once nobody has called for a while', 8, 100 + CALLED_LATELY_MS, DELIVERY_BYTES_PER_TURN, 0],
  ['in which many were answered', 5000, 300, DELIVERY_BYTES_PER_CALLED_TURN, CALLED_PAUSE_MS],
  ['in which one more was', 5001, 305, DELIVERY_BYTES_PER_CALLED_TURN, 0],
  ['soon after that one, not after those before', 5001, 314, DELIVERY_BYTES_PER_CALLED_TURN, 0],
  ['in which just not a queue was', 5000 + CALLS_QUEUED, 320, DELIVERY_BYTES_PER_CALLED_TURN, 0],
  ['in which just a queue was', 5000 + 2 * CALLS_QUEUED, 325, DELIVERY_BYTES_PER_CALLED_TURN, CALLED_PAUSE_MS],
  ['much later', 5000 + 2 * CALLS_QUEUED, 9000, DELIVERY_BYTES_PER_TURN, 0],
];

it('is less while requests are answered, and later where they queue up', () => {
  let answered = 7;
  let now = 0;
  const quota = createQuota(
    () => answered,
    () => now,
  );
  const given = turns.map(([what, count, at]) => {
    answered = count;
    now = at;
    return [what, quota.bytesPerTurn(), quota.pauseMs()];
  });
  assert.deepEqual(
    given,
    turns.map(([what, , , bytes, pauseMs]) => [what, bytes, pauseMs]),
  );
});
