/** The actions on the page of a webhook: start, stop, and send a test event. */
import { validate } from '../../kernel/validation.ts';
import { giveUpInput } from '../../webhooks/waiting-keys.ts';
import { attempted, ownPath, pathId, redirectTo, refusedBack } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { sampleAsked } from './sample-events.ts';
import { testRegion, testSection } from './webhook-activity.ts';
import { endpointOf } from './webhook-reading.ts';

export function webhookActions(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services, testDelivery } = dependencies;
  const { webhooks } = services;
  const switching = (verb: 'start' | 'stop'): PageRoute<'both'> =>
    pages.act(`/webhooks/{id}/${verb}`, 'both', 'operator', async (call) => {
      const done =
        verb === 'start' ? 'The webhook is started.' : 'The webhook is stopped. New deliveries stay pending.';
      // A delivery that waits for its webhook and the problems of a customer have the button, too.
      const back = call.form.get('back');
      const next = back === null ? `/webhooks/${pathId(call)}` : ownPath(back);
      return attempted(next, done, () => webhooks[verb](pathId(call), call.acting));
    });
  return [
    switching('start'),
    switching('stop'),
    pages.act('/webhooks/{id}/give-up', 'both', 'operator', async (call) => {
      const input = validate(giveUpInput, { orderingKey: call.form.get('orderingKey') ?? '' });
      const done = `The pending deliveries of the key ${input.orderingKey} are given up.`;
      return attempted(`/webhooks/${pathId(call)}`, done, () =>
        webhooks.keyOrder.giveUp(pathId(call), input, call.acting),
      );
    }),
    pages.act('/webhooks/{id}/test', 'both', 'operator', {
      respond: async (call) => {
        const path = `/webhooks/${pathId(call)}`;
        const attempt = await testDelivery(pathId(call), call.user.id, sampleAsked(call.form));
        if (!call.isPartial) return redirectTo(`${path}?test=${attempt.id}#test`);
        const webhook = await webhooks.get(pathId(call));
        const endpoint = await endpointOf(dependencies, webhook);
        const partial = testRegion(testSection(attempt, endpoint, webhook.customerId));
        return { title: 'Test event', content: partial, partial };
      },
      invalid: async (call, refusal) => refusedBack(`/webhooks/${pathId(call)}`, refusal),
    }),
  ];
}
