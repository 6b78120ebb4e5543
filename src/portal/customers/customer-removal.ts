/** Why a customer cannot be deleted, on its page and in place of the question. */
import type { Belongings } from '../../store/port/customers.ts';
import type { HeldRecord } from '../parts/removal.ts';
import { countOf } from '../parts/text.ts';

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
  const parts = counts.flatMap(([count, noun]) => (count === 0 ? [] : [countOf(count, noun)]));
  const last = parts.pop();
  if (last === undefined) return null;
  const has = parts.length === 0 ? last : `${parts.join(', ')} and ${last}`;
  return {
    title: `This customer cannot be deleted: it has ${has}.`,
    text: `Delete these first, in this order${active ? ', or suspend the customer instead' : ''}.`,
  };
}
