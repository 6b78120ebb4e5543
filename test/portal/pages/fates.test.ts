/** The text of a published event's page about its deliveries, case by case. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Delivery, WebhookState } from '../../../src/domain/webhook.ts';
import { foretoldText } from '../../../src/portal/event-types/publish-preview.ts';
import { fateText } from '../../../src/portal/event-types/published-event-page.ts';

it('the form of an event foretells who gets it, and where it waits', () => {
  const at = (name: string, state: WebhookState = 'running') => ({ name, state });
  const many = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => at(name));
  const cases: readonly (readonly [Parameters<typeof foretoldText>, string])[] = [
    [[[at('Orders')], 0, 0], 'Goes to Orders.'],
    [[[at('Orders'), at('Crm')], 0, 0], 'Goes to Orders and Crm.'],
    [[[at('Orders'), at('Old', 'stopped')], 0, 0], 'Goes to Orders; waits at Old, until started.'],
    [[[at('Orders'), at('Shop', 'failing')], 0, 0], 'Goes to Orders; waits at Shop, which is failing.'],
    [[[at('Old', 'failed')], 0, 0], 'Waits at Old, until started.'],
    [[many, 0, 0], 'Goes to a, b, c, d and 2 more.'],
    [[[], 0, 0], 'Nobody would get it: no webhook subscribes to its type.'],
    [[[], 1, 0], 'Nobody would get it. 1 other subscribed webhook does not.'],
    [[[at('Orders')], 2, 0], 'Goes to Orders. 2 other subscribed webhooks do not.'],
    [[[at('Orders')], 2, 40], 'Goes to Orders. 40 more webhooks were not examined.'],
  ];
  for (const [given, text] of cases) assert.equal(foretoldText(...given), text);
});

type Fate = Pick<Delivery, 'state' | 'webhookState'>;

const queued: Fate = { state: 'pending', webhookState: 'running' };
const waits: Fate = { state: 'pending', webhookState: 'stopped' };
const failed: Fate = { state: 'pending', webhookState: 'failed' };
const failing: Fate = { state: 'pending', webhookState: 'failing' };
const arrived: Fate = { state: 'delivered', webhookState: 'running' };
const dead: Fate = { state: 'dead', webhookState: 'failing' };

it('an event is pending until it is delivered, and waits at webhooks that do not run', () => {
  const cases: readonly [readonly Fate[], string][] = [
    [[queued], 'Pending at 1 webhook'],
    [[queued, queued, waits, failed], 'Pending at 4 webhooks: 2 are not running'],
    [[queued, waits], 'Pending at 2 webhooks: 1 is not running'],
    [[waits], 'Pending at 1 webhook, which is not running'],
    [[waits, failed], 'Pending at 2 webhooks, none of which is running'],
    [[arrived, arrived, waits, failed], '2 delivered, 2 wait'],
    [[arrived, queued, waits, dead], '1 delivered, 1 pending, 1 waits, 1 dead'],
    [[arrived, failing], '1 delivered, 1 pending at a failing webhook'],
    [[arrived, failing, failing, queued], '1 delivered, 1 pending, 2 pending at failing webhooks'],
    [[failing], 'Pending at 1 webhook, which is failing'],
    [[failing, waits, queued], 'Pending at 3 webhooks: 1 is failing, 1 is not running'],
    [Array<Fate>(101).fill(queued), 'Pending at more than 100 webhooks'],
    [Array<Fate>(101).fill(arrived), 'Of the first 100: 100 delivered'],
  ];
  for (const [fates, text] of cases) assert.equal(fateText(fates), text);
});
