/** Counts the turns of the event loop while a test runs. Calls in one turn get the same number. */
import type { TestContext } from 'node:test';

export function countTurns(t: TestContext): () => number {
  let count = 0;
  let next = setImmediate(function turn() {
    count += 1;
    next = setImmediate(turn);
  });
  t.after(() => clearImmediate(next));
  return () => count;
}
