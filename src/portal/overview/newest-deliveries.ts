/** The latest deliveries on the overview of a customer: whether the events of its last minutes arrived, and how its receivers answer. */
import type { Delivery } from '../../domain/webhook.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import type { Html } from '../../http/html.ts';
import type { Store } from '../../store/port/store.ts';
import { isReplayable, isWaiting } from '../../webhooks/deliveries.ts';
import { DELIVERIES_PATH } from '../deliveries/delivery-tabs.ts';
import { type CustomersDeliveries, latestSection, readCustomersDeliveries } from '../deliveries/latest-deliveries.ts';
import { linkButton, submitButton } from '../parts/header.ts';

/** Null for the operator, whose service has too many for a list of a few, and for a customer without any. */
export async function readNewestDeliveries(
  store: Pick<Store, 'customerId' | 'directory' | 'deliveries' | 'attempts'>,
): Promise<CustomersDeliveries | null> {
  const newest = store.customerId === null ? null : await readCustomersDeliveries(store);
  return newest?.rows.length === 0 ? null : newest;
}

/** `form`: the id of the form that the buttons send; null for someone who may not act. */
export function newestDeliveries(newest: CustomersDeliveries | null, form: string | null, now: number): Html | null {
  if (newest === null) return null;
  return latestSection(newest, newest.webhookIds, {
    now,
    isPulled: false,
    actions: [linkButton({ href: DELIVERIES_PATH, label: 'All deliveries' })],
    actionOf: (delivery) => (form === null ? null : sendButton(delivery, form, now)),
  });
}

/** For one that waits for its next attempt, or is dead, while its webhook runs. */
function sendButton(delivery: Delivery, form: string, now: number): Html | null {
  const { id, state, offset, attemptCount, webhookState } = delivery;
  const isDead = state === 'dead' && isReplayable(delivery);
  const isRetried = attemptCount > 0 && isWaiting(delivery, now);
  if (!isRunnable(webhookState) || !(isDead || isRetried)) return null;
  const label = isDead ? 'Send again' : 'Try now';
  return submitButton({
    form,
    formAction: `${DELIVERIES_PATH}/${id}/replay`,
    kind: 'plain',
    label,
    longLabel: `${label}: #${offset}`,
    icon: isDead ? 'replay' : 'send',
  });
}
