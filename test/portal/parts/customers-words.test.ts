/** The text for the people of a customer while the database is away. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_THEME } from '../../../src/domain/portal-theme.ts';
import { withoutRemedies } from '../../../src/http/error-body.ts';
import { Refusal } from '../../../src/kernel/refusal.ts';
import { attempted, caught, reasonIn, refusedBack } from '../../../src/portal/frame/call.ts';
import { DatabaseUnavailable, mayBeCommitted, UNAVAILABLE_REASONS } from '../../../src/store/port/errors.ts';

describe('a refusal in the portal of a customer', () => {
  for (const reason of UNAVAILABLE_REASONS) {
    it(`says nothing about the database: ${reason}`, () => {
      const refusal = new DatabaseUnavailable(reason);
      const told = withoutRemedies(refusal);
      assert.doesNotMatch(told.message, /database|Sallyport|disk|backup|restart/i);
      assert.equal(told.message.includes('before you repeat it'), mayBeCommitted(refusal));
      assert.deepEqual([told.status, told.repeat, told.headers], [503, refusal.repeat, refusal.headers]);
      assert.doesNotMatch(reasonIn({ brand: NO_THEME }, refusal), /database/);
      assert.match(reasonIn({ brand: null }, refusal), /database/);
    });
  }

  it('is the same as the operator’s otherwise', () => {
    for (const refusal of [
      new Refusal('invalid_state', 'the webhook is stopped'),
      new Refusal('unavailable', 'the address of this portal is not set up yet'),
    ])
      assert.equal(withoutRemedies(refusal), refusal);
  });
});

it('a store that is away is a page of its own after a button, not a message on another page', async () => {
  const away = new DatabaseUnavailable('full');
  await assert.rejects(
    attempted('/webhooks', 'It is started.', () => Promise.reject(away)),
    away,
  );
  assert.equal(refusedBack('/webhooks', away), null);
  assert.throws(() => caught(away), away);
  const refused = attempted('/webhooks', 'It is started.', () =>
    Promise.reject(new Refusal('invalid_state', 'it is stopped')),
  );
  assert.deepEqual((await refused).flash, { tone: 'negative', text: 'It is stopped.' });
});
