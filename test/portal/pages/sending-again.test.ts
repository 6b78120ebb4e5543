/** The messages after deliveries were sent again, case by case. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { WebhookState } from '../../../src/domain/webhook.ts';
import { sentAgainFlash } from '../../../src/portal/deliveries/sending-again.ts';

function sent(count: number, webhookState: WebhookState, name = 'Orders') {
  return { count, webhookState, webhookId: name.toLowerCase(), webhookName: name };
}

it('says that deliveries wait for a webhook that does not run, and leads to it', () => {
  const cases = [
    [[sent(10, 'running')], 'Sending 10 deliveries again.', undefined],
    [[sent(1, 'failing')], 'Sending 1 delivery again.', undefined],
    [[sent(10, 'failed')], '10 deliveries wait: Orders has failed.', '/webhooks/orders'],
    [[sent(1, 'stopped')], '1 delivery waits: Orders is stopped.', '/webhooks/orders'],
    [
      [sent(2, 'running'), sent(3, 'stopped', 'Crm')],
      'Sending 2 deliveries again. 3 deliveries wait: Crm is stopped.',
      '/webhooks/crm',
    ],
    [[sent(2, 'failed'), sent(3, 'stopped', 'Crm')], '5 deliveries wait: their webhooks do not run.', undefined],
  ] as const;
  for (const [given, text, href] of cases) {
    const flash = sentAgainFlash(given);
    assert.deepEqual([flash.text, flash.link?.href], [text, href]);
    assert.equal(flash.tone, text.includes('wait') ? 'caution' : 'positive');
  }
});
