/** The limits on how many resources a customer has (contract §8.7), no matter who creates them. */
import { Refusal } from '../kernel/refusal.ts';
import type { CustomerStore } from '../store/port/customers.ts';

/** The limited resources, as fields of `limits`. */
export type Limited = 'endpoints' | 'webhooks';

/** Throws 409 `limit_reached` if the customer has reached its limit. */
export async function refuseBeyondLimit(
  customers: Pick<CustomerStore, 'get' | 'belongings'>,
  limited: Limited,
  customerId: string | null,
): Promise<void> {
  if (customerId === null) return;
  const customer = await customers.get(customerId);
  if (customer === null) return;
  const limit = customer.limits[limited];
  const count = (await customers.belongings([customerId])).get(customerId)?.[limited] ?? 0;
  if (count < limit) return;
  const noun = limit === 1 ? limited.slice(0, -1) : limited;
  throw new Refusal('limit_reached', `the customer ${customer.name} has ${count} of at most ${limit} ${noun}`);
}
