/** The part of the checker that judges the order of ordered webhooks, whole or by key. */
import type { Arrival, History, Kept, Publish, Violation } from './history.ts';

/** Records that are kept in order among themselves, and the deliveries of them. `isCut`: a crash may divide a delivery in several. */
type Queue = {
  readonly name: string;
  readonly isCut: boolean;
  readonly offsets: readonly number[];
  readonly arrivals: readonly Arrival[];
};

/** An ordered webhook is one queue; with order by key there is one for each key. It numbers records as they were acknowledged. */
export function* reordered({ webhooks, publishes, arrivals, paused = false }: History): Generator<Violation> {
  for (const { name, ordered, kept } of webhooks) {
    if (ordered === false) continue;
    const discarded = new Set(kept.filter(({ state }) => state === 'discarded').map(({ offset }) => offset));
    const own = arrivals.filter(({ webhook }) => webhook === name);
    const queues = ordered === 'key' ? queuesByKey(name, kept, publishes, own) : [queueOf(name, false, kept, own)];
    for (const queue of queues) yield* outOfOrder(queue, discarded, paused);
    yield* numberedBackwards(name, kept, publishes);
  }
}

function queueOf(name: string, isCut: boolean, kept: readonly Kept[], arrivals: readonly Arrival[]): Queue {
  return { name, isCut, offsets: kept.map(({ offset }) => offset).sort((a, b) => a - b), arrivals };
}

function queuesByKey(
  name: string,
  kept: readonly Kept[],
  publishes: readonly Publish[],
  arrivals: readonly Arrival[],
): Queue[] {
  const keyed = publishes.filter(({ orderingKey }) => orderingKey != null);
  return [...Map.groupBy(keyed, ({ orderingKey }) => orderingKey)].map(([orderingKey, events]) => {
    const keys = new Set(events.map(({ key }) => key));
    const ids = new Set(events.flatMap(({ acknowledgements: [first] }) => first?.eventId ?? []));
    const ofKey = arrivals.flatMap((arrival) => {
      const records = arrival.records.filter(({ key }) => keys.has(key));
      return records.length === 0 ? [] : [{ ...arrival, records }];
    });
    const keptOfKey = kept.filter(({ eventId }) => ids.has(eventId));
    return queueOf(`${name}, key ${orderingKey}`, true, keptOfKey, ofKey);
  });
}

/**
 * A queue sends a record when all before it were accepted, and sends none again once a later delivery went out. An erasure may remove the
 * last records of a batch that has gone out: the batch then goes out again without them.
 */
function* outOfOrder(
  { name, isCut, offsets, arrivals }: Queue,
  discarded: ReadonlySet<number>,
  paused: boolean,
): Generator<Violation> {
  const settled = new Set(discarded);
  let waiting = 0;
  let highest = -1;
  for (const { records, accepted } of arrivals) {
    let before = -1;
    for (const { offset } of records) {
      if (offset <= before)
        yield { kind: 'reordered', detail: `${name}: offset ${offset} follows ${before} in one delivery` };
      before = offset;
    }
    const first = records[0]?.offset ?? 0;
    while (settled.has(offsets[waiting] ?? -1)) waiting += 1;
    const next = offsets[waiting] ?? Number.POSITIVE_INFINITY;
    if (first > next) yield { kind: 'reordered', detail: `${name}: offset ${first} came before ${next} was accepted` };
    const isLateRepeat = paused && records.every(({ offset }) => settled.has(offset));
    const again = isCut ? first : before;
    if (again < highest && !isLateRepeat)
      yield { kind: 'reordered', detail: `${name}: offset ${again} came again after ${highest}` };
    for (const { offset } of isCut ? records.slice(0, 1) : records)
      if (!discarded.has(offset)) highest = Math.max(highest, offset);
    if (accepted) for (const { offset } of records) settled.add(offset);
  }
}

function* numberedBackwards(name: string, kept: readonly Kept[], publishes: readonly Publish[]): Generator<Violation> {
  const offsets = new Map(kept.map(({ eventId, offset }) => [eventId, offset]));
  const moments = publishes.flatMap(({ key, askedAt, acknowledgements: [first] }) => {
    const offset = first === undefined ? undefined : offsets.get(first.eventId);
    if (first === undefined || offset === undefined) return [];
    return [
      { at: askedAt, key, offset, asked: true },
      { at: first.at, key, offset, asked: false },
    ];
  });
  let floor = -1;
  for (const { key, offset, asked } of moments.sort((a, b) => a.at - b.at)) {
    if (!asked) floor = Math.max(floor, offset);
    else if (offset < floor) {
      yield {
        kind: 'reordered',
        detail: `${name}: ${key} was published after offset ${floor} was acknowledged and has ${offset}`,
      };
    }
  }
}
