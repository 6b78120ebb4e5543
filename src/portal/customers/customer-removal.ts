/** The end of the page of a customer: suspending it, and why it cannot be deleted. The question says the latter too. */
import type { Customer } from '../../domain/customer.ts';
import type { Html } from '../../http/html.ts';
import type { Belongings } from '../../store/port/customers.ts';
import { buttonRow, linkButton, section } from '../parts/header.ts';
import type { HeldRecord } from '../parts/removal.ts';
import { countOf, listText } from '../parts/text.ts';

export const NOTHING: Belongings = { users: 0, applications: 0, endpoints: 0, keys: 0, webhooks: 0 };

/** Why a customer cannot be deleted: the resources that it has. Null for none. */
export function heldByBelongings(
  { endpoints, webhooks, applications, keys, users }: Belongings,
  active: boolean,
): HeldRecord | null {
  // In the order in which they can be deleted: what uses others comes first.
  const counts = [
    [webhooks, 'webhook'],
    [endpoints, 'endpoint'],
    [keys, 'key'],
    [applications, 'application'],
    [users, 'user'],
  ] as const;
  const owned = counts.filter(([count]) => count > 0);
  const [first, ...others] = owned;
  if (first === undefined) return null;
  const order = others.length > 0 ? 'these first, in this order' : first[0] > 1 ? 'these first' : 'this first';
  return {
    title: `This customer cannot be deleted: it has ${listText(owned.map(([count, noun]) => countOf(count, noun)))}.`,
    text: `Delete ${order}${active ? ', or suspend the customer instead' : ''}.`,
  };
}

/** Leads to the question. */
export function suspensionSection({ id }: Customer): Html {
  return section({
    title: 'Suspend',
    lead:
      'Its webhooks stop and keep their pending deliveries. Its applications, users and portal links have no access ' +
      'until you activate it again.',
    content: buttonRow([linkButton({ href: `/customers/${id}/suspend`, label: 'Suspend the customer', icon: 'stop' })]),
  });
}
