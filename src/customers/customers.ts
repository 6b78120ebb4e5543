/** Customers as resources (contract §8.1, §8.5). Deactivating one stops its webhooks; activating it starts them again. */

import { z } from 'zod';
import type { Acting } from '../domain/acting.ts';
import { auditEntry } from '../domain/audit.ts';
import type { Customer, CustomerLimits } from '../domain/customer.ts';
import {
  ENDPOINTS_LIMIT_DEFAULT,
  ENDPOINTS_LIMIT_MAX,
  EVENTS_PER_SECOND_LIMIT_MAX,
  EXTERNAL_ID_MAX_LENGTH,
  METADATA_NAME_MAX_LENGTH,
  METADATA_PAIRS_MAX,
  METADATA_VALUE_MAX_LENGTH,
  WEBHOOKS_LIMIT_DEFAULT,
  WEBHOOKS_LIMIT_MAX,
} from '../domain/limits.ts';
import type { Progress, Webhook } from '../domain/webhook.ts';
import { isRunnable, isStoppedFor, startedProgress, stateChange, stoppedProgress } from '../domain/webhook-states.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import { displayName, id, instant, isoInstant, plainText } from '../kernel/schemas.ts';
import { type Administration, administer } from '../resources/administration.ts';
import { type BodyOf, inputReader } from '../resources/input.ts';
import { choiceFilter, type ListRules, TRUE_OR_FALSE, textFilter } from '../resources/list-rules.ts';
import type { CustomerVerbs } from '../store/port/customers.ts';
import { everyRow } from '../store/port/resource.ts';
import type { Store } from '../store/port/store.ts';
import type { WebhookStart, WebhookVerbs } from '../store/port/webhooks.ts';

const metadata = z
  .record(plainText(METADATA_NAME_MAX_LENGTH), z.string().max(METADATA_VALUE_MAX_LENGTH))
  .refine((pairs) => Object.keys(pairs).length <= METADATA_PAIRS_MAX, `must have at most ${METADATA_PAIRS_MAX} pairs`);

const limit = (min: number, max: number, description: string) =>
  z.int().min(min).max(max).nullable().default(null).meta({ description });
const limitsInput = z
  .strictObject({
    endpoints: limit(0, ENDPOINTS_LIMIT_MAX, `Endpoints that the customer can have; null: ${ENDPOINTS_LIMIT_DEFAULT}.`),
    webhooks: limit(0, WEBHOOKS_LIMIT_MAX, `Webhooks that the customer can have; null: ${WEBHOOKS_LIMIT_DEFAULT}.`),
    eventsPerSecond: limit(
      1,
      EVENTS_PER_SECOND_LIMIT_MAX,
      'Events that can be published for the customer each second; null: any number.',
    ),
  })
  .meta({ id: 'CustomerLimitsInput', description: 'A lower limit keeps existing resources.' });
const DEFAULTS = { endpoints: null, webhooks: null, eventsPerSecond: null };

function limitsOf({ endpoints, webhooks, eventsPerSecond }: z.output<typeof limitsInput>): CustomerLimits {
  return {
    endpoints: endpoints ?? ENDPOINTS_LIMIT_DEFAULT,
    webhooks: webhooks ?? WEBHOOKS_LIMIT_DEFAULT,
    eventsPerSecond,
  };
}

const customerInput = z
  .strictObject({
    name: displayName,
    externalId: plainText(EXTERNAL_ID_MAX_LENGTH)
      .nullable()
      .default(null)
      .meta({ description: 'Your own id of the customer. Unique.' }),
    metadata: metadata.default({}).meta({ description: `At most ${METADATA_PAIRS_MAX} pairs of text.` }),
    active: z.boolean().default(true).meta({
      description:
        'False suspends the customer: its sessions, applications and tokens are refused, and its webhooks stop.',
    }),
    limits: limitsInput.default(DEFAULTS),
  })
  .meta({
    id: 'CustomerInput',
    description: 'A customer that you serve: the owner of endpoints, webhooks and applications.',
  });
export type CustomerBody = BodyOf<typeof customerInput>;
type CustomerInput = z.output<typeof customerInput>;

