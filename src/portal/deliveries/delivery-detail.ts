/**
 * `/deliveries/{id}`: one delivery with its state, its attempts and its payload. It follows the delivery live. The script of the list asks
 * for it to show it beside the list.
 */
import { html } from '../../http/html.ts';
import { attempted, ifFound, ownPath, pathId, type View } from '../frame/call.ts';
import { liveContent } from '../frame/live-content.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { linkButton } from '../parts/header.ts';
import { countOf } from '../parts/text.ts';
import { readStory, storyVersion } from './delivery-reading.ts';
import { resendText } from './delivery-story.ts';
import { DELIVERIES_PATH as PATH } from './delivery-tabs.ts';
import { liveStory, storyView } from './delivery-view.ts';

export function deliveryDetailPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services, feed, clock } = dependencies;
  const { deliveries } = services;
  return [
    pages.view(`${PATH}/{id}`, 'both', async (call) => {
      const story = await ifFound(readStory(dependencies, call, pathId(call)));
      if (story === null) return goneView(dependencies.kept);
      const { eventType, offset } = story.delivery;
      // The script of the list asks for the part beside it.
      const content = liveStory(call, story, { isBeside: call.isPartial });
      return { title: `${eventType} #${offset}`, content, partial: content };
    }),
    pages.stream(`${PATH}/{id}/live`, 'both', async (call) => {
      const id = pathId(call);
      const { delivery } = await deliveries.get(id);
      const place = { isBeside: call.query.has('panel') };
      return liveContent(feed, delivery.webhookId, call.signal, async () => {
        const story = await readStory(dependencies, call, id);
        const now = clock();
        return { version: storyVersion(story, now), content: () => storyView({ ...call, now }, story, place) };
      });
    }),
    pages.act(`${PATH}/{id}/replay`, 'both', 'operator', async (call) => {
      const id = pathId(call);
      const { delivery } = await deliveries.get(id);
      const { progress, ordered } = await services.webhooks.get(delivery.webhookId);
      const starts = call.form.get('start') !== null;
      // The list goes on with the delivery beside it.
      const back = ownPath(call.form.get('back'));
      const next = back.startsWith(`${PATH}?`) ? back : `${PATH}/${id}`;
      return attempted(next, resendText(delivery, starts ? 'started' : progress.state, ordered), async () => {
        if (starts) await services.webhooks.start(delivery.webhookId, call.acting);
        return deliveries.replay(id, call.acting);
      });
    }),
  ];
}

/** In place of a delivery that is no longer kept, or never existed. */
function goneView({ deliveredDays, deadDays }: SharedPageDependencies['kept']): View {
  const title = 'This delivery is not here';
  const content = html`
    <div class="refusal">
      <p class="refusal-status">404</p>
      <h1>${title}</h1>
      <p>The address is wrong, or the delivery has been deleted. ${keptText(deliveredDays, deadDays)}</p>
      <p>${linkButton({ href: PATH, label: 'Deliveries' })}</p>
    </div>
  `;
  return { title, content, partial: content, status: 404 };
}

/** `Delivered ones are kept for 30 days, dead ones for 90 days.` */
function keptText(deliveredDays: number, deadDays: number): string {
  const time = (days: number): string => (days === 0 ? 'forever' : `for ${countOf(days, 'day')}`);
  return `Delivered ones are kept ${time(deliveredDays)}, dead ones ${time(deadDays)}.`;
}
