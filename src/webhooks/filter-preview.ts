/** Which of the latest events a filter would let pass, and why not the others (contract §8 "Filters"). Changes nothing. */
import { type EventType, matchingTypes, typesFor } from '../events/event.ts';
import { compileFilter, type Filter } from '../kernel/filter.ts';
import { whyNot } from '../kernel/filter-text.ts';
import { FILTER_PREVIEW_BYTES } from '../kernel/limits/limits.ts';
import { isoInstant } from '../kernel/schemas.ts';
import type { Store } from '../store/store.ts';
import type { Webhook } from './webhook.ts';
import type { FilterPreview, FilterPreviewInput } from './webhook-schema.ts';

/**
 * Judges the latest events that a webhook of this customer with these `eventTypes` could have got; of all customers with null. A filter that
 * is null lets all pass.
 */
export async function previewFilter(
  store: Pick<Store, 'eventTypes' | 'events'>,
  { customerId, eventTypes }: Pick<Webhook, 'customerId' | 'eventTypes'>,
  { filter, limit }: FilterPreviewInput,
): Promise<FilterPreview> {
  const types = subscribedTypes(eventTypes, typesFor(customerId, await store.eventTypes.all()));
  const limits = { events: limit, maxBytes: FILTER_PREVIEW_BYTES };
  const latest = await store.events.latest([...types.keys()], customerId, limits);
  const judge = judgeOf(filter, types);
  const items = latest.map(({ id: eventId, type, subject, createdAt, dataJson }) => ({
    ...{ eventId, eventType: type, createdAt: isoInstant(createdAt) },
    ...judge({ type, subject, data: JSON.parse(dataJson) as unknown }),
  }));
  return { judged: items.length, passed: items.filter((item) => item.passes).length, items };
}

/** By name. */
function subscribedTypes(patterns: readonly string[], all: readonly EventType[]): ReadonlyMap<string, EventType> {
  return new Map(patterns.flatMap((pattern) => matchingTypes(pattern, all)).map((type) => [type.name, type]));
}

type Verdict = { readonly passes: boolean; readonly reasons: string[] };

/** The reasons say nothing of data that must be encrypted. */
function judgeOf(
  filter: Filter | null,
  types: ReadonlyMap<string, EventType>,
): (event: Parameters<typeof whyNot>[1]) => Verdict {
  if (filter === null) return () => ({ passes: true, reasons: [] });
  const passes = compileFilter(filter);
  return (event) =>
    passes(event)
      ? { passes: true, reasons: [] }
      : { passes: false, reasons: whyNot(filter, event, types.get(event.type)?.encryptionRequired !== false) };
}
