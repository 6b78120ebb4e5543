/**
 * The text of a request that publishes events (contract §4). The data of each event is cut out before anything is parsed: its size is
 * known first, and it is stored and sent as it came.
 */
import { type JsonSpan, lastOfString, opensAt, skipSpaces, spanAt, stringValue } from '../kernel/json-text.ts';
import { refuseField } from '../kernel/refusal.ts';
import type { Work } from '../kernel/slices.ts';

/** The data of one event. */
export type DataSpan = JsonSpan & {
  /** The place of the event in the request: 0 if it is the only one. */
  readonly event: number;
};

export type EventTexts = {
  /** The request with `{}` in place of the data of each event, and `[]` if it is a list. */
  readonly request: string;
  /** The members of all objects of the request, repeated ones too, without those in the data. */
  readonly members: number;
  readonly data: readonly DataSpan[];
};

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** The problem of a member whose name is used again. */
export const REPEATED = 'is there more than once';

/** How deep the members of the only event are, and those of an event in the list. */
const ONLY = 1;
const LISTED = 3;

/** Characters that are scanned between two pauses. */
const SCANNED_AT_ONCE = 64 * 1024;

/**
 * Finds the data of the events of a request, in one pass with pauses. A text that is not JSON gives a request or data that are not JSON.
 * Throws 400 for more than `eventsMax` events, and for an event with two members `data`.
 */
export function* findingData(text: string, eventsMax: number): Work<EventTexts> {
  const data: DataSpan[] = [];
  let [depth, event, members, first, last, kept, request, pauseAt] = [0, 0, 0, 0, 0, 0, '', SCANNED_AT_ONCE];
  let isInList = false;
  let dataOf = '';
  for (let at = 0; at < text.length; at += 1) {
    if (at >= pauseAt) {
      yield;
      pauseAt = at + SCANNED_AT_ONCE;
    }
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) {
      first = at;
      last = lastOfString(text, at);
      at = last;
    } else if (sign === OPEN_OBJECT || sign === OPEN_LIST) depth += 1;
    else if (sign === CLOSE_OBJECT || sign === CLOSE_LIST) {
      depth -= 1;
      isInList &&= depth > ONLY;
    } else if (sign === COMMA && isInList && depth === LISTED - 1) {
      event += 1;
      if (event >= eventsMax) throw refuseField('events', `must have at most ${eventsMax} items`);
    } else if (sign === COLON) {
      members += 1;
      if (depth !== ONLY && !(isInList && depth === LISTED)) continue;
      const value = skipSpaces(text, at + 1);
      if (!opensAt(text, value)) continue;
      const name = stringValue(text, first, last);
      if (name === 'data') {
        const place = `${depth}/${event}`;
        if (place === dataOf) throw refuseField(depth === ONLY ? name : `events[${event}].data`, REPEATED);
        dataOf = place;
        const span = spanAt(text, value);
        data.push({ ...span, event });
        request += `${text.slice(kept, value)}${text.charCodeAt(value) === OPEN_LIST ? '[]' : '{}'}`;
        kept = span.end;
        at = span.end - 1;
      } else if (name === 'events' && depth === ONLY) isInList = text.charCodeAt(value) === OPEN_LIST;
    }
  }
  return { request: request + text.slice(kept), members, data };
}
