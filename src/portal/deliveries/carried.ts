/** The deliveries that attempts carried, for lists of attempts. */
import type { AttemptRecord } from '../../domain/batch.ts';
import type { Delivery } from '../../domain/webhook.ts';
import type { RecordPlace } from '../../store/port/deliveries.ts';
import type { Store } from '../../store/port/store.ts';

/** The delivery of an attempt with one; null for others, and for one that is no longer kept. */
export type CarriedBy = (attempt: AttemptRecord) => Pick<Delivery, 'id' | 'eventType' | 'subject'> | null;

/** One read for all attempts: a delivery may have several of them. */
export async function readCarried(
  { deliveries }: Pick<Store, 'deliveries'>,
  attempts: readonly AttemptRecord[],
): Promise<CarriedBy> {
  const places = new Map(
    attempts.flatMap((attempt) => {
      const place = placeOf(attempt);
      return place === null ? [] : [[nameOf(place), place] as const];
    }),
  );
  const found = await deliveries.atPlaces([...places.values()]);
  const known = new Map([...places.keys()].map((name, at) => [name, found[at] ?? null]));
  return (attempt) => {
    const place = placeOf(attempt);
    return place === null ? null : (known.get(nameOf(place)) ?? null);
  };
}

/** Null for an attempt with several deliveries, or without any. */
function placeOf({ webhookNumber, firstOffset, lastOffset }: AttemptRecord): RecordPlace | null {
  return firstOffset === null || firstOffset !== lastOffset ? null : { webhookNumber, offset: firstOffset };
}

function nameOf({ webhookNumber, offset }: RecordPlace): string {
  return `${webhookNumber} ${offset}`;
}
