/** Which of the latest events a filter would let pass, and why not the others (contract §7.4). Changes nothing. */

import { type EventType, matchingTypes, typesFor } from '../domain/event.ts';
import { compileFilter, type EventFilter, type Judged } from '../domain/filter.ts';
import { whyNot } from '../domain/filter-text.ts';
import type { Webhook } from '../domain/webhook.ts';
import { createFairQueue } from '../kernel/fair-queue.ts';
import { parsing } from '../kernel/json-parts.ts';
import { isoInstant } from '../kernel/schemas.ts';
import { slices, type Work } from '../kernel/slices.ts';
import type { PastEvent } from '../store/port/events.ts';
import type { Store } from '../store/port/store.ts';
import { FILTER_PREVIEW_BYTES } from './limits.ts';
import type { FilterPreview, FilterPreviewInput } from './webhook-schema.ts';

/** Previews in progress of one customer and of the operator, each with as many bytes; and the reasons of an event. */
export const FILTER_PREVIEWS = 2;
const FILTER_PREVIEWS_OF_OPERATOR = 16;
const FILTER_REASONS_MAX = 10;

/**
 * Judges the latest events that a webhook of this customer with these `eventTypes` could have got; of all customers with null. A filter
 * that is null lets all pass. Throws 429 while too many previews of the customer are in progress.
 */
export async function previewFilter(
  store: Pick<Store, 'eventTypes' | 'events'>,
  { customerId, eventTypes }: Pick<Webhook, 'customerId' | 'eventTypes'>,
  { filter, limit }: FilterPreviewInput,
): Promise<FilterPreview> {
  const leave = previews.take(customerId);
  try {
    const types = subscribedTypes(eventTypes, typesFor(customerId, await store.eventTypes.all()));
    const limits = { events: limit, maxBytes: FILTER_PREVIEW_BYTES };
    const latest = await store.events.latest([...types.keys()], customerId, limits);
    const items = await slices(customerId, judging(latest, filter, types));
    return { judged: items.length, passed: items.filter((item) => item.passes).length, items };
  } finally {
    leave();
  }
}

/** The same for the samples of event types, for someone whose events are still to come. Types without a sample are left out. */
export async function previewOnSamples(
  types: readonly EventType[],
  { filter, limit }: FilterPreviewInput,
  customerId: string | null,
): Promise<FilterPreview> {
  const leave = previews.take(customerId);
  try {
    const sampled = types.filter(({ sample }) => sample !== null).slice(0, limit);
    const events = sampled.map(({ id, name, sample }) => {
      return { id, type: name, subject: null, createdAt: 0, dataJson: JSON.stringify(sample) };
    });
    const byName = new Map(sampled.map((type) => [type.name, type]));
    const items = await slices(customerId, judging(events, filter, byName));
    return { judged: items.length, passed: items.filter((item) => item.passes).length, items };
  } finally {
    leave();
  }
}

/** Each preview holds its events in memory. */
const previews = createFairQueue({
  what: 'previews of filters',
  places: Number.POSITIVE_INFINITY,
  placesPerOwner: FILTER_PREVIEWS,
  placesOfOperator: FILTER_PREVIEWS_OF_OPERATOR,
});

type Past = Pick<PastEvent, 'id' | 'type' | 'subject' | 'createdAt' | 'dataJson'>;

/** The reasons say nothing of data that must be encrypted. */
function* judging(
  events: readonly Past[],
  filter: EventFilter | null,
  types: ReadonlyMap<string, EventType>,
): Work<FilterPreview['items']> {
  const passes = filter === null ? () => true : compileFilter(filter);
  const explain = whyNot(filter ?? {});
  const items: FilterPreview['items'] = [];
  for (const { id: eventId, type, subject, createdAt, dataJson } of events) {
    const event: Judged = { type, subject, data: yield* parsing(dataJson) };
    yield;
    const isPassing = passes(event);
    yield;
    const reasons: string[] = [];
    for (const reason of isPassing ? [] : explain(event, types.get(type)?.encryptionRequired !== false)) {
      reasons.push(reasons.length < FILTER_REASONS_MAX ? reason : 'and more');
      if (reasons.length > FILTER_REASONS_MAX) break;
      yield;
    }
    items.push({ eventId, eventType: type, createdAt: isoInstant(createdAt), passes: isPassing, reasons });
  }
  return items;
}

/** By name. */
function subscribedTypes(patterns: readonly string[], all: readonly EventType[]): ReadonlyMap<string, EventType> {
  return new Map(patterns.flatMap((pattern) => matchingTypes(pattern, all)).map((type) => [type.name, type]));
}
