import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createOutcomeQueue } from '../../src/delivery/outcome-queue.ts';
import { deferred } from '../support/deferred.ts';

describe('the queue of outcomes', () => {
  it('writes once more for a webhook that is urgent during a write of it, without a further outcome', async () => {
    const written = deferred();
    let writes = 0;
    const outcomes = createOutcomeQueue();
    outcomes.open(async () => {
      writes += 1;
      if (writes > 1) return;
      outcomes.touch(7, true);
      await written.promise;
    });
    outcomes.touch(7, true);
    await nextTurn();
    written.resolve();
    await nextTurn();
    outcomes.close();
    assert.equal(writes, 2);
  });
});
