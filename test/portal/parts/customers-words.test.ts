/** The text for the people of a customer while the database is away. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Refusal } from '../../../src/kernel/refusal.ts';
import { attempted } from '../../../src/portal/frame/call.ts';
import { toldTo } from '../../../src/portal/parts/customers-words.ts';
import { DatabaseUnavailable, mayBeCommitted, UNAVAILABLE_REASONS } from '../../../src/store/port/errors.ts';

describe('a refusal in the portal of a customer', () => {
  for (const reason of UNAVAILABLE_REASONS) {
    it(`says nothing about the database: ${reason}`, () => {
      const refusal = new DatabaseUnavailable(reason);
      const told = toldTo('acme', refusal);
      assert.doesNotMatch(told.message, /database|Sallyport|disk|backup|restart/i);
      assert.equal(told.message.includes('before you repeat it'), mayBeCommitted(refusal));
      assert.deepEqual([told.status, told.repeat, told.headers], [503, refusal.repeat, refusal.headers]);
      assert.equal(toldTo(null, refusal), refusal);
    });
  }

  it('is the same as the operator’s otherwise', () => {
    for (const refusal of [
      new Refusal('invalid_state', 'the webhook is stopped'),
      new Refusal('unavailable', 'the address of this portal is not set up yet'),
    ])
      assert.equal(toldTo('acme', refusal), refusal);
  });
});

it('a store that is away is a page of its own after a button, not a message on another page', async () => {
  const away = new DatabaseUnavailable('full');
  await assert.rejects(
    attempted('/webhooks', 'It is started.', () => Promise.reject(away)),
    away,
  );
  const refused = attempted('/webhooks', 'It is started.', () =>
    Promise.reject(new Refusal('invalid_state', 'it is stopped')),
  );
  assert.deepEqual((await refused).flash, { tone: 'negative', text: 'It is stopped.' });
});
