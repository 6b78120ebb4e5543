/**
 * A store that keeps new records in memory and writes nothing, so that a dry run obeys every rule that the import itself obeys: limits,
 * addresses, headers, secrets, filters and event types. Only new records are kept: a rehearsal creates, and changes nothing.
 */

import { createCustomers } from '../customers/customers.ts';
import type { Customer } from '../domain/customer.ts';
import type { Endpoint } from '../domain/endpoint.ts';
import type { EventType } from '../domain/event.ts';
import { createEventTypes } from '../events/event-types.ts';
import type { Clock, Ids, Random } from '../kernel/ids.ts';
import type { Egress } from '../outbound/egress.ts';
import type { Belongings } from '../store/port/customers.ts';
import type { Store } from '../store/port/store.ts';
import { createEndpoints } from '../webhooks/endpoints.ts';
import { createWebhooks } from '../webhooks/webhooks.ts';
import type { ImportServices } from './carry-out.ts';

/** The dependencies of the use cases. */
export type ImportDependencies = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly egress: Egress;
};

const NOTHING: Belongings = { users: 0, applications: 0, endpoints: 0, keys: 0, webhooks: 0 };

function rehearsalStore(store: Store): Store {
  const customers = new Map<string, Customer>();
  const endpoints = new Map<string, Endpoint>();
  const eventTypes: EventType[] = [];
  const added = new Map<string, { endpoints: number; webhooks: number }>();
  const count = (customerId: string | null, kind: 'endpoints' | 'webhooks'): void => {
    if (customerId === null) return;
    const before = added.get(customerId) ?? { endpoints: 0, webhooks: 0 };
    added.set(customerId, { ...before, [kind]: before[kind] + 1 });
  };
  return {
    ...store,
    customers: {
      ...store.customers,
      get: async (id) => customers.get(id) ?? store.customers.get(id),
      belongings: async (ids) => {
        const stored = await store.customers.belongings(ids);
        return new Map(
          ids.map((id) => {
            const { endpoints: more = 0, webhooks = 0 } = added.get(id) ?? {};
            const before = stored.get(id) ?? NOTHING;
            return [id, { ...before, endpoints: before.endpoints + more, webhooks: before.webhooks + webhooks }];
          }),
        );
      },
      insert: async (customer) => void customers.set(customer.id, customer),
    },
    endpoints: {
      ...store.endpoints,
      get: async (id) => endpoints.get(id) ?? store.endpoints.get(id),
      insert: async (endpoint) => {
        endpoints.set(endpoint.id, endpoint);
        count(endpoint.customerId, 'endpoints');
      },
    },
    webhooks: {
      ...store.webhooks,
      insert: async ({ customerId }) => count(customerId, 'webhooks'),
    },
    eventTypes: {
      ...store.eventTypes,
      all: async () => [...(await store.eventTypes.all()), ...eventTypes],
      insert: async (eventType) => void eventTypes.push(eventType),
    },
  };
}

/** The use cases over such a store. They send nothing: no challenge, and no word to the dispatcher. */
export function rehearsalServices({ store, ...given }: ImportDependencies): ImportServices {
  const nothing = (): void => {};
  const challenge = () => Promise.reject(new Error('a rehearsal sends nothing'));
  const dependencies = { ...given, store: rehearsalStore(store), wake: nothing };
  return {
    customers: createCustomers(dependencies),
    eventTypes: createEventTypes(dependencies),
    endpoints: createEndpoints({ ...dependencies, challenge }),
    webhooks: createWebhooks(dependencies),
  };
}