export const customerView = z
  .object({
    id,
    name: z.string(),
    externalId: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    active: z.boolean(),
    limits: z.object({ endpoints: z.int(), webhooks: z.int(), eventsPerSecond: z.int().nullable() }).meta({
      id: 'CustomerLimits',
      description: 'How much the customer can have. Without a limit of events a second: null.',
    }),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Customer', description: customerInput.description });
export type CustomerView = z.infer<typeof customerView>;
export const customerReader = inputReader(customerInput, customerView);

export const CUSTOMER_LIST: ListRules = {
  name: 'customers',
  filters: {
    name: textFilter('With this name.'),
    externalId: textFilter('With this external id.'),
    active: choiceFilter(TRUE_OR_FALSE, 'Active, or not.'),
  },
  sorts: { name: 'text' },
};

/** Also takes `externalId:…` in place of an id. */
export type Customers = Administration<Customer, CustomerBody, CustomerInput>;

const EXTERNAL_ID_PREFIX = 'externalId:';

type Dependencies = {
  readonly store: CustomerVerbs & WebhookVerbs;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Tells the dispatcher that there may be work. */
  readonly wake: () => void;
};

export function createCustomers(dependencies: Dependencies): Customers {
  const { store, clock, ids, wake } = dependencies;
  const administration = administer<Customer, CustomerBody, CustomerInput>(
    {
      name: 'customer',
      store: { ...store.customers, update: updateWith(dependencies) },
      reader: customerReader,
      writable: ({ name, externalId, metadata: pairs, active, limits }) => ({
        name,
        externalId,
        metadata: pairs,
        active,
        limits,
      }),
      shown: viewCustomer,
      build: async (input, _, stamp) => ({ record: { ...stamp, ...input, limits: limitsOf(input.limits) } }),
      referrers: async ({ id: customerId }) => {
        const belongings = (await store.customers.belongings([customerId])).get(customerId) ?? {};
        return Object.entries(belongings).flatMap(([kind, count]) =>
          count === 0 ? [] : [`${count} ${count === 1 ? kind.slice(0, -1) : kind}`],
        );
      },
      unique: { 'customer.external_id': 'externalId' },
      audited: ({ limits, ...customer }) => ({
        ...customer,
        'limits.endpoints': limits.endpoints,
        'limits.webhooks': limits.webhooks,
        'limits.eventsPerSecond': limits.eventsPerSecond,
      }),
    },
    { clock, ids },
  );
  /** The id of the customer that the text names. Unknown external ids stay, and are refused as unknown. */
  const idOf = async (text: string): Promise<string> => {
    if (!text.startsWith(EXTERNAL_ID_PREFIX)) return text;
    const customer = await store.customers.getByExternalId(text.slice(EXTERNAL_ID_PREFIX.length));
    return customer?.id ?? text;
  };
  return {
    ...administration,
    get: async (text) => administration.get(await idOf(text)),
    patch: async (text, patch, acting) => {
      const customer = await administration.patch(await idOf(text), patch, acting);
      wake();
      return customer;
    },
    remove: async (text, acting: Acting) => administration.remove(await idOf(text), acting),
  };
}

/** Stops or starts the customer's webhooks in the transaction that changes `active`. */
function updateWith(dependencies: Dependencies): Store['customers']['update'] {
  const { store } = dependencies;
  return async (customer, before, audit, first) => {
    const changes = customer.active === before.active ? [] : await webhookChanges(dependencies, customer, audit.at);
    await store.customers.update(customer, before, audit, first, changes);
    if (!customer.active) return;
    // Batches that waited for a retry are due now.
    for (const { change } of changes) await store.webhooks.resume(change.progress.webhookNumber, audit.at);
  };
}

const PAGE = 200;

async function webhookChanges({ store, ids }: Dependencies, { id: customerId, active }: Customer, now: number) {
  const changes: WebhookStart[] = [];
  for await (const webhook of everyRow(PAGE, (after) => store.webhooks.list(after, PAGE, { customerId }))) {
    const progress = active ? startedAgain(webhook, ids.uuid(), now) : stopped(webhook, now);
    if (progress === null) continue;
    const action = active ? ('webhook.start' as const) : ('webhook.stop' as const);
    const { state, stateReason } = webhook.progress;
    changes.push({
      change: stateChange(webhook, progress, ids),
      audit: auditEntry(ids, 'service', action, `webhook:${webhook.id}`, {
        at: now,
        customerId,
        changes: {
          ...(progress.state !== state && { state: { from: state, to: progress.state } }),
          stateReason: { from: stateReason, to: progress.stateReason },
        },
      }),
    });
  }
  return changes;
}

/** A webhook that stopped with its endpoint gets another reason: enabling the endpoint must not start it for a suspended customer. */
function stopped({ progress }: Webhook, now: number): Progress | null {
  const reason = 'customer_inactive';
  if (isRunnable(progress.state)) return stoppedProgress(progress, 'stop', reason, now);
  return isStoppedFor(progress, 'endpoint_disabled') ? { ...progress, stateReason: reason } : null;
}

function startedAgain(webhook: Webhook, sessionId: string, now: number): Progress | null {
  return isStoppedFor(webhook.progress, 'customer_inactive') ? startedProgress(webhook, { sessionId, now }) : null;
}

export function viewCustomer({ createdAt, updatedAt, ...customer }: Customer): CustomerView {
  return {
    ...customer,
    metadata: { ...customer.metadata },
    limits: { ...customer.limits },
    createdAt: isoInstant(createdAt),
    updatedAt: isoInstant(updatedAt),
  };
}
