/** `/deliveries/{id}`: one delivery with its state, its attempts and its payload. It follows the delivery live. */
import { attributes, html } from '../../http/html.ts';
import { attempted, pathId } from '../frame/call.ts';
import { liveContent } from '../frame/live-content.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readStory, storyVersion } from './delivery-reading.ts';
import { DELIVERIES_PATH as PATH } from './delivery-tabs.ts';
import { storyView } from './delivery-view.ts';

export function deliveryDetailPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services, feed, clock } = dependencies;
  const { deliveries } = services;
  return [
    pages.view(`${PATH}/{id}`, 'both', async (call) => {
      const story = await readStory(dependencies, call, pathId(call));
      const { id, eventType, offset } = story.delivery;
      const live = attributes({ 'data-hx-sse:connect': `${PATH}/${id}/live`, 'data-hx-swap': 'innerMorph' });
      const content = html`<div id="delivery" class="page-part"${live}>${storyView(call, story)}</div>`;
      return { title: `${eventType} #${offset}`, content };
    }),
    pages.stream(`${PATH}/{id}/live`, 'both', async (call) => {
      const id = pathId(call);
      const { delivery } = await deliveries.get(id);
      return liveContent(feed, delivery.webhookId, call.signal, async () => {
        const story = await readStory(dependencies, call, id);
        const now = clock();
        return { version: storyVersion(story, now), content: () => storyView({ ...call, now }, story) };
      });
    }),
    pages.page({
      for: 'both',
      method: 'POST',
      path: `${PATH}/{id}/replay`,
      role: 'operator',
      respond: async (call) => {
        const id = pathId(call);
        const { delivery } = await deliveries.get(id);
        const done = delivery.state === 'pending' ? 'Trying it now.' : 'Sending again.';
        const told = `${done} This page shows the result.`;
        return attempted(`${PATH}/${id}`, told, () => deliveries.replay(id, call.acting));
      },
    }),
  ];
}
