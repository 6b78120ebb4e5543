/** Who gets the events of a request, and how many events a second may be published for them (contract §8.6, §8.7). */
import { THOUSANDTHS, type WantedEvents } from '../domain/allowance.ts';
import { type Accepted, type Audience, EVERYONE, type NewEvent, OPERATOR_ONLY } from '../domain/event.ts';
import { isUuidV7 } from '../kernel/ids.ts';
import { type FieldProblem, Refusal, refuseField } from '../kernel/refusal.ts';
import type { Store } from '../store/port/store.ts';

type Asked = {
  readonly customerId?: string | null | undefined;
  readonly customerExternalId?: string | null | undefined;
  readonly audience?: 'everyone' | null | undefined;
};

/** A customer that events are published for. `eventsPerSecond` null: no limit. */
type Addressee = { readonly id: string; readonly name: string; readonly eventsPerSecond: number | null };

type Audiences = {
  /** The audience of each input, or the problem with it. */
  readonly audiences: readonly (Audience | FieldProblem)[];
  readonly addressees: ReadonlyMap<string, Addressee>;
};

type Customers = Pick<Store, 'customerId' | 'customers'>;

/** A customer publishes only for itself. Each customer is looked up once a request. */
export async function audiencesOf(store: Customers, inputs: readonly Asked[]): Promise<Audiences> {
  const found = new Map<string, Audience | FieldProblem>();
  const addressees = new Map<string, Addressee>();
  const audiences: (Audience | FieldProblem)[] = [];
  for (const { customerId = null, customerExternalId = null, audience = null } of inputs) {
    const asked = JSON.stringify([customerId, customerExternalId, audience]);
    const known =
      found.get(asked) ?? (await audienceOf(store, { customerId, customerExternalId, audience }, addressees));
    found.set(asked, known);
    audiences.push(known);
  }
  return { audiences, addressees };
}

async function audienceOf(
  { customerId: own, customers }: Customers,
  asked: { readonly [Field in keyof Required<Asked>]: string | null },
  addressees: Map<string, Addressee>,
): Promise<Audience | FieldProblem> {
  const { customerId, customerExternalId, audience } = asked;
  if (audience !== null && (customerId !== null || customerExternalId !== null))
    return { field: 'audience', problem: 'cannot be combined with a customer' };
  if (audience !== null) return own === null ? EVERYONE : { field: 'audience', problem: 'is only for the operator' };
  const byId = customerId === null || !isUuidV7(customerId) ? null : await customers.get(customerId);
  if (customerId !== null && byId === null) return { field: 'customerId', problem: 'is not the id of a customer' };
  const byExternalId = customerExternalId === null ? null : await customers.getByExternalId(customerExternalId);
  if (customerExternalId !== null && byExternalId === null)
    return { field: 'customerExternalId', problem: 'is not the external id of a customer' };
  if (byId !== null && byExternalId !== null && byId.id !== byExternalId.id)
    return { field: 'customerExternalId', problem: 'is of another customer than customerId' };
  const customer = byId ?? byExternalId ?? (own === null ? null : await customers.get(own));
  if (customer === null) return own ?? OPERATOR_ONLY;
  const { id, name, limits } = customer;
  addressees.set(id, { id, name, eventsPerSecond: limits.eventsPerSecond });
  return id;
}

/** Events of one request for a customer that has a limit. */
export type LimitedEvents = WantedEvents & { readonly name: string };

/** How many of the events are for each customer with a limit. Throws 400 if they are more than pass in any second. */
export function limitedEvents(
  events: readonly Pick<NewEvent, 'audience'>[],
  addressees: Audiences['addressees'],
): LimitedEvents[] {
  const limited: LimitedEvents[] = [];
  for (const { id, name, eventsPerSecond: perSecond } of addressees.values()) {
    if (perSecond === null) continue;
    const count = events.filter(({ audience }) => audience === id).length;
    if (count > perSecond) {
      const allowed = `of which at most ${perSecond} a second can be published`;
      throw refuseField('events', `has ${count} events for the customer ${name}, ${allowed}: divide the request`);
    }
    if (count > 0) limited.push({ customerId: id, name, perSecond, events: count });
  }
  return limited;
}

/** Takes the events from the allowances of all their customers. Takes nothing and throws 429 if one of them has not enough left. */
export async function takeAllowances(
  allowances: Store['allowances'],
  limited: readonly LimitedEvents[],
  now: number,
): Promise<void> {
  if (limited.length === 0) return;
  const allowed = await allowances.take(limited, now);
  if (allowed.ok) return;
  const one = limited.find(({ customerId }) => customerId === allowed.customerId);
  const seconds = Math.max(1, Math.ceil(allowed.waitMs / THOUSANDTHS));
  throw new Refusal(
    'too_many_requests',
    `the customer ${one?.name} has a limit of ${one?.perSecond} events a second: publish again in ${seconds} s`,
    { headers: { 'Retry-After': String(seconds) } },
  );
}

/** Gives back the allowance of events that were not kept. If that fails, the allowances are full again within a second. */
export async function giveBack(
  allowances: Store['allowances'],
  limited: readonly LimitedEvents[],
  now: number,
): Promise<void> {
  const wanted = limited.filter(({ events }) => events > 0);
  if (wanted.length > 0) await allowances.giveBack(wanted, now).catch(() => undefined);
}

/** Returns the part of the allowances that was taken for duplicates. */
export function duplicatesOf(
  limited: readonly LimitedEvents[],
  accepted: readonly Accepted[],
  audiences: readonly Audience[],
): LimitedEvents[] {
  return limited.map((one) => ({
    ...one,
    events: accepted.filter(({ duplicate }, at) => duplicate && audiences[at] === one.customerId).length,
  }));
}

/** Events for everyone count for the operator. Duplicates count for nobody. */
export function countEvents(
  usage: Pick<Store['usage'], 'count'>,
  accepted: readonly Accepted[],
  audiences: readonly Audience[],
  now: number,
): void {
  for (const [at, { duplicate }] of accepted.entries()) {
    const audience = audiences[at];
    const customerId = audience === OPERATOR_ONLY || audience === EVERYONE ? null : (audience ?? null);
    if (!duplicate) usage.count(customerId, ONE_EVENT, now);
  }
}

const ONE_EVENT = { events: 1 };
