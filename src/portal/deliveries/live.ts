/** Live attempts: the page `/deliveries/watch` for all webhooks, and the streams for it and for the page of a webhook. */
import { html } from '../../http/html.ts';
import { CHOICES_MAX, TAIL_BEGINS_WITH } from '../../kernel/limits/portal.ts';
import type { PageDependencies } from '../dependencies.ts';
import { type TailWebhook, tail, tailEvents } from '../live/tail.ts';
import type { PageRoute } from '../page.ts';
import { pageHeader } from '../parts/header.ts';
import { readText } from '../query.ts';
import { DELIVERIES_PATH } from './filter.ts';

const PATH = `${DELIVERIES_PATH}/watch`;
const STREAM = `${DELIVERIES_PATH}/live`;

export function deliveryLivePages({ pages, services, store, feed }: PageDependencies): PageRoute[] {
  const webhookOf = async (id: string): Promise<TailWebhook | null> => store.webhooks.get(id);
  return [
    pages.view(PATH, async (call) => {
      const id = readText(call.query, 'webhook');
      const webhook = id === null ? null : await services.webhooks.get(id);
      const attempts =
        webhook === null
          ? await store.attempts.latest(TAIL_BEGINS_WITH)
          : await store.attempts.latestOf(webhook.progress.webhookNumber, TAIL_BEGINS_WITH);
      const all = webhook === null ? await store.webhooks.list('', CHOICES_MAX) : [webhook];
      const byNumber = new Map(all.map((one) => [one.progress.webhookNumber, one]));
      const list = tail({
        attempts,
        webhookOf: ({ webhookNumber }) => byNumber.get(webhookNumber) ?? null,
        isOfAll: webhook === null,
        stream: webhook === null ? STREAM : `/webhooks/${webhook.id}/live`,
      });
      const lead =
        webhook === null
          ? 'Every request to a receiver, as it is made.'
          : html`Every request for <a href="/webhooks/${webhook.id}">${webhook.name}</a>, as it is made.`;
      const crumbs = [{ href: DELIVERIES_PATH, label: 'Deliveries' }];
      return { title: 'Live', content: html`${pageHeader({ title: 'Live', lead, crumbs })}${list}` };
    }),
    pages.stream(STREAM, ({ signal }) => tailEvents(feed, null, webhookOf, signal)),
    pages.stream('/webhooks/{id}/live', async ({ params, signal }) => {
      const { id } = await services.webhooks.get(params.id ?? '');
      return tailEvents(feed, id, webhookOf, signal);
    }),
  ];
}
