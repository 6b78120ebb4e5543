/** Why the webhooks that subscribe to the type of an event did not get it. Changes nothing. */
import { type Audience, EVERYONE, type EventType, OPERATOR_ONLY } from '../domain/event.ts';
import type { Judged } from '../domain/filter.ts';
import { whyNot } from '../domain/filter-text.ts';
import { parsing } from '../kernel/json-parts.ts';
import { slices, type Work } from '../kernel/slices.ts';
import type { Subscriber } from '../store/port/directory.ts';
import type { PublishedEvent } from '../store/port/events.ts';
import type { Store } from '../store/port/store.ts';

/** Subscribed webhooks that are examined. */
const SUBSCRIBERS_EXAMINED = 100;
/** Reasons of one filter that are listed. */
const REASONS_MAX = 5;

/** A webhook that did not get the event, and the reason in one sentence. */
type Missed = Pick<Subscriber, 'id' | 'name' | 'customerId'> & { readonly reason: string };

/** `more`: subscribed webhooks that were not examined. */
export type MissedBy = {
  readonly missed: readonly Missed[];
  readonly more: number;
  readonly total: number;
  readonly ofCustomers: number;
};

/** `got`: the ids of the webhooks that have the event in their log. */
export async function missedBy(
  store: Pick<Store, 'uses' | 'eventTypes'>,
  event: PublishedEvent,
  got: ReadonlySet<string>,
): Promise<MissedBy> {
  const { type, audience, dataJson } = event;
  const [{ first, total, ofCustomers }, eventType] = await Promise.all([
    store.uses.subscribers(type, audience, SUBSCRIBERS_EXAMINED),
    store.eventTypes.getByName(type),
  ]);
  const others = first.filter(({ id }) => !got.has(id));
  const missed = await slices(null, explaining(event, eventType, others), dataJson?.length ?? 0);
  return { missed, more: total - first.length, total, ofCustomers };
}

function* explaining(
  event: PublishedEvent,
  eventType: EventType | null,
  subscribers: readonly Subscriber[],
): Work<Missed[]> {
  const { type, subject, dataJson } = event;
  const judged: Judged | null = dataJson === null ? null : { type, subject, data: yield* parsing(dataJson) };
  const missed: Missed[] = [];
  for (const subscriber of subscribers) {
    const { id, name, customerId } = subscriber;
    missed.push({ id, name, customerId, reason: whyMissed(event, eventType, subscriber, judged) });
    yield;
  }
  return missed;
}

/** An event that would be published: of a type that exists, with its data. */
type Draft = Judged & { readonly audience: Audience };

/** Who would get an event: the webhooks that subscribe to its type, among the first ones, and why it would not reach others. */
export async function foretold(
  store: Pick<Store, 'uses' | 'eventTypes'>,
  draft: Draft,
): Promise<{ readonly gets: readonly Subscriber[]; readonly misses: readonly Missed[]; readonly more: number }> {
  const { type, audience } = draft;
  const [{ first, total }, eventType] = await Promise.all([
    store.uses.subscribers(type, audience, SUBSCRIBERS_EXAMINED),
    store.eventTypes.getByName(type),
  ]);
  const { gets, misses } = await slices(null, judging(draft, eventType, first), 0);
  return { gets, misses, more: total - first.length };
}

function* judging(
  draft: Draft,
  eventType: EventType | null,
  subscribers: readonly Subscriber[],
): Work<{ readonly gets: Subscriber[]; readonly misses: Missed[] }> {
  const gets: Subscriber[] = [];
  const misses: Missed[] = [];
  for (const subscriber of subscribers) {
    const { id, name, customerId } = subscriber;
    const reason = whyStopped(draft, eventType, subscriber, draft);
    if (reason === null) gets.push(subscriber);
    else misses.push({ id, name, customerId, reason });
    yield;
  }
  return { gets, misses };
}

/** Why a webhook did not get the event. */
function whyMissed(
  event: PublishedEvent,
  eventType: EventType | null,
  subscriber: Subscriber,
  judged: Judged | null,
): string {
  const { createdAt } = event;
  // What stops an event for others comes before the times, and a filter after them.
  const stopped = whyStopped(event, eventType, { ...subscriber, filter: null }, judged);
  if (stopped !== null) return stopped;
  if (subscriber.createdAt > createdAt) return 'The webhook was created after the event.';
  const filtered = whyStopped(event, eventType, subscriber, judged);
  if (filtered !== null) return filtered;
  return subscriber.updatedAt > createdAt
    ? 'The webhook was changed after the event.'
    : 'Its delivery is not kept any more.';
}

/** The first rule that stops the event (contract §8.6). Filters are judged as they are now. Null: none does. */
function whyStopped(
  { audience }: Pick<PublishedEvent, 'audience'>,
  eventType: EventType | null,
  subscriber: Pick<Subscriber, 'customerId' | 'filter'>,
  judged: Judged | null,
): string | null {
  const { customerId, filter } = subscriber;
  if (customerId !== null && eventType?.public === false) return 'The type is internal, so no customer gets it.';
  if (customerId !== null && audience === OPERATOR_ONLY) return 'The event names no customer.';
  if (customerId !== null && audience !== EVERYONE && audience !== customerId)
    return 'The event is for another customer.';
  const reasons: string[] = [];
  if (filter !== null && judged !== null) {
    for (const reason of whyNot(filter)(judged, eventType?.encryptionRequired !== false)) {
      reasons.push(reasons.length < REASONS_MAX ? reason : 'and more');
      if (reasons.length > REASONS_MAX) break;
    }
  }
  return reasons.length === 0 ? null : `Its filter stops the event: ${reasons.join('; ')}.`;
}
