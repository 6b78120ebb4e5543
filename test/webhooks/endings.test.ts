/** A refusal names the step that helps as its reader knows it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refuseField, saidAt } from '../../src/kernel/refusal.ts';
import {
  enableFirst,
  READ_AGAIN,
  sendsNothing,
  setAuthentication,
  startFirst,
  verifyFirst,
} from '../../src/webhooks/endings.ts';
import { OPERATORS_WORDS } from '../support/operators-words.ts';

const named = { id: 'the-id', name: 'Shop' };
const ENDINGS = [
  verifyFirst(named),
  enableFirst(named),
  setAuthentication('the-id'),
  startFirst('the-id'),
  READ_AGAIN,
  sendsNothing('endpoint_disabled'),
];

describe('the ending of a refusal', () => {
  for (const { api, portal, command } of ENDINGS) {
    it(api, () => {
      assert.doesNotMatch(command, /\b(?:GET|POST|PATCH) \/|“/);
      assert.doesNotMatch(portal, /\b(?:GET|POST|PATCH) \/|\bsallyport |the-id/);
      assert.doesNotMatch(api, /“/);
      // Programs of customers read it.
      assert.doesNotMatch(api, OPERATORS_WORDS);
    });
  }

  it('follows the description and the problem of the field', () => {
    const refusal = refuseField('enabled', 'must be false', 'not_verified', { ending: verifyFirst(named) });
    const end = '; verify it first: POST /endpoints/the-id/verify';
    assert.deepEqual(saidAt('api', refusal), {
      message: `enabled must be false${end}`,
      details: [{ field: 'enabled', problem: `must be false${end}` }],
    });
    assert.equal(refusal.message, 'enabled must be false');
  });
});
