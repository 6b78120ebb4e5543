/** Who may be given access to the portal of a customer, by a link or a token (contract §8.10). */
import { requireRightsOfLink } from '../access/containment.ts';
import type { Acting } from '../domain/acting.ts';
import { offeredScopes } from '../domain/catalogue.ts';
import type { Customer } from '../domain/customer.ts';
import type { Role } from '../domain/user.ts';
import type { Clock, Ids, Random } from '../kernel/ids.ts';
import { Refusal } from '../kernel/refusal.ts';
import { refuseChanged } from '../resources/entity-tag.ts';
import type { AccessVerbs } from '../store/port/access.ts';
import type { CustomerVerbs } from '../store/port/customers.ts';
import { type Customers, viewCustomer } from './customers.ts';

export type PortalAccessDependencies = {
  readonly store: AccessVerbs & CustomerVerbs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly customers: Customers;
};

/**
 * The customer of this name. Throws 404 for an unknown one, 409 for a suspended one, 412 if it has changed, and 401
 * `insufficient_permission` for a role with rights that the caller lacks.
 */
export async function customerToOpen(
  { store, customers }: Pick<PortalAccessDependencies, 'store' | 'customers'>,
  named: string,
  role: Role,
  acting: Acting,
): Promise<Customer> {
  const customer = await customers.get(named);
  refuseChanged(acting.ifMatch, viewCustomer(customer), 'customer');
  requireRightsOfLink(acting, role, offeredScopes(await store.products.all()));
  if (!customer.active) throw new Refusal('invalid_state', `the customer ${customer.name} is suspended`);
  return customer;
}
