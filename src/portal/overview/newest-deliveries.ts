/** The newest deliveries on the overview of a customer: whether the events of its last minutes arrived. */
import type { Delivery } from '../../domain/webhook.ts';
import { type Html, html } from '../../http/html.ts';
import type { Store } from '../../store/port/store.ts';
import { deliveryBadge, eventCell, progressOf, subjectCell } from '../deliveries/delivery-rows.ts';
import { DELIVERIES_PATH } from '../deliveries/delivery-tabs.ts';
import { linkButton, section } from '../parts/header.ts';
import { table } from '../parts/list.ts';
import { shortTime } from '../parts/text.ts';

const SHOWN = 5;

/** None for the operator, whose service has too many for a list of a few. */
export async function readNewestDeliveries({
  customerId,
  deliveries,
}: Pick<Store, 'customerId' | 'deliveries'>): Promise<readonly Delivery[]> {
  return customerId === null ? [] : (await deliveries.list({}, null, SHOWN)).items;
}

export function newestDeliveries(deliveries: readonly Delivery[], now: number): Html | null {
  if (deliveries.length === 0) return null;
  return section({
    title: 'Latest deliveries',
    id: 'deliveries',
    isPlain: true,
    actions: [linkButton({ href: DELIVERIES_PATH, label: 'All deliveries' })],
    content: table({
      caption: 'Latest deliveries',
      columns: [
        { label: 'State', phone: 'state' },
        { label: 'Event', kind: 'main' },
        { label: 'Subject', phone: 'plain' },
        { label: 'Webhook', phone: 'plain' },
        { label: 'Outcome', phone: 'plain' },
        { label: 'Published', phone: 'plain' },
      ],
      rows: deliveries.map((delivery) => [
        deliveryBadge(delivery),
        eventCell(delivery),
        subjectCell(delivery.subject),
        html`<a class="plain-link" href="/webhooks/${delivery.webhookId}">${delivery.webhookName}</a>`,
        progressOf(delivery, now),
        shortTime(delivery.createdAt),
      ]),
      rowIds: deliveries.map(({ id }) => `delivery-${id}`),
      live: ['delivery', 'deliveries'],
      empty: html``,
    }),
  });
}
