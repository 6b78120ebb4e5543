import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConstraintViolation, retryStale, StaleWrite } from '../../../src/store/port/errors.ts';

/** Fails this many times, then returns the number of calls. */
function failing(error: Error, times: number): () => Promise<number> {
  let asked = 0;
  return async () => {
    asked += 1;
    if (asked <= times) throw error;
    return asked;
  };
}

describe('retryStale', () => {
  const stale = [
    new StaleWrite('UPDATE a', 1, 0),
    new ConstraintViolation('foreign_key', []),
    new ConstraintViolation('unique', ['event.key']),
  ];
  for (const error of stale) {
    it(`decides again after ${error.message}, up to a limit`, async () => {
      assert.equal(await retryStale(failing(error, 0)), 1);
      assert.equal(await retryStale(failing(error, 60)), 61);
      await assert.rejects(retryStale(failing(error, 1000)), (thrown) => thrown === error);
    });
  }

  for (const error of [
    new ConstraintViolation('unique', ['employee.user_name']),
    new ConstraintViolation('check', ['a < 5']),
    new Error('disk full'),
  ]) {
    it(`rethrows ${error.message} immediately`, async () => {
      const decide = failing(error, 1);
      await assert.rejects(retryStale(decide), (thrown) => thrown === error);
      assert.equal(await decide(), 2);
    });
  }
});
