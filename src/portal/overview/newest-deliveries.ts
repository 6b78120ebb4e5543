/** The newest deliveries on the overview of a customer: whether the events of its last minutes arrived. */
import type { Delivery } from '../../domain/webhook.ts';
import type { Html } from '../../http/html.ts';
import type { Store } from '../../store/port/store.ts';
import { DELIVERIES_PATH } from '../deliveries/delivery-tabs.ts';
import { latestTable } from '../deliveries/latest-deliveries.ts';
import { linkButton, section } from '../parts/header.ts';

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
    content: latestTable(
      deliveries.map((delivery) => ({ delivery, attempt: null })),
      { hasWebhooks: true, hasResponses: false, now },
    ),
  });
}
