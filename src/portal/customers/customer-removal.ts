/** Why a customer cannot be deleted, on its page and in place of the question. */
import type { Belongings } from '../../store/port/customers.ts';
import type { HeldRecord } from '../parts/removal.ts';
import { countOf, listText } from '../parts/text.ts';

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
