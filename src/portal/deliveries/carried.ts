/** The deliveries that attempts carried, for lists of attempts. */
import type { AttemptRecord } from '../../domain/batch.ts';
import type { Delivery } from '../../domain/webhook.ts';
import type { Store } from '../../store/port/store.ts';

/** The delivery of an attempt with one; null for others, and for one that is no longer kept. */
export type CarriedBy = (attempt: AttemptRecord) => Pick<Delivery, 'id' | 'eventType' | 'subject'> | null;

/** One look-up for each delivery. */
export async function readCarried(
  { deliveries }: Pick<Store, 'deliveries'>,
  attempts: readonly AttemptRecord[],
): Promise<CarriedBy> {
  const single = attempts.filter(({ firstOffset, lastOffset }) => firstOffset !== null && firstOffset === lastOffset);
  const places = new Map(single.map((attempt) => [placeOf(attempt), attempt]));
  const found = await Promise.all(
    [...places].map(async ([place, { webhookNumber, firstOffset }]) => {
      return [place, await deliveries.at(webhookNumber, firstOffset ?? 0)] as const;
    }),
  );
  const known = new Map(found);
  return (attempt) => (attempt.firstOffset === attempt.lastOffset ? (known.get(placeOf(attempt)) ?? null) : null);
}

function placeOf({ webhookNumber, firstOffset }: AttemptRecord): string {
  return `${webhookNumber} ${firstOffset}`;
}
