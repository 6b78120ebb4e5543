/**
 * Dead or pending records of all webhooks in the order of events, newest first. Each webhook's are found by its own part of an index, so
 * they are merged here; what has none in the state costs nothing, and of most others one look-up is enough.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { firstRowKeyAt } from '../../../kernel/ids.ts';
import { LOG_DISORDER_MS, MERGED_AT_ONCE, SORTED_AHEAD } from '../../../kernel/limits/log.ts';
import type { Database } from '../driver/database.ts';
import {
  type BatchState,
  comparePlaces,
  FIRST_PLACE,
  type KeyRange,
  type Place,
  type Places,
  placesInBatches,
  placesInLog,
  placesInTurn,
} from './delivery-places.ts';
import { BEYOND, type Offsets, splitAt } from './log-search.ts';

// Goes from one webhook to the next in batch_dead, past all the batches of each.
const WITH_DEAD = `
  WITH RECURSIVE found (number) AS (
    SELECT min(webhook_number) FROM batch INDEXED BY batch_dead WHERE state = 'dead'
    UNION ALL
    SELECT (SELECT min(webhook_number) FROM batch INDEXED BY batch_dead WHERE state = 'dead' AND webhook_number > number)
    FROM found WHERE number IS NOT NULL)
  SELECT number FROM found WHERE number IS NOT NULL`;
// Webhooks are few, thousands at most.
const WITH_PENDING = `
  SELECT webhook_number AS number FROM webhook_progress WHERE next_offset > cursor_offset OR pending_records > 0`;
const CURSOR = 'SELECT cursor_offset FROM webhook_progress WHERE webhook_number = @webhookNumber';

/** One webhook's records in a state, in the order of its log. What waits from the cursor on is in no batch yet. */
export async function placesInState(
  db: Database,
  state: BatchState | 'delivered',
  webhookNumber: number,
  offsets: Offsets,
): Promise<Places> {
  if (state === 'dead') return placesInBatches(db, state, webhookNumber, offsets);
  const cursor = Number((await db.get(CURSOR, { webhookNumber }))?.cursor_offset ?? 0);
  const behind = { ...offsets, below: Math.min(offsets.below, cursor) };
  // Most of a log was delivered: whatever else is between is passed over.
  if (state === 'delivered') return placesInLog(db, webhookNumber, behind);
  return placesInTurn(
    placesInLog(db, webhookNumber, { ...offsets, from: Math.max(offsets.from, cursor) }),
    placesInBatches(db, state, webhookNumber, behind),
  );
}

/** All webhooks' records in a state, in the order of events. */
export function placesInStateOfAll(db: Database, state: BatchState, { from, before }: KeyRange): Places {
  let merged: Merge | null = null;
  return async (limit) => {
    merged ??= await beginMerge(db, state, before);
    const places: Place[] = [];
    while (places.length < limit) {
      const place = await merged();
      if (place === null || place.key < from) break;
      places.push(place);
    }
    return places;
  };
}

/** The next place of all, or null at the end. */
type Merge = () => Promise<Place | null>;

/** What was read of one webhook's and not taken yet, in order; nothing of it comes before the key `bound`. */
type Stream = { readonly places: Places; readonly bound: number; ahead: Place[]; ended: boolean };

async function beginMerge(db: Database, state: BatchState, before: Place): Promise<Merge> {
  const numbers = (await db.all(state === 'dead' ? WITH_DEAD : WITH_PENDING, {})).map(({ number }) => Number(number));
  const closed: Stream[] = [];
  for (const [at, webhookNumber] of numbers.entries()) {
    if (at % MERGED_AT_ONCE === MERGED_AT_ONCE - 1) await nextTurn();
    closed.push(await findStream(db, state, webhookNumber, before));
  }
  closed.sort((a, b) => a.bound - b.bound);
  const opened: Stream[] = [];
  return async () => {
    for (;;) {
      const best = firstOf(opened);
      const [place] = best?.ahead ?? [];
      const next = closed.at(-1);
      if (next !== undefined && (place === undefined || next.bound >= place.key)) {
        closed.pop();
        opened.push(await readAhead(next, before));
        continue;
      }
      if (best === null || place === undefined) return null;
      best.ahead.shift();
      await readAhead(best, before);
      return place;
    }
  };
}

async function findStream(db: Database, state: BatchState, webhookNumber: number, before: Place): Promise<Stream> {
  const split = before === FIRST_PLACE ? BEYOND : await splitAt(db, webhookNumber, before.key);
  const below = (offset: number): Promise<Places> =>
    placesInState(db, state, webhookNumber, { from: 0, below: offset });
  const [head] = await (await below(split))(1);
  const bound = Math.min(before.key, (head?.key ?? before.key) + firstRowKeyAt(LOG_DISORDER_MS));
  return { places: await below(split + SORTED_AHEAD), bound, ahead: [], ended: false };
}

/** Reads so far ahead that what comes first is known, though a log is not quite in the order of its events. */
async function readAhead(stream: Stream, before: Place): Promise<Stream> {
  const isAhead = (place: Place): boolean => comparePlaces(before, place) < 0;
  while (!stream.ended && stream.ahead.length <= SORTED_AHEAD) {
    const more = await stream.places(2 * SORTED_AHEAD);
    stream.ended = more.length === 0;
    stream.ahead = [...stream.ahead, ...more].filter(isAhead).sort(comparePlaces);
  }
  return stream;
}

function firstOf(streams: readonly Stream[]): Stream | null {
  let first: Stream | null = null;
  for (const stream of streams) {
    const [place] = stream.ahead;
    if (place === undefined) continue;
    if (first?.ahead[0] === undefined || comparePlaces(place, first.ahead[0]) < 0) first = stream;
  }
  return first;
}
