/** What may depart in a turn of the event loop. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createQuota } from '../../src/delivery/quota.ts';
import { CALLED_LATELY_MS, DELIVERY_BYTES_PER_CALLED_TURN, DELIVERY_BYTES_PER_TURN } from '../../src/limits.ts';

const turns: readonly [what: string, answered: number, now: number, bytes: number][] = [
  ['before any request', 7, 0, DELIVERY_BYTES_PER_TURN],
  ['in which one was answered', 8, 100, DELIVERY_BYTES_PER_CALLED_TURN],
  ['soon after it', 8, 100 + CALLED_LATELY_MS - 1, DELIVERY_BYTES_PER_CALLED_TURN],
  ['once nobody has called for a while', 8, 100 + CALLED_LATELY_MS, DELIVERY_BYTES_PER_TURN],
  ['in which many were answered', 5000, 300, DELIVERY_BYTES_PER_CALLED_TURN],
  ['in which one more was', 5001, 305, DELIVERY_BYTES_PER_CALLED_TURN],
  ['soon after that one, not after those before', 5001, 305 + CALLED_LATELY_MS - 1, DELIVERY_BYTES_PER_CALLED_TURN],
  ['much later', 5001, 9000, DELIVERY_BYTES_PER_TURN],
];

it('is less while requests are answered', () => {
  let answered = 7;
  let now = 0;
  const bytesPerTurn = createQuota(
    () => answered,
    () => now,
  );
  const given = turns.map(([what, count, at]) => {
    answered = count;
    now = at;
    return [what, bytesPerTurn()];
  });
  assert.deepEqual(
    given,
    turns.map(([what, , , bytes]) => [what, bytes]),
  );
});
